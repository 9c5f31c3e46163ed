"""The installed host has an agent use a tool of an MCP server, allowed and denied."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_host.mcp.servers import WAIT_SECONDS
from tests.e2e.conftest import Hosts
from tests.e2e.processes import descendants, wait_gone
from tests.e2e.script import calls, expecting, says

CLAUDE = Path(__file__).parents[1] / "fake_claude.py"
SERVER = Path(__file__).parents[1] / "bad_mcp_server.py"
ACP = Path(__file__).parents[1] / "acp_agent.py"
GO = ("test__go", {"where": "home"})
GOOD = {"command": sys.executable, "args": ["-S", str(SERVER), "x"]}


def configured(hosts: Hosts, **more: Any) -> None:
    """A server of the user's settings, in a trusted workspace."""
    config = hosts.state / "config" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"mcpServers": {"test": GOOD}, "trust": "always", **more}))


def test_a_tool_is_called_once_it_was_allowed_and_its_server_ends_with_the_host(
    hosts: Hosts,
) -> None:
    configured(hosts, rules=["deny mcp:test/goo"])
    model = hosts.script(
        [calls(GO), expecting("gone", calls(GO)), expecting("did not run", says("ok"))]
    )
    editor = hosts.start()
    (before,) = editor.request("agent/status", {}).result()["mcpServers"]
    assert before["state"] == "idle"
    answers = iter(("Allow once", "Deny"))
    editor.answers = lambda _: next(answers)
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert [d["status"] for d in run.deltas("toolResult")] == ["ok", "denied"]
    wrong = "`deny mcp:test/goo`: the MCP server `test` has no tool `goo`."
    assert any(wrong in str(delta) for delta in run.deltas("log"))
    roles = editor.request("agent/roles", {}).result()["roles"]
    coder = {
        right["action"] for role in roles if role["name"] == "coder" for right in role["rights"]
    }
    assert "mcp:test/*" in coder
    question = editor.questions()[0]["params"]["message"]
    assert "use the tool go of the MCP server test" in question
    assert "home" in question
    (after,) = editor.request("agent/status", {}).result()["mcpServers"]
    assert (after["state"], after["tools"]) == ("ready", ["go"])
    configured(hosts)
    editor.notify("workspace/didChangeConfiguration", {"settings": {"agentHost": {}}})
    (kept,) = editor.request("agent/status", {}).result()["mcpServers"]
    assert kept["pid"] == after["pid"]
    editor.shutdown()
    assert not Path(f"/proc/{after['pid']}").exists()


def test_a_server_that_is_taken_out_of_the_settings_ends_at_once(hosts: Hosts) -> None:
    configured(hosts)
    editor = hosts.start()
    editor.run(model=hosts.script([says("ok")])).result()
    (server,) = editor.request("agent/status", {}).result()["mcpServers"]
    (process,) = (each for each in descendants(editor.process.pid) if each.pid == server["pid"])
    configured(hosts, mcpServers={})
    editor.notify("workspace/didChangeConfiguration", {"settings": {"agentHost": {}}})
    assert wait_gone([process], 20.0) == []
    assert editor.request("agent/status", {}).result()["mcpServers"] == []
    editor.shutdown()


def test_doctor_says_which_servers_work_and_why_others_do_not(hosts: Hosts) -> None:
    configured(hosts)
    config = hosts.state / "config" / "config.yaml"
    settings = json.loads(config.read_text())
    settings["mcpServers"]["gone"] = {"command": "no-such-program"}
    settings["rules"] = ["deny mcp:test/goo"]
    config.write_text(json.dumps(settings))
    command = [str(Path(sys.executable).parent / "agent-host"), "doctor", "--cwd", str(hosts.root)]
    done = subprocess.run(
        command, env=hosts.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert "ready: go" in done.stdout
    assert "gone (no-such-program) failed: there is no program `no-such-program`" in done.stdout
    assert "MCP server gone" in done.stdout.partition("Problems")[2]
    assert "the MCP server `test` has no tool `goo`" in done.stdout.partition("Problems")[2]
    assert done.returncode == 1


def test_a_server_dies_with_a_host_that_is_killed(hosts: Hosts) -> None:
    configured(hosts)
    editor = hosts.start()
    editor.run(model=hosts.script([says("ok")])).result()
    (server,) = editor.request("agent/status", {}).result()["mcpServers"]
    assert server["state"] == "ready"
    below = descendants(editor.process.pid)
    assert server["pid"] in {process.pid for process in below}
    editor.kill()
    assert wait_gone(below, 10.0) == []


def test_the_claude_cli_calls_a_tool_of_an_mcp_server_through_the_gate(hosts: Hosts) -> None:
    command = [sys.executable, str(CLAUDE), "calls_external"]
    configured(hosts, runtimes={"claude-code": {"command": command}})
    editor = hosts.start()
    answers = iter(("Allow once", "Deny"))
    editor.answers = lambda _: next(answers)
    said: list[str] = []
    for status in ("ok", "denied"):
        run = editor.run("Go.", runtime="claude-code")
        assert run.result()["status"] == "completed"
        said.append(run.text())
        assert [d["name"] for d in run.deltas("toolCall")] == ["test__go"]
        assert [d["status"] for d in run.deltas("toolResult")] == [status]
    assert "It says: gone" in said[0]
    assert "did not run" in said[1]
    for question in editor.questions():
        assert "use the tool go of the MCP server test" in question["params"]["message"]
    editor.shutdown()


@pytest.mark.parametrize(("name", "file"), [("claude-code", CLAUDE), ("acp:test", ACP)])
def test_a_dead_server_keeps_no_program_from_the_good_one(
    hosts: Hosts, name: str, file: Path
) -> None:
    dead = {"command": sys.executable, "args": ["-S", "-c", "raise SystemExit('no licence')"]}
    command = [sys.executable, str(file), "calls_external"]
    servers = {"dead": dead, "test": GOOD}
    configured(hosts, mcpServers=servers, runtimes={name: {"command": command}})
    editor = hosts.start()
    editor.answers = "Allow once"
    begun = time.monotonic()
    run = editor.run("Go.", runtime=name)
    assert run.result()["status"] == "completed"
    assert time.monotonic() - begun < WAIT_SECONDS, "it was not waited for"
    assert "It says: gone" in run.text()
    assert [d["status"] for d in run.deltas("toolResult")] == ["ok"]
    (told,) = (d["text"] for d in run.deltas("log") if d["source"] == "mcp")
    assert told.startswith("MCP server dead can't be used: ")
    assert "no licence" in told
