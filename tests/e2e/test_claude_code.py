"""The runtime `claude-code` in a whole host, on a CLI that is really executed."""

import json
import sys
from pathlib import Path

from tests.e2e.conftest import Hosts

FAKE = Path(__file__).parents[1] / "fake_claude.py"


def configured(hosts: Hosts, behaviour: str, **more: object) -> None:
    """Write the user's settings."""
    entry = {"command": [sys.executable, str(FAKE), behaviour], **more}
    config = hosts.state / "config" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"runtimes": {"claude-code": entry}}))


def test_a_tool_of_ours_reads_the_editors_text(hosts: Hosts) -> None:
    configured(hosts, "calls")
    path = hosts.file("a.txt", "on disk\n")
    editor = hosts.start()
    editor.open(path, "typed and not saved\n")
    run = editor.run("Read it.", runtime="claude-code")
    result = run.result()
    assert result["status"] == "completed"
    started = run.deltas("started")[0]
    assert (started["runtime"], started["model"]) == ("claude-code", "claude-code")
    assert run.deltas("ended") == [{"kind": "ended", "status": "completed", "exitCode": 0}]
    assert "typed and not saved" in run.text()
    assert [d["name"] for d in run.deltas("toolCall")] == ["fs_read"]
    assert result["usage"]["costUsd"] == 0.5
    run.check()
    again = editor.run("And?", sessionId=result["sessionId"])
    assert again.result()["status"] == "completed"
    assert again.deltas("started")[0]["runtime"] == "claude-code"


def test_its_own_command_is_asked_about(hosts: Hosts) -> None:
    configured(hosts, "native", tools="native")
    editor = hosts.start()
    run = editor.run("Make it.", model="claude-code")
    assert run.result()["status"] == "completed"
    (question,) = editor.questions()
    assert "echo made" in question["params"]["message"]
    assert (hosts.root / "made.txt").read_text() == "made\n"
    assert [d["status"] for d in run.deltas("toolResult")] == ["ok"]
    run.check()
    editor.answers = "Deny"
    again = editor.run("Make it.", model="claude-code")
    assert again.result()["status"] == "completed"
    assert [d["status"] for d in again.deltas("toolResult")] == ["denied"]


def test_a_host_lists_it_and_says_what_is_missing(hosts: Hosts) -> None:
    configured(hosts, "calls", command=["/no/such/claude"])
    editor = hosts.start()
    models = {each["name"]: each for each in editor.request("agent/models", {}).result()["models"]}
    assert models["claude-code"]["usable"] is False
    assert "/no/such/claude is no program" in models["claude-code"]["reason"]
    result = editor.run(runtime="claude-code").result()
    assert (result["status"], result["error"]["code"]) == ("failed", "runtime_missing")
