"""The first messages: what the host declares, and that it ends with the right exit code."""

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import CLIENTS
from tests.e2e.rawclient import RpcError

METHODS = {"agent/run", "agent/stop", "agent/ping", "agent/status", "agent/roles", "agent/models"}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_host_declares_what_it_can(hosts: Hosts, client: str) -> None:
    editor = hosts.start(client, handshake=False)
    result = editor.initialize()
    assert result["serverInfo"]["name"] == "agent-host"
    assert result["serverInfo"]["version"]
    capabilities = result["capabilities"]
    extension = capabilities["experimental"]["agentHost"]
    assert extension["version"] == 1
    assert set(extension["methods"]) >= METHODS
    assert "sdk" in extension["runtimes"]
    assert {"agentHost.run", "agentHost.stop"} <= set(
        capabilities["executeCommandProvider"]["commands"]
    )
    offered = editor.initialize_params()["capabilities"].get("general", {})
    assert editor.encoding in offered.get("positionEncodings", ["utf-16"])
    assert capabilities["textDocumentSync"]


@pytest.mark.parametrize("client", CLIENTS)
def test_small_questions_are_answered(hosts: Hosts, client: str) -> None:
    editor = hosts.start(client)
    assert editor.request("agent/ping").result() == {"pong": True}
    status = editor.request("agent/status").result()
    assert status["sessions"] == []
    assert status["actionServer"]["restarts"] == 0
    roles = editor.request("agent/roles", {}).result()
    assert {"coder", "reviewer", "planner"} <= {role["name"] for role in roles["roles"]}
    models = editor.request("agent/models", {}).result()
    assert {model["provider"] for model in models["models"]} >= {"openai", "anthropic", "gemini"}


def test_no_key_is_ever_told(hosts: Hosts) -> None:
    key = "sk-very-secret-0123456789"
    editor = hosts.start(env={"ANTHROPIC_API_KEY": key})
    models = editor.request("agent/models").result()["models"]
    assert any("ANTHROPIC_API_KEY" in str(model) for model in models)
    assert key not in str(editor.received())
    assert key not in editor.stderr()


def test_ping_is_answered_while_the_host_still_warms_up(hosts: Hosts) -> None:
    editor = hosts.start(handshake=False)
    pending = editor.request("initialize", editor.initialize_params())
    editor.notify("initialized", {})
    ping = editor.request("agent/ping", {"any": "thing"})
    assert pending.result()["capabilities"]
    assert ping.result() == {"pong": True}


def test_a_second_initialize_is_refused(hosts: Hosts) -> None:
    editor = hosts.start()
    with pytest.raises(RpcError) as caught:
        editor.request("initialize", editor.initialize_params()).result()
    assert caught.value.code == -32600


def test_exit_without_shutdown_is_code_1(hosts: Hosts) -> None:
    editor = hosts.start()
    editor.notify("exit")
    assert editor.wait_exit() == 1


def test_shutdown_then_exit_is_code_0(hosts: Hosts) -> None:
    assert hosts.start().shutdown() == 0


def test_wrong_settings_are_named_and_the_host_starts(hosts: Hosts) -> None:
    editor = hosts.start(options={"modell": "scripted/x"})
    said = editor.wait(
        lambda m: m.get("method") in ("window/showMessage", "window/logMessage"), what="a report"
    )
    assert "modell" in said["params"]["message"]
    assert editor.request("agent/ping").result() == {"pong": True}


def test_a_home_folder_as_workspace_is_told_once_and_a_project_is_not(hosts: Hosts) -> None:
    editor = hosts.start()
    home = {"uri": (hosts.folder / "home").as_uri(), "name": "home"}
    above = {"uri": "file:///", "name": "all"}
    for added, removed in (([home], []), ([], [home]), ([home], []), ([], [home]), ([above], [])):
        event = {"added": added, "removed": removed}
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert editor.request("agent/ping").result() == {"pong": True}
    told = [each["params"]["message"] for each in editor.received() if "workspace is" in str(each)]
    assert [each.split(",")[0] for each in told] == [
        f"The agent's workspace is {hosts.folder / 'home'}",
        "The agent's workspace is /",
    ]
