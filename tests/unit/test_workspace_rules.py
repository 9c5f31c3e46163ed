"""A workspace's own rules forbid and ask, never allow; what is wrong is told with its line."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from agent_host.app.workspace import Workspace
from agent_host.app.workspace_rules import FILE, NOT_TRUSTED, Brought, WorkspaceRules, trust_book
from agent_host.core.model import Role
from agent_host.core.records import workspace_key
from agent_host.lsp.convert import roles_answer
from agent_host.lsp.host import Folder, RoleList
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.rules import read_rules
from agent_host.settings import state_dirs


def brought(root: Path, text: str) -> Brought:
    write(root, text)
    return WorkspaceRules(partial(read_rules, narrow_only=True)).of(str(root))


def write(root: Path, text: str) -> None:
    path = root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_rules_that_narrow_are_taken_with_their_place(tmp_path: Path) -> None:
    found = brought(tmp_path, "rules:\n  - deny fs.write gen/**\n  - ask terminal.run make\n")
    assert [(each.effect, each.where) for each in found.rules] == [
        ("deny", f"{tmp_path / FILE}:2"),
        ("ask", f"{tmp_path / FILE}:3"),
    ]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("text", "line", "severity", "rules"),
    [
        ("rules:\n  - deny fs.write a\n  - allow fs.write\n", 3, "warning", 1),
        ("rules:\n  - deny fs.wirte a\n", 2, "error", 0),
        ("model: a/b\nrules: [deny fs.delete]\n", 1, "warning", 1),
        ("rules:\n  - [\n", 3, "error", 0),
        ("env: {PATH: x}\n", 1, "warning", 0),
        ("trust: always\n", 1, "warning", 0),
        ("mode: bypass\n", 1, "warning", 0),
        ("base_url: http://127.0.0.1:9/\n", 1, "warning", 0),
        ("vendors: {x: {baseUrl: http://127.0.0.1:9/}}\n", 1, "warning", 0),
        ("runtimes: {claude-code: {command: [./claude]}}\n", 1, "warning", 0),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, text: str, line: int, severity: str, rules: int
) -> None:
    found = brought(tmp_path, text)
    assert len(found.rules) == rules
    assert [(each.line, each.severity) for each in found.problems] == [(line, severity)]
    assert found.problems[0].source == str(tmp_path / FILE)


def test_a_file_that_is_none_is_told_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir(parents=True)
    found = WorkspaceRules(read_rules).of(str(tmp_path))
    assert [each.reason for each in found.problems] == ["It is no regular file."]


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    book = WorkspaceRules(read_rules)
    root = str(tmp_path)
    assert book.of(root).rules == ()
    write(tmp_path, "rules: [deny fs.write]\n")
    assert len(book.of(root).rules) == 1
    write(tmp_path, "rules: [deny fs.write, deny fs.delete]\n")
    assert len(book.of(root).rules) == 2
    (tmp_path / FILE).unlink()
    assert book.of(root).rules == ()


# ---- in a workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Callable[..., Workspace]:
    def made(**options: object) -> Workspace:
        dirs = state_dirs({"AGENT_HOST_HOME": str(tmp_path / "home")})
        grants = GrantBook(dirs.state, lambda: 0.0, lambda: "g")
        trust = trust_book(dirs.state, lambda: 0.0)
        narrow = partial(read_rules, narrow_only=True)
        found = Workspace(
            dirs,
            {"PATH": "/usr/bin"},
            grants,
            trust,
            parse_rules=read_rules,
            narrow_rules=narrow,
            sandbox=lambda: "bubblewrap",
        )
        root = tmp_path / "w"
        write(root, "rules:\n  - deny fs.delete\n  - allow terminal.run curl ...\n")
        found.set_folders([Folder(root.as_uri(), "w")])
        found.set_own_settings(options)
        return found

    return made


def verdicts(found: Workspace, role: Role) -> dict[str, tuple[str, str]]:
    answer = roles_answer(RoleList((role,), (), {role.name: found.rights_of(role)}))
    (wire,) = answer.roles
    return {each.action: (each.verdict, each.source) for each in wire.rights or ()}


async def test_the_rules_of_a_trusted_workspace_narrow(workspace: Callable[..., Workspace]) -> None:
    found = workspace(trust=True)
    shelf = await found.roles()
    shown = verdicts(found, shelf.get("coder"))
    assert shown["fs.delete"] == ("deny", "workspace rule")
    assert shown["fs.read"] == ("allow", "default")
    assert verdicts(found, shelf.get("reviewer"))["fs.write"] == ("deny", "role")
    (problem,) = [each for each in shelf.problems if each.source.endswith(str(FILE))]
    assert (problem.line, problem.severity) == (3, "warning")
    (root,) = found.roots
    assert found.key == workspace_key((root,))


async def test_the_rules_of_an_unknown_workspace_are_listed_and_not_used(
    workspace: Callable[..., Workspace],
) -> None:
    found = workspace(trust=False)
    (root,) = found.roots
    shelf = await found.roles()
    assert [each.reason for each in shelf.problems] == [NOT_TRUSTED]
    assert found.policy(shelf.get("coder"), "", root).workspace_rules == ()
    assert str(FILE) in found.brings(root)


def test_a_role_that_has_a_program_run_says_so_in_the_question_for_trust(
    workspace: Callable[..., Workspace],
) -> None:
    found = workspace(trust=False)
    (root,) = found.roots
    folder = Path(root, ".agent/rules/roles")
    folder.mkdir(parents=True, exist_ok=True)
    for name, line in (
        ("plain", "model: openai/x"),
        ("cli", "model: claude-code/opus"),
        ("other", "runtime: acp:other"),
        ("played", "model: scripted/x.yaml"),
    ):
        (folder / f"{name}.md").write_text(f"---\n{line}\n---\nWork.\n")
    brought = [each.rpartition("/roles/")[2] for each in found.brings(root) if "/roles/" in each]
    assert {
        "plain.md",
        "cli.md (runs claude-code/opus)",
        "other.md (runs acp:other)",
        "played.md (runs scripted/x.yaml)",
    } <= set(brought)


def test_what_is_ignored_of_a_folder_is_told(workspace: Callable[..., Workspace]) -> None:
    found = workspace(trust=False)
    (root,) = found.roots
    evil = Path(root, ".agent/rules/roles/evil.md")
    evil.parent.mkdir(parents=True)
    evil.write_text("---\ndescription: x\n---\nx\n")
    Path(root, "AGENTS.md").write_text("Do as I say.")
    config = Path(root, FILE)
    config.write_text(config.read_text() + "mcpServers: {docs: {command: [docs, --all]}}\n")
    (told,) = found.status()
    assert (told.path, told.trusted) == (root, False)
    assert told.ignored == (
        ".agent/rules/roles/evil.md",
        str(FILE),
        "MCP server docs: docs --all",
        "AGENTS.md",
    )
    found.set_own_settings({"trust": "always"})
    (told,) = found.status()
    assert (told.trusted, told.ignored) == (True, ())


def test_a_server_that_came_after_trust_is_not_started(
    workspace: Callable[..., Workspace], tmp_path: Path
) -> None:
    found = workspace(trust="ask")
    (root,) = found.roots
    config = Path(root, FILE)
    shown = config.read_text() + "mcpServers: {docs: {command: [docs]}}\n"
    config.write_text(shown)
    book = trust_book(tmp_path / "home" / "state", lambda: 0.0)
    book.trust(root, book.starts(root))
    assert [each.name for each in found.servers().usable] == ["docs"]
    config.write_text(shown.replace("[docs]", "[sh, -c, evil]"))
    assert found.servers().usable == ()
    (told,) = found.status()
    assert not told.trusted
    assert "MCP server docs: sh -c evil" in told.ignored
    config.write_text(shown)
    assert [each.name for each in found.servers().usable] == ["docs"]


async def test_a_role_s_ban_stands_against_what_the_user_allows(
    workspace: Callable[..., Workspace],
) -> None:
    found = workspace(trust=True, rules=["allow fs.write"])
    planner = (await found.roles()).get("planner")
    (right,) = [each for each in found.rights_of(planner) if each.action == "fs.write"]
    assert (right.verdict, right.source) == ("deny", "role")
    assert right.overrides == ("allow fs.write",)
