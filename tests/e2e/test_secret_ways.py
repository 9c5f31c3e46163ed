"""Every way to a file that may not be read, in a whole host: tools, prompts, editors, runtimes."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import Editor
from tests.e2e.script import calls, says

HELPERS = Path(__file__).parents[1]
TOOLS = (
    ("fs_read", {"path": ".env"}),
    ("fs_read", {"path": "notes"}),
    ("fs_read", {"path": "src/../.env"}),
    ("fs_search", {"pattern": "KEY", "path": ".env"}),
    ("fs_search", {"pattern": "KEY", "path": "notes"}),
    ("fs_edit", {"path": ".env", "edits": [{"old": "KEY=hunted", "new": "x"}]}),
    ("terminal_run", {"command": "cat .env"}),
    ("terminal_run", {"command": "cat notes"}),
    ("terminal_run", {"command": "cat < .env"}),
    ("terminal_run", {"command": "bash -c 'cat .env'"}),
    ("terminal_run", {"command": "cat src/../.env | head"}),
)
"""What is refused whole; `notes` is a link to `.env`."""
AMONG_OTHERS = (
    ("fs_search", {"pattern": "KEY", "path": "."}),
    ("terminal_run", {"command": "grep -r KEY ."}),
    ("terminal_run", {"command": "rg KEY"}),
)
"""What finds it among others, and does without."""
RULE = "deny * .env"


@pytest.fixture(params=["person", "rule"])
def editor(request: pytest.FixtureRequest, hosts: Hosts) -> Editor:
    """An editor with unsaved text in it, and a person who says no, or a rule that does."""
    runtimes = {
        "claude-code": {"command": [sys.executable, str(HELPERS / "fake_claude.py"), "secrets"]},
        "acp:agent": {"command": [sys.executable, str(HELPERS / "acp_agent.py"), "secrets"]},
    }
    rules = [RULE] if request.param == "rule" else []
    config = hosts.state / "config" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"runtimes": runtimes, "rules": rules}))
    path = hosts.file(".env", "KEY=hunter2\n")
    hosts.file("src/plain.py", "KEY = 1\n")
    (hosts.root / "notes").symlink_to(".env")
    editor = hosts.start()
    editor.answers = "Deny"
    uri = editor.open(path)
    editor.type(uri, "hunter2", "hunter3")
    editor.open(hosts.root / "conf/.env", "KEY=hunter4\n")
    linked = editor.open(hosts.root / "notes")
    editor.type(linked, "hunter2", "hunter5")
    return editor


def test_no_way_to_a_secret_is_open(hosts: Hosts, editor: Editor) -> None:
    """Files, links, searches, unsaved text, edits, commands, prompts; then the CLI runtimes."""
    uri = (hosts.root / ".env").as_uri()
    ways = (*TOOLS, ("fs_read", {"path": uri}), *AMONG_OTHERS)
    # Three denials in a row would end the run.
    between = calls(("fs_list", {"path": "src"}))
    turns = [turn for way in ways for turn in (calls(way), between)]
    run = editor.run(model=hosts.script([*turns, says("ok")]))
    assert run.result()["status"] == "completed"
    ended = [each["status"] for each in run.deltas("toolResult")][::2]
    for way, status in zip(ways, ended, strict=True):
        assert (status == "ok") is (way in AMONG_OTHERS), way
    run = editor.run(model=hosts.script([says("ok")]), context=[{"uri": uri}])
    assert run.result()["status"] == "completed"
    # A prompt that names it, in a document.
    script = hosts.script([says("{{prompt}}")])
    talk = editor.open(
        hosts.root / "talk.agent.md",
        f"---\nmodel: {script}\n---\n\n## You\n\nRead @.env please\n",
        "markdown",
    )
    editor.request(
        "workspace/executeCommand", {"command": "agentHost.send", "arguments": [{"uri": talk}]}
    )
    editor.wait_text(talk, "> completed")
    assert "could not be attached" in editor.text(talk)
    for runtime in ("claude-code", "acp:agent"):
        run = editor.run("Read it.", runtime=runtime)
        assert run.result()["status"] == "completed"
        assert run.text().count("refused") == 5, run.text()
    assert "hunter" not in str(editor.received())
