"""A file is moved by the real host: with its unsaved text where the editor can, and taken back."""

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says


@pytest.mark.parametrize("client", ["vscode", "neovim"])
def test_an_open_file_is_moved_and_moved_back(hosts: Hosts, client: str) -> None:
    path = hosts.file("old name.py", "saved\n")
    target = hosts.root / "sub" / "new é.py"
    move = ("fs_move", {"path": "old name.py", "to": "sub/new é.py"})
    editor = hosts.start(client)
    uri = editor.open(path)
    editor.type(uri, "saved", "typed")
    run = editor.run(model=hosts.script([calls(move), says("ok")]))
    result = run.result()
    if client == "neovim":
        # It would save the text on the way.
        assert run.tool_result("fs_move")["status"] == "failed"
        assert path.read_text() == "saved\n"
        assert editor.text(uri) == "typed\n"
        return
    assert run.tool_result("fs_move")["status"] == "ok"
    assert result["edits"] == [
        {"uri": uri, "kind": "delete"},
        {"uri": target.as_uri(), "kind": "create"},
    ]
    assert (path.exists(), target.read_text()) == (False, "saved\n")
    assert editor.text(target.as_uri()) == "typed\n"
    back = editor.request("agent/session/revert", {"runId": run.id}).result()
    assert {each["status"] for each in back["files"]} == {"reverted"}
    assert (path.read_text(), editor.text(uri)) == ("saved\n", "typed\n")
    assert not target.parent.exists()


def test_a_closed_file_is_moved_on_the_disk_and_back(hosts: Hosts) -> None:
    path, target = hosts.file("a.txt", "text\n"), hosts.root / "deep" / "b.txt"
    move = ("fs_move", {"path": "a.txt", "to": "deep/b.txt"})
    editor = hosts.start()
    run = editor.run(model=hosts.script([calls(move), says("ok")]))
    assert run.result()["status"] == "completed"
    assert (path.exists(), target.read_text()) == (False, "text\n")
    files = editor.request("agent/session/revert", {"runId": run.id}).result()["files"]
    assert {each["status"] for each in files} == {"reverted"}
    assert path.read_text() == "text\n"
    assert not target.parent.exists()


def test_a_person_is_told_once_of_what_is_open_without_a_file(hosts: Hosts) -> None:
    path = hosts.file("a.txt", "text\n")
    editor = hosts.start()
    uri = editor.open(path)
    delete = ("fs_delete", {"path": "a.txt"})
    run = editor.run(model=hosts.script([calls(delete), says("ok")]))
    assert run.result()["status"] == "completed"
    assert run.tool_result("fs_delete")["status"] == "ok"
    assert not path.exists()
    assert editor.text(uri) == "text\n"
    (told,) = [
        each["params"]["message"]
        for each in editor.received()
        if each.get("method") == "window/showMessage"
    ]
    assert f"still open: {path}. Close it" in told
