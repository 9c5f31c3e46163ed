"""What the command line says of things that are kept: sessions, grants, trust, and decisions."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from agent_host.permissions.grants import GrantBook
from agent_host.permissions.subject import GrantKey
from agent_host.roles import packaged_roles

pytestmark = pytest.mark.timeout(300)  # many commands one after the other


class Shell:
    """Runs `agent-host` in a folder, with a state folder of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "project"
        self.folder.mkdir()
        self.environment: Mapping[str, str] = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "AGENT_HOST_HOME": str(tmp_path / "state"),
        }

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What it prints; its exit code must be this."""
        done = subprocess.run(
            [sys.executable, "-m", "agent_host", *arguments],
            check=False,
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=50,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_decisions_are_explained_by_trust_rule_and_table(shell: Shell) -> None:
    assert "not trusted" in shell("explain", "terminal.run", "ls")
    assert str(shell.folder) in shell("trust", "--add", ".")
    assert "only reads" in shell("explain", "terminal.run", "ls -la")
    told = json.loads(shell("explain", "terminal.run", "ls; rm x", "--json"))
    assert (told["verdict"], told["trusted"]) == ("ask", True)
    assert "outside the workspace" in shell("explain", "fs.read", "../x")
    assert "Asked" in shell("explain", "fs.read", ".env")
    assert "does not have the skill" in shell("explain", "fs.write", "a", "--role", "reviewer")
    assert "There is no role" in shell("explain", "fs.read", "a", "--role", "nobody", code=1)
    shell("trust", "--forget", ".")
    assert "No folder is trusted" in shell("trust")
    shell("trust", "--forget", ".", code=1)


def test_what_was_allowed_of_a_servers_tool_is_told(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "state" / "config"
    config.mkdir(parents=True)
    settings = "trust: always\nmcpServers: {docs: {command: [docs]}}\n"
    (config / "config.yaml").write_text(settings)
    assert "Asked" in shell("explain", "mcp:docs/find")
    role = (packaged_roles() / "coder.md").read_bytes()
    key = GrantKey("mcp:docs/find", "docs/find", sha256(role).hexdigest(), content="as it was")
    book = GrantBook(tmp_path / "state" / "state", time.time, lambda: "g1")
    book.add(key, "workspace", session_id="s", root=str(shell.folder), role="coder")
    told = shell("explain", "mcp:docs/find")
    assert "Allowed" in told
    assert "as long as its server says the same" in told
    assert "Asked" in shell("explain", "mcp:docs/delete")
    (config / "config.yaml").write_text(f"{settings}rules: [deny mcp:docs]\n")
    assert "Denied" in shell("explain", "mcp:docs/find")


def test_a_rule_of_the_user_is_named_with_file_and_line(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "state" / "config"
    config.mkdir(parents=True)
    rules = "trust: always\nrules:\n  - allow terminal.run git status\n  - deny fs.read secret/**\n"
    (config / "config.yaml").write_text(rules)
    assert "config.yaml:3" in shell("explain", "terminal.run", "git status")
    for line in ("git status && touch x", "git status | sh", "git status > x"):
        assert "Asked" in shell("explain", "terminal.run", line)
    (shell.folder / "secret").mkdir()
    (shell.folder / "secret" / "a").touch()
    (shell.folder / "link").symlink_to("secret/a")
    for path in ("secret/a", "link"):
        told = shell("explain", "fs.read", path)
        assert "Denied" in told
        assert "config.yaml:4" in told


def test_a_tool_of_an_mcp_server_is_judged_by_its_name(shell: Shell, tmp_path: Path) -> None:
    config = tmp_path / "state" / "config"
    config.mkdir(parents=True)
    (config / "config.yaml").write_text(
        "trust: always\nmcpServers: {docs: {command: a}, idle: {command: a, enabled: false}}\n"
        "rules:\n  - deny mcp:docs/delete*\n"
    )
    assert "uses a tool of another program" in shell("explain", "mcp:docs/search")
    assert "config.yaml:4" in shell("explain", "mcp:docs/delete_all")
    assert "neither the skill mcp" in shell("explain", "mcp:docs/x", "--role", "reviewer")
    assert "known: docs, idle" in shell("explain", "mcp:doc/x", code=1)
    assert "it is switched off" in shell("explain", "mcp:idle/x", code=1)
    assert "needs a TARGET" in shell("explain", "fs.read", code=1)


def test_sessions_are_listed_shown_copied_and_deleted(shell: Shell, tmp_path: Path) -> None:
    assert "There are no sessions" in shell("sessions", "list")
    shell("run", "remember the milk", "--model", "scripted/echo")
    listed = shell("sessions", "list", "milk")
    session = listed.split()[0]
    assert "remember the milk" in listed
    assert "There are no sessions" in shell("sessions", "list", "bread")
    shown = shell("sessions", "show", session)
    assert "> remember the milk" in shown
    assert "[completed]" in shown
    exported = tmp_path / "session.jsonl"
    exported.write_text(shell("sessions", "export", session))
    copy = shell("sessions", "import", str(exported)).split()[-1]
    shell("sessions", "rename", copy, "the copy")
    shell("sessions", "delete", session)
    assert "the copy" in shell("sessions", "list")
    assert session not in shell("sessions", "list")
    shell("sessions", "show", session, code=1)


def test_a_session_is_forked_and_a_run_is_taken_back_and_made_again(shell: Shell) -> None:
    call = {"name": "fs_write", "arguments": {"path": "made.txt", "text": "made"}}
    script = shell.folder.parent / "script.yaml"
    script.write_text(json.dumps([[{"call": call}], [{"text": "Done."}]]))
    shell("trust", "--add", ".")
    shell("run", "make it", "--model", f"scripted/{script}", "--yes")
    made = shell.folder / "made.txt"
    assert made.read_text() == "made"
    session = shell("sessions", "list").split()[0]
    (run,) = [line.split()[1] for line in _lines(shell, session) if line.startswith("  run ")]
    fork = shell("sessions", "fork", session, "--run", run).split()[-1]
    assert "> make it" in shell("sessions", "show", fork)
    told = shell("sessions", "revert", run)
    assert f"reverted  {made.as_uri()}" in told
    assert not made.exists()
    shell("sessions", "revert", told.split()[-1], "made.txt")
    assert made.read_text() == "made"
    assert "no run" in shell("sessions", "revert", "nothing", code=1).lower()
    assert "no session" in shell("sessions", "fork", "nothing", code=1).lower()


def _lines(shell: Shell, session: str) -> list[str]:
    return shell("sessions", "show", session).splitlines()


def test_grants_that_are_not_there_are_said_to_be_not_there(shell: Shell) -> None:
    assert "Nothing is allowed" in shell("grants")
    assert "There is no grant" in shell("grants", "--revoke", "nope", code=1)


def test_a_session_is_compacted_and_guidance_is_listed(shell: Shell) -> None:
    shell("run", "hello", "--model", "scripted/echo")
    (line, *_) = shell("sessions", "list").splitlines()
    session = line.split()[0]
    assert "Compacted: about" in shell("sessions", "compact", session, "--focus", "the greeting")
    assert "no session" in shell("sessions", "compact", "nobody", code=1).lower()
    folder = shell.folder / ".agents" / "skills" / "plan"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\ndescription: Plan: first.\n---\nThink.\n")
    assert "SKILL.md:2" in shell("guidance", code=1)
    (folder / "SKILL.md").write_text("---\ndescription: Plan first.\n---\nThink.\n")
    assert "not trusted" in shell("guidance")
    shell("trust", "--add", ".")
    told = json.loads(shell("guidance", "--json"))
    assert [each["name"] for each in told["guidance"]["skills"]] == ["plan"]
    assert [each["name"] for each in told["prompts"]["prompts"]] == ["compact"]
