"""The host is killed between two edits of one call, or in a revert: the next host knows what is."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import NEVER, Editor
from tests.e2e.rawclient import Message
from tests.e2e.script import calls, says

EDITS = [{"old": "old", "new": "new"}]
FILES = [{"path": name, "edits": EDITS} for name in ("a.txt", "b.txt", "c.txt")]
CALL = ("fs_edit_files", {"files": [*FILES, {"path": "deep/made.txt", "text": "made\n"}]})


def started(hosts: Hosts) -> tuple[Editor, list[str]]:
    """An editor that has `b.txt` and `c.txt` open, and shows the documents' URIs."""
    editor = hosts.start()
    paths = [hosts.root / name for name in ("b.txt", "c.txt")]
    return editor, [editor.open(path) for path in paths]


def hold(editor: Editor, uri: str) -> None:
    """Let the editor not answer the edit of one document, and not make it."""
    apply = editor._apply

    def answer(params: Message) -> object:
        changed = [each["textDocument"]["uri"] for each in params["edit"]["documentChanges"]]
        return NEVER if uri in changed else apply(params["edit"])

    editor.handlers["workspace/applyEdit"] = answer


def wait_edit(editor: Editor, uri: str, count: int) -> None:
    editor.wait(
        lambda m: m.get("method") == "workspace/applyEdit" and uri in str(m["params"]),
        what=f"the edit of {uri}",
        count=count,
    )


def again(hosts: Hosts, editor: Editor) -> Editor:
    """Another host for the same editor: its documents are as they were."""
    texts = {uri: document.text for uri, document in editor.documents.items()}
    editor.kill()
    editor = hosts.start()
    for uri, text in texts.items():
        editor.open(uri, text)
    return editor


@pytest.mark.parametrize("killed_in", ["run", "revert"])
def test_killed_between_two_edits(hosts: Hosts, killed_in: str) -> None:
    paths: list[Path] = [hosts.file(name, "old\n") for name in ("a.txt", "b.txt", "c.txt")]
    editor, (b, c) = started(hosts)
    model = hosts.script([calls(CALL), says("done")])
    if killed_in == "run":
        hold(editor, c)
    run = editor.run(model=model)
    if killed_in == "revert":
        assert len(run.result()["edits"]) == 4
        hold(editor, b)
        editor.request("agent/session/revert", {"runId": run.id})
    wait_edit(editor, *((c, 1) if killed_in == "run" else (b, 2)))
    session = next(
        m["params"]["sessionId"] for m in editor.received() if m.get("method") == "agent/delta"
    )
    editor = again(hosts, editor)
    loaded = editor.request("agent/session/load", {"sessionId": session}).result()
    outcomes = {each["uri"]: each["outcome"] for each in loaded["cutShort"]}
    if killed_in == "run":
        assert paths[0].read_text() == editor.text(b) == "new\n"
        assert outcomes == {c: "notMade"}
    else:
        assert outcomes == {b: "notMade"}
    files = editor.request("agent/session/revert", {"runId": run.id}).result()["files"]
    assert {each["status"] for each in files} <= {"reverted", "unchanged"}, files
    assert paths[0].read_text() == editor.text(b) == editor.text(c) == "old\n"
    assert not (hosts.root / "deep").exists()
