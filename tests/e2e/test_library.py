"""Kept sessions over the wire: found again after a restart, read, renamed, forked, taken back."""

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says
from tests.e2e.test_permission import edit


def test_a_run_is_listed_read_and_taken_back_after_a_restart(hosts: Hosts) -> None:
    path = hosts.file("a.txt", "old\n")
    model = hosts.script([calls(("fs_edit", edit("a.txt", "old", "new"))), says("Did it.")])
    editor = hosts.start()
    run = editor.run("change the file", model=model).result()
    assert path.read_text() == "new\n"
    assert editor.shutdown() == 0

    editor = hosts.start()
    (session,) = editor.request("agent/session/list").result()["sessions"]
    assert (session["sessionId"], session["status"]) == (run["sessionId"], "completed")
    assert "change the file" in session["title"]
    assert not editor.request("agent/session/list", {"text": "nothing such"}).result()["sessions"]

    page = editor.request("agent/session/load", {"sessionId": run["sessionId"]}).result()
    kinds = [each["delta"]["kind"] for each in page["deltas"]]
    assert (kinds[0], kinds[-1], page["more"]) == ("started", "ended", False)
    assert {"toolCall", "edit", "question", "answer", "toolResult", "text"} <= set(kinds)
    assert [each["prompt"] for each in page["runs"]] == ["change the file"]

    back = editor.request("agent/session/revert", {"runId": run["runId"]}).result()
    assert [file["status"] for file in back["files"]] == ["reverted"]
    assert path.read_text() == "old\n"
    editor.request("agent/session/revert", {"runId": back["runId"]}).result()
    assert path.read_text() == "new\n"


def test_sessions_are_renamed_forked_and_deleted(hosts: Hosts) -> None:
    editor = hosts.start()
    first = editor.run(model=hosts.script([says("one")])).result()
    given = {"sessionId": first["sessionId"]}
    editor.request("agent/session/rename", given | {"title": "My title"}).result()
    forked = editor.request("agent/session/fork", given).result()["sessionId"]
    titles = [each["title"] for each in _listed(editor)]
    assert "My title" in titles
    assert len(titles) == 2
    editor.request("agent/session/delete", given).result()
    assert [each["sessionId"] for each in _listed(editor)] == [forked]
    for method in ("load", "fork", "delete"):
        error = editor.request(f"agent/session/{method}", given).answer()["error"]
        assert error["data"]["code"] == "session_not_found"
    error = editor.request("agent/session/revert", {"runId": "nope"}).answer()["error"]
    assert error["data"]["code"] == "run_not_found"


def _listed(editor) -> list[dict[str, str]]:
    return editor.request("agent/session/list").result()["sessions"]
