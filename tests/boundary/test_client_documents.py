"""The scripted client's documents: edits are applied as a proper editor applies them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.boundary.scripted_peer import result_of_what, start


def at(line: int, character: int, end: tuple[int, int] | None = None) -> dict[str, object]:
    last = end or (line, character)
    return {
        "start": {"line": line, "character": character},
        "end": {"line": last[0], "character": last[1]},
    }


def change(*edits: tuple[dict[str, object], str], version: int | None = 1) -> dict[str, object]:
    return {
        "documentChanges": [
            {
                "textDocument": {"uri": "URI", "version": version},
                "edits": [{"range": where, "newText": text} for where, text in edits],
            }
        ]
    }


@pytest.mark.parametrize(
    ("encoding", "text", "edit", "after"),
    [
        ("utf-16", "one\ntwo\n", change((at(1, 0, (1, 3)), "2")), "one\n2\n"),
        ("utf-16", "a\r\nb\rc\n", change((at(2, 0, (2, 1)), "C"), (at(0, 1), "!")), "a!\r\nb\rC\n"),
        ("utf-16", "x😀y", change((at(0, 3), "|")), "x😀|y"),
        ("utf-8", "x😀y", change((at(0, 5), "|")), "x😀|y"),
        ("utf-32", "x😀y", change((at(0, 2), "|")), "x😀|y"),
        ("utf-16", "ab", change((at(9, 9), "!"), version=None), "ab!"),
        ("utf-16", "ab\n", change((at(0, 99), "!")), "ab!\n"),
        ("utf-16", "", change((at(0, 0), "new")), "new"),
        ("utf-16", "ab", change((at(0, 1), "1"), (at(0, 1), "2")), "a12b"),
        ("utf-16", "ab", {"changes": {"URI": [{"range": at(0, 0), "newText": "-"}]}}, "-ab"),
    ],
)
async def test_edits_change_open_documents(
    tmp_path: Path, encoding: str, text: str, edit: Mapping[str, object], after: str
) -> None:
    script = f"""
        opened = expect("textDocument/didOpen")["params"]["textDocument"]
        edit = json.loads(json.dumps({edit!r}).replace("URI", opened["uri"]))
        answered = answer_of(ask("workspace/applyEdit", {{"edit": edit}}))
        changed = expect("textDocument/didChange")["params"]
        write(id=expect("what")["id"], result=[answered, changed])
    """
    async with start(tmp_path, script, encoding=encoding) as client:
        uri = client.open_document(tmp_path / "a.txt", text)
        answered, changed = await result_of_what(client)
        assert answered == {"applied": True}
        assert changed["contentChanges"] == [{"text": after}]
        assert changed["textDocument"]["version"] == 2
        document = client.documents[uri]
        assert (document.text, document.version, document.dirty) == (after, 2, True)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (change((at(0, 0), "x"), version=7), "at version 1"),
        (change((at(0, 0, (0, 2)), "x"), (at(0, 1, (0, 3)), "y")), "overlap"),
        (change((at(0, 2, (0, 1)), "x")), "overlap"),
        ({"documentChanges": [{"kind": "create", "uri": "URI"}]}, "not declared"),
    ],
)
async def test_edits_that_do_not_fit_change_nothing(
    tmp_path: Path, edit: Mapping[str, object], reason: str
) -> None:
    script = f"""
        opened = expect("textDocument/didOpen")["params"]["textDocument"]
        edit = json.loads(json.dumps({edit!r}).replace("URI", opened["uri"]))
        answered = answer_of(ask("workspace/applyEdit", {{"edit": edit}}))
        write(id=expect("what")["id"], result=answered)
    """
    async with start(tmp_path, script) as client:
        uri = client.open_document(tmp_path / "a.txt", "abcd")
        answered = await result_of_what(client)
        assert answered["applied"] is False
        assert reason in answered["failureReason"]
        assert (client.documents[uri].text, client.documents[uri].version) == ("abcd", 1)


async def test_an_edit_of_a_closed_file_opens_it_unsaved(tmp_path: Path) -> None:
    path = tmp_path / "a b.txt"
    path.write_bytes(b"one\r\n")
    edit = {"changes": {path.as_uri(): [{"range": at(0, 0), "newText": "x"}]}}
    script = f"""
        answered = answer_of(ask("workspace/applyEdit", {{"edit": {edit!r}}}))
        opened = expect("textDocument/didOpen")["params"]["textDocument"]["text"]
        asked = ask("agent/save", {{"uris": [{path.as_uri()!r}, "file:///other"]}})
        write(id=expect("what")["id"], result=[opened, answer_of(asked)])
    """
    async with start(tmp_path, script) as client:
        opened, saved = await result_of_what(client)
        assert opened == "xone\r\n"
        assert saved == {"saved": [path.as_uri()]}
        assert path.read_bytes() == b"xone\r\n"
        assert not client.documents[path.as_uri()].dirty


async def test_a_person_types_saves_and_closes(tmp_path: Path) -> None:
    script = """
        for method in ("didOpen", "didChange", "didSave", "didClose"):
            expect("textDocument/" + method)
        told = [m["method"][13:] for m in log if m["method"].startswith("textDocument/")]
        write(id=expect("what")["id"], result=told)
    """
    async with start(tmp_path, script) as client:
        uri = client.open_document(tmp_path / "a.txt", "a", "text")
        client.change_document(uri, "b")
        client.save_document(uri)
        client.close_document(uri)
        assert await result_of_what(client) == ["didOpen", "didChange", "didSave", "didClose"]
    assert (tmp_path / "a.txt").read_text() == "b"
