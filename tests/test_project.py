"""The project's own rules: sizes, words, floors, and that what is told twice is told alike."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_host
from agent_host.compose.host import RUNTIMES
from agent_host.lsp import capabilities
from agent_host.lsp.wire import METHODS
from agent_host.roles import RoleFolder, read_roles

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "agent_host"
MOST_LINES = 400
FORBIDDEN = (
    *("Chat", "Thread", "Job", "Task", "Query", "Chunk", "Update", "Backend", "Engine", "Turn"),
    *("Approval", "Verdict", "Memory", "Persona", "Frontend", "Helper", "Util", "Utils"),
)
"""What the glossary calls Session, Run, Delta, Runtime, Decision, Grant, Role or Editor."""


def sources() -> Iterator[Path]:
    yield from sorted(PACKAGE.rglob("*.py"))


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_no_file_is_too_long() -> None:
    lengths = {f"{p.relative_to(ROOT)}": len(p.read_text().splitlines()) for p in sources()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_every_file_says_what_it_is() -> None:
    mute = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert mute == []


def test_one_word_for_each_thing() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name in FORBIDDEN
        if "action_server" not in path.parts
    ]
    assert wrong == []


def test_importing_the_package_imports_nothing() -> None:
    code = "import sys; n = len(sys.modules); import agent_host; print(len(sys.modules) - n)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1


# ---- what is told twice


def test_the_floors_in_the_docstring_are_those_of_the_contract() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    contract = next(c for c in contracts if c["id"] == "floors")
    told = [
        re.sub(r"\s+", " ", line).strip()
        for line in (agent_host.__doc__ or "").splitlines()
        if line.startswith("    ")
    ]
    assert [frozenset(line.split(" | ")) for line in told] == [
        frozenset(layer.split(" | ")) for layer in contract["layers"]
    ]


def test_the_table_of_methods_in_the_readme_is_the_one_of_the_wire() -> None:
    rows = re.findall(r"^\|\s*`(agent/[\w/]+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(METHODS)


def test_the_map_in_the_readme_names_every_part() -> None:
    _, _, parts = (ROOT / "README.md").read_text().partition("| to find | look in |")
    names = {
        path.relative_to(ROOT).as_posix() + ("/" if path.is_dir() else "")
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    missing = {name for name in names if name not in parts}
    assert missing == {"agent_host/__init__.py", "agent_host/__main__.py"}


def test_commands_that_need_no_editor_import_no_pygls() -> None:
    code = "import agent_host.compose.inquiry, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert {"pygls", "lsprotocol"}.isdisjoint(done.stdout.split())


def test_the_handshake_names_the_runtimes_that_there_are() -> None:
    assert capabilities.RUNTIMES == RUNTIMES


def test_the_lock_pins_every_dependency_and_names_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    lines = [line for line in lock.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)] == []
    pinned = {canonical(line.partition("==")[0]) for line in lines}
    table = project()
    wanted = [*table["project"]["dependencies"], *table["dependency-groups"]["dev"]]
    names = {canonical(re.split(r"[^\w.-]", entry, maxsplit=1)[0]) for entry in wanted}
    assert names - pinned == set()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_shipped_role_loads() -> None:
    shelf = read_roles([RoleFolder(ROOT / "roles")])
    assert shelf.problems == ()
    assert set(shelf.roles) == {path.stem for path in (ROOT / "roles").glob("*.md")}
    assert set(shelf.roles) >= {"coder", "reviewer", "planner"}


# ---- the import contracts

VIOLATIONS = {
    "floors": ("core/errors.py", "import agent_host.settings"),
    "child": ("settings/reading.py", "import agent_host.action_server.roots"),
    "ports": ("session/deltas.py", "import agent_host.process"),
    "bare": ("process/child.py", "import yaml"),
    "edge": ("roles.py", "import pygls"),
    "sdks": ("roles.py", "import openai"),
    "database": ("usage.py", "import sqlite3"),
}


def test_every_contract_has_a_violation_here() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == set(VIOLATIONS)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What lint-imports says about a copy of the package with one violation of each contract."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copytree(PACKAGE, folder / "agent_host", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, line in VIOLATIONS.values():
        with (folder / "agent_host" / name).open("a") as file:
            file.write(f"\n{line}\n")
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_the_contract_can_be_broken(broken: str, contract: str) -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    name = next(c["name"] for c in contracts if c["id"] == contract)
    assert re.search(rf"^{re.escape(name)}.* BROKEN", broken, re.MULTILINE), broken
