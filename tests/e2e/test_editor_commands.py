"""What any editor can do by `workspace/executeCommand`, without a plug-in."""

from typing import Any

from tests.e2e.conftest import Hosts
from tests.e2e.editor import Editor
from tests.e2e.script import calls, says
from tests.e2e.test_permission import edit

MAKE = ("terminal_run", {"command": "touch made"})


def execute(editor: Editor, command: str, *arguments: object) -> Any:
    params = {"command": f"agentHost.{command}", "arguments": list(arguments)}
    return editor.request("workspace/executeCommand", params).result()


def test_a_run_is_taken_back_by_a_command(hosts: Hosts) -> None:
    path = hosts.file("a.txt", "old\n")
    model = hosts.script([calls(("fs_edit", edit("a.txt", "old", "new"))), says("Did it.")])
    editor = hosts.start()
    run = execute(editor, "run", {"prompt": "go", "model": model})
    assert path.read_text() == "new\n"
    back = execute(editor, "revert", run["runId"])
    assert [file["status"] for file in back["files"]] == ["reverted"]
    assert path.read_text() == "old\n"
    error = editor.request(
        "workspace/executeCommand", {"command": "agentHost.revert", "arguments": []}
    ).answer()["error"]
    assert (error["code"], "runId" in error["data"]["error"]) == (-32602, True)


def test_a_folder_is_trusted_and_forgotten_by_commands(hosts: Hosts) -> None:
    editor = hosts.start(env={"AGENT_HOST_TRUST": ""})
    assert execute(editor, "trust") == {"trusted": [str(hosts.root)]}
    run = editor.run(model=hosts.script([calls(MAKE), says("ok")]))
    assert run.result()["status"] == "completed"
    assert not any("Do you trust" in each["params"]["message"] for each in editor.questions())
    assert (hosts.root / "made").exists()
    assert execute(editor, "distrust") == {"trusted": []}


def test_what_was_allowed_for_long_is_listed_and_taken_back(hosts: Hosts) -> None:
    editor = hosts.start()
    editor.answers = "Allow this exact command in this workspace"
    model = hosts.script([calls(MAKE), says("ok")])
    editor.run(model=model).result()
    (grant,) = execute(editor, "grants")["grants"]
    assert (grant["scope"], "touch made" in grant["what"]) == ("workspace", True)
    asked = len(editor.questions())
    editor.run(model=model).result()
    assert len(editor.questions()) == asked
    execute(editor, "revokeGrant", {"id": grant["id"]})
    editor.run(model=model).result()
    assert len(editor.questions()) == asked + 1


def test_a_run_is_stopped_by_a_code_action(hosts: Hosts) -> None:
    editor = hosts.start()
    uri = editor.open(hosts.file("a.txt", "text\n"))
    place = {"line": 0, "character": 0}
    where = {
        "textDocument": {"uri": uri},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": []},
    }
    (ask,) = editor.request("textDocument/codeAction", where).result()
    assert ask["title"] == "Agent: ask about this file"
    run = editor.run(model=hosts.script([says("working", hang=True)]))
    run.wait("text")
    action, _ = editor.request("textDocument/codeAction", where).result()
    assert action["title"] == "Agent: stop"
    execute(editor, "stop", *action["command"]["arguments"])
    assert run.result()["status"] == "stopped"
