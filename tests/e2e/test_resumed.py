"""A session that goes on in another host: of whatever order its folders are, by whatever id."""

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.rawclient import Message, RpcError
from tests.e2e.script import calls, says
from tests.e2e.test_hosts import listed, loaded

PWD = ("terminal_run", {"command": "pwd"})


def test_the_order_of_the_folders_does_not_matter(hosts: Hosts) -> None:
    names = ("workspace", "second", "third")
    folders = [hosts.folder / name for name in names]
    for folder in folders[1:]:
        folder.mkdir()
    session = ""
    for order in (folders, folders[::-1]):
        editor = hosts.start(handshake=False)
        params = editor.initialize_params()
        params["workspaceFolders"] = [{"uri": each.as_uri(), "name": each.name} for each in order]
        editor.request("initialize", params).result()
        editor.notify("initialized", {})
        given: Message = {"sessionId": session} if session else {}
        run = editor.run(model=hosts.script([calls(PWD), says("done")]), **given)
        session = run.result()["sessionId"]
        assert run.wait("toolOutput")["text"].strip() == str(folders[0])
        assert list(listed(editor)) == [session]
        assert len(loaded(editor, session)["runs"]) == (2 if given else 1)
        editor.kill()


def test_an_editor_may_choose_the_id_of_a_session(hosts: Hosts) -> None:
    editor = hosts.start()
    hang, script = (hosts.script([says("hi", hang=hang)]) for hang in (True, False))
    mine = {"sessionId": "mine", "create": True}
    with pytest.raises(RpcError) as unknown:
        editor.request("agent/run", {"prompt": "go", "sessionId": "mine"}).result()
    assert "`create`" in unknown.value.data["error"]
    first = editor.run("one", model=hang, **mine)
    second = editor.request("agent/run", {"prompt": "two", "model": hang, **mine})
    again = editor.request("agent/run", {"prompt": "one", "model": hang, "runId": first.id, **mine})
    assert second.answer()["error"]["data"]["code"] == "session_busy"
    first.wait("text")
    editor.stop(sessionId="mine")
    assert again.result() == first.result()
    assert editor.run("three", model=script, **mine).result()["sessionId"] == "mine"
    assert list(listed(editor)) == ["mine"]
    assert [run["prompt"] for run in loaded(editor, "mine")["runs"]] == ["one", "three"]
