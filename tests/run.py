"""Sets up what is missing and runs every check, cheapest first; the first failure ends it.

Standard library only, so that it runs in an empty clone: `python3 tests/run.py`, or with the names
of steps. Each step prints its name and its time; the last lines are the test runners' own counts.
"""

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import old_neovim

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
PYTHON = BIN / "python"
LOCK = ROOT / "requirements.lock"
NODE_TESTS = ROOT / "tests" / "editors" / "node"
EXTENSION = ROOT / "editors" / "vscode"
WINDOW = ROOT / "tests" / "editors" / "vscode"
"""VS Code itself, out of npm, and the tests that drive it."""
CLIS = ROOT / "tests" / "clis"
"""Agents of others that are tested as runtimes."""
AGENTS = ROOT / "tests" / "agents"
"""More of them, too large to be installed each time, and the tests that drive them."""
SECONDS = 1800
"""No command may take longer."""

WORKERS = (os.cpu_count() or 1) + 1
"""Of pytest: one more than there are processors, since tests also wait."""

EMACS = 30

COUNT = re.compile(
    r"\d+ (passed|failed|errors?|skipped)\b.* in \d|^\S (tests|pass|fail|skipped) \d"
)
SKIPPED = re.compile(r"\b[1-9]\d* skipped\b|\bskipped [1-9]")


class Failed(Exception):
    """A check failed; the message says which command."""


def main() -> int:
    """Exit code 0 if every wanted step passed."""
    wanted = parse().steps or [name for name in STEPS if name not in ON_DEMAND]
    os.environ["PYTHONUNBUFFERED"] = "1"
    counts: list[str] = []
    began = time.monotonic()
    try:
        for name in ["install", *wanted]:
            counts += timed(name)
    except Failed as failure:
        say(f"FAILED after {time.monotonic() - began:.0f} s: {failure}")
        return 1
    say(f"all of it passed in {time.monotonic() - began:.0f} s: {' '.join(wanted)}")
    print("\n".join(counts), flush=True)
    return 0


def parse() -> argparse.Namespace:
    steps = "\n".join(f"  {name:<8} {step.__doc__}" for name, step in STEPS.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"steps:\n{steps}",
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "steps",
        nargs="*",
        choices=[*STEPS, []],
        metavar="step",
        help=f"default: all but {', '.join(ON_DEMAND)}",
    )
    return parser.parse_args()


def timed(name: str) -> list[str]:
    """Run one step; returns the count lines of its test runners."""
    say(name)
    began = time.monotonic()
    lines = install() if name == "install" else STEPS[name]()
    print(f"-- {name}: {time.monotonic() - began:.1f} s", flush=True)
    return lines


# ---- the steps, cheapest first


def format_step() -> list[str]:
    """ruff format --check"""
    run(BIN / "ruff", "format", "--check", ".")
    return []


def lint_step() -> list[str]:
    """ruff check, and the import contracts"""
    run(BIN / "ruff", "check", ".")
    run(BIN / "lint-imports")
    return []


def types_step() -> list[str]:
    """pyright, strict"""
    run(BIN / "pyright", "--pythonpath", PYTHON)
    return []


def fast_step() -> list[str]:
    """tests of pure parts and of sessions, and the project's own rules"""
    return pytest("tests/unit", "tests/session", "tests/test_project.py")


def real_step() -> list[str]:
    """tests with the real things: each edge, the whole host over stdio, editors in a terminal"""
    return pytest("tests/boundary", "tests/e2e", "tests/editors")


def editors_step() -> list[str]:
    """clients on Node: vscode-jsonrpc, VS Code and its extension"""
    test = NODE_TESTS / "host.test.mjs"
    client = counted("node", "--test", "--test-reporter=spec", test)
    driven = ("page", "host", "bare", "person")
    return client + extension() + [line for name in driven for line in window(name)]


def extension() -> list[str]:
    """The extension's own checks, its pure tests, and its package."""
    node = node_of_vscode()
    tsc = EXTENSION / "node_modules" / "typescript" / "bin" / "tsc"
    for project in (".", "src/page"):
        run(node, tsc, "--noEmit", "-p", project, cwd=EXTENSION)
    run(node, "scripts/build.mjs", cwd=EXTENSION)
    with tempfile.TemporaryDirectory(prefix="agent-host-") as name:
        vsce = EXTENSION / "node_modules" / "@vscode" / "vsce" / "vsce"
        package = Path(name) / "agent-host.vsix"
        run(
            node,
            vsce,
            "package",
            "--no-dependencies",
            "--skip-license",
            "-o",
            package,
            cwd=EXTENSION,
        )
    pure = sorted((EXTENSION / "test").glob("*.test.ts"))
    return counted(node, "--test", "--test-reporter=spec", *pure)


def window(name: str) -> list[str]:
    """Drive VS Code in a browser; once more if it fails, since the machine may be busy."""
    command = (node_of_vscode(), "--test", "--test-reporter=spec", WINDOW / f"{name}.test.mjs")
    try:
        return counted(*command)
    except Failed as failure:
        say(f"once more: {failure}")
        return counted(*command)


def node_of_vscode() -> Path:
    """The version that VS Code wants; the system's is often older."""
    return next((WINDOW / "node_modules").glob("node-linux-*/bin/node"))


def agents_step() -> list[str]:
    """more agents of others, for real (840 MB from npm; not by default)"""
    install_node(AGENTS)
    return pytest("tests/agents")


def build_step() -> list[str]:
    """the wheel: built, installed into an empty environment, tried there"""
    with tempfile.TemporaryDirectory(prefix="agent-host-") as name:
        folder = Path(name)
        run(PYTHON, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist")
        (wheel,) = (folder / "dist").glob("*.whl")
        run(sys.executable, "-m", "venv", folder / "venv")
        tools = folder / "venv" / "bin"
        run(tools / "python", "-m", "pip", "install", "-q", "-c", LOCK, wheel)
        workspace = folder / "workspace"
        workspace.mkdir()
        home = {"HOME": folder / "home", "AGENT_HOST_HOME": folder / "state"}
        for argv in (["--version"], ["roles"], ["demo", "--yes"]):
            run(tools / "agent-host", *argv, cwd=workspace, env=home)
    return []


def postgresql_is_there() -> bool:
    return bool(shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb")))


def vim_has_channels() -> bool:
    """Whether Vim can talk to other programs; the smallest of its packages can't."""
    if shutil.which("vim") is None:
        return False
    said = subprocess.run(["vim", "--version"], capture_output=True, text=True, check=True)
    return "+channel" in said.stdout


SYSTEM: dict[str, Callable[[], bool]] = {
    "chromium": lambda: shutil.which("chromium") is not None,
    "nodejs": lambda: shutil.which("node") is not None,
    "npm": lambda: shutil.which("npm") is not None,
    "postgresql": postgresql_is_there,
    "procps": lambda: shutil.which("pgrep") is not None,
    "util-linux": lambda: shutil.which("setpriv") is not None,
    "vim-ale": Path("/usr/share/vim/vimfiles/pack/dist-bundle/opt/ale").exists,
    "vim-nox": vim_has_channels,
}
"""What the tests need of the system: Debian's name of the package, and whether it is there."""

STEPS: dict[str, Callable[[], list[str]]] = {
    "format": format_step,
    "lint": lint_step,
    "types": types_step,
    "fast": fast_step,
    "real": real_step,
    "editors": editors_step,
    "build": build_step,
    "agents": agents_step,
}
ON_DEMAND = ("agents",)
"""The steps that run only if they are named."""


# ---- setting up


def install() -> list[str]:
    """The environment, node and what the node tests need; nothing if all of it is there."""
    if not PYTHON.exists():
        run(sys.executable, "-m", "venv", VENV)
    if stale(VENV / ".installed", LOCK, ROOT / "pyproject.toml"):
        pip = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run(*pip, "--upgrade", "pip>=25.1")
        run(*pip, "-c", LOCK, "--group", "dev", "-e", ".")
        mark(VENV / ".installed", LOCK, ROOT / "pyproject.toml")
    if missing := [package for package, there in SYSTEM.items() if not there()]:
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]
        run(*apt, "update", "-q")
        run(*apt, "install", "-qy", "--no-install-recommends", *missing)
    install_emacs()
    old_neovim.install(run, debian_source("trixie"))
    for folder in (NODE_TESTS, EXTENSION, WINDOW, CLIS):
        install_node(folder)
    return []


def install_emacs() -> None:
    """Emacs 30 or newer; a Debian that is older has it among its backports."""
    if emacs_version() >= EMACS:
        return
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    get = ["install", "-qy", "--no-install-recommends"]
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )
    if release.get("VERSION_CODENAME") != "bookworm":
        run(*apt, *get, "emacs-nox")
    else:
        with tempfile.TemporaryDirectory(prefix="agent-host-") as name:
            listed = Path(name) / "backports.list"
            listed.write_text(debian_source("bookworm-backports"))
            only = ["-o", f"Dir::Etc::sourcelist={listed}"]
            run(*apt, *only, "-o", "APT::Get::List-Cleanup=0", "update", "-q")
            run(*apt, *only, *get, "-t", "bookworm-backports", "emacs-nox")
    if emacs_version() < EMACS:
        raise Failed(f"Emacs {EMACS} or newer is needed")


def debian_source(suite: str) -> str:
    """A line for apt: this suite, from where this Debian installs its own packages."""
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    return f"deb [signed-by={key}] {debian_archive()} {suite} main\n"


def debian_archive() -> str:
    """The address from which this Debian installs its own packages."""
    files = [p for p in Path("/etc/apt").rglob("*") if p.suffix in (".sources", ".list")]
    text = "\n".join(path.read_text() for path in sorted(files))
    found = re.search(r"^(?:URIs:|deb(?: \[.*\])?)\s+(\S+/debian/?)(?:\s|$)", text, re.MULTILINE)
    if found is None:
        raise Failed("apt's sources name no archive of Debian, from which editors are installed")
    return found[1]


def emacs_version() -> int:
    if shutil.which("emacs") is None:
        return 0
    said = subprocess.run(["emacs", "--version"], capture_output=True, text=True, check=True)
    return int(re.search(r"Emacs (\d+)", said.stdout)[1])


def install_node(folder: Path) -> None:
    """What a folder's lock file pins; a folder may have something left to prepare then."""
    stamp = folder / "node_modules" / ".installed"
    prepare = folder / "prepare.mjs"
    sources = [folder / "package-lock.json", *([prepare] if prepare.exists() else [])]
    if not stale(stamp, *sources):
        return
    # `ci` wants the programs of every platform in the lock, which not every registry has.
    way = ("install", "--no-save") if folder in (CLIS, AGENTS) else ("ci",)
    run("npm", *way, "--no-audit", "--no-fund", "--ignore-scripts", cwd=folder)
    if prepare.exists():
        run("node", prepare)
    mark(stamp, *sources)


def stale(stamp: Path, *sources: Path) -> bool:
    return not stamp.exists() or stamp.read_text() != digest(*sources)


def mark(stamp: Path, *sources: Path) -> None:
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest(*sources))


def digest(*sources: Path) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


# ---- running commands


def pytest(*arguments: str) -> list[str]:
    """Run tests. What failed on a busy machine may pass alone: once more, and it is said."""
    cache = ROOT / ".cache" / "pytest"
    workers = ("-n", WORKERS, "--dist", "worksteal")
    command = (PYTHON, "-m", "pytest", "-q", "--no-header", "-o", f"cache_dir={cache}", *workers)
    try:
        return counted(*command, *arguments)
    except Failed as failure:
        say(f"once more, only what failed: {failure}")
        return counted(*command, "--last-failed", "--last-failed-no-failures", "none", *arguments)


def counted(*argv: object) -> list[str]:
    """Run a test runner; its count lines. A skipped test counts as failed."""
    lines = [line for line in run(*argv, env={"PYTHON": PYTHON}) if COUNT.search(line)]
    if skipped := next((line for line in lines if SKIPPED.search(line)), None):
        raise Failed(f"skipped: {skipped}")
    if not lines:
        raise Failed(f"no test ran: {argv}")
    return lines


def run(
    *argv: object, cwd: Path = ROOT, env: dict[str, object] | None = None, seconds: float = SECONDS
) -> list[str]:
    """Run a command, pass its output on, and return it as lines; raises Failed."""
    words = [str(word) for word in argv]
    print("$ " + " ".join(word.replace(f"{ROOT}/", "") for word in words), flush=True)
    environ = os.environ | {name: str(value) for name, value in (env or {}).items()}
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    watch = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    watch.start()
    lines: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        watch.cancel()
        code = process.wait()
    if code:
        raise Failed(f"exit code {code}: {' '.join(words)}")
    return lines


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
