"""Broken role files are never used and never silent."""

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.rawclient import RpcError
from tests.e2e.script import calls, expecting, says

FOLDER = ".agent/rules/roles"
GOOD = (
    "---\nname: helper\ndescription: Helps.\ncapabilities:\n  skills: [fs.read]\n---\nYou help.\n"
)
BROKEN = "---\nname: helper\ndescription: Helps: a lot\nskills: [fs.read\n---\nYou help.\n"
COLON = "---\nname: helper\ndescription: Helps: with everything\n---\nYou help.\n"


def test_a_role_of_the_workspace_can_be_used_and_keeps_its_limits(hosts: Hosts) -> None:
    hosts.file(f"{FOLDER}/helper.md", GOOD)
    hosts.file("a.txt", "text\n")
    model = hosts.script(
        [
            calls(("fs_read", {"path": "a.txt"})),
            calls(("fs_write", {"path": "b.txt", "text": "x"})),
            says("ok"),
        ]
    )
    editor = hosts.start()
    run = editor.run(role="helper", model=model)
    assert run.result()["output"] == "ok"
    assert run.tool_result("fs_read")["status"] == "ok"
    assert not (hosts.root / "b.txt").exists()
    assert editor.questions() == []


def test_a_role_calls_another_which_answers_it(hosts: Hosts) -> None:
    helper = GOOD.replace("description:", "model: scripted/echo\ndescription:")
    lead = GOOD.replace("helper", "lead").replace(
        "capabilities:", "agents: [helper]\ncapabilities:"
    )
    hosts.file(f"{FOLDER}/helper.md", helper)
    hosts.file(f"{FOLDER}/lead.md", lead)
    model = hosts.script(
        [
            calls(("agent_call", {"role": "helper", "prompt": "all of this"})),
            expecting("all of this", says("I have asked.")),
        ]
    )
    editor = hosts.start()
    run = editor.run(role="lead", model=model)
    assert run.result()["output"] == "I have asked."
    assert run.tool_result("agent_call")["status"] == "ok"
    said = [
        each["params"]["origin"]["path"]
        for each in editor.received()
        if each.get("method") == "agent/delta" and each["params"]["delta"]["kind"] == "text"
    ]
    assert said[0] == ["lead", "helper"]
    assert said[-1] == ["lead"]


@pytest.mark.parametrize(("text", "line"), [(BROKEN, None), (COLON, 3)])
def test_a_broken_role_is_listed_and_refused_with_its_place(
    hosts: Hosts, text: str, line: int | None
) -> None:
    hosts.file(f"{FOLDER}/helper.md", text)
    editor = hosts.start()
    listed = editor.request("agent/roles").result()
    assert "helper" not in [role["name"] for role in listed["roles"]]
    assert "helper.md" in str(listed)
    with pytest.raises(RpcError) as caught:
        editor.request(
            "agent/run", {"prompt": "go", "role": "helper", "model": "scripted/echo"}
        ).result()
    assert caught.value.data["code"] == "role_broken"
    assert "helper.md" in caught.value.data["error"]
    if line is not None:
        assert f":{line}" in str(caught.value.data) or f"line {line}" in str(caught.value.data)


@pytest.mark.parametrize("text", [BROKEN, COLON])
def test_an_open_role_file_shows_what_is_wrong_and_then_right(hosts: Hosts, text: str) -> None:
    path = hosts.file(f"{FOLDER}/helper.md", text)
    editor = hosts.start()
    uri = editor.open(path, language="markdown")

    def about_it(message: dict[str, object]) -> bool:
        params = message.get("params")
        published = message.get("method") == "textDocument/publishDiagnostics"
        return published and isinstance(params, dict) and params["uri"] == uri

    found = editor.wait(
        lambda m: about_it(m) and bool(m["params"]["diagnostics"]), what="diagnostics"
    )["params"]["diagnostics"]
    assert found[0]["severity"] == 1
    assert found[0]["range"]["start"]["line"] > 0
    since = len(editor.received())
    editor.type(uri, text, GOOD)
    mended = editor.wait(about_it, since=since, what="diagnostics taken back")
    assert mended["params"]["diagnostics"] == []
