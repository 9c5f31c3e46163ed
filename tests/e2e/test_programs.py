"""A whole host whose agent is a program that does not want to stop."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.processes import descendants, wait_gone, with_command

TESTS = Path(__file__).parents[1]
PROGRAMS = {"claude-code": TESTS / "fake_claude.py", "acp:test": TESTS / "acp_agent.py"}
MARKER = "sleep 876543"


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_stop_ends_it_its_command_and_what_waits(hosts: Hosts, name: str) -> None:
    config = hosts.state / "config" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    command = [sys.executable, str(PROGRAMS[name]), "runs_on"]
    config.write_text(json.dumps({"runtimes": {name: {"command": command}}}))
    editor = hosts.start()
    run = editor.run("Go.", runtime=name)
    run.wait("toolOutput")
    (session,) = editor.request("agent/status").result()["sessions"]
    said = {"sessionId": session["sessionId"], "prompt": "and then", "when": "next"}
    assert editor.request("agent/steer", said).result()["accepted"] == "queued"
    mine = {each.pid for each in descendants(editor.process.pid)}
    below = [each for each in with_command(MARKER) if each.pid in mine]
    below += [each for each in descendants(editor.process.pid) if "runs_on" in each.command]
    assert len(below) >= 3
    stopped = editor.request("agent/stop", {"runId": run.id}).result(30.0)
    assert stopped["stopped"] == [run.id]
    assert [each["prompt"] for each in stopped["handedBack"]] == ["and then"]
    assert wait_gone(below, 0.5) == []
    assert run.result()["status"] == "stopped"
    assert [d["status"] for d in run.deltas("toolResult")] == ["stopped"]
    assert editor.process.poll() is None
    run.check()
