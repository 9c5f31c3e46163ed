"""Nothing is told or done by a text of the editor's that is in doubt."""

from dataclasses import replace
from pathlib import Path

from agent_host.core.uris import same_key
from tests.session.stage import Stage, stage, tool


def doubt(host: Stage, path: str) -> None:
    key = same_key(path)
    documents = host.editor._documents
    documents[key] = replace(documents[key], doubtful=True)


async def test_a_document_in_doubt_is_neither_read_nor_edited_nor_reverted(tmp_path: Path) -> None:
    from tests.session.test_revert import EDIT, reverter, told

    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.editor.open("/w/a.txt", "old\n")
        first, _ = await host.run(EDIT)
        doubt(host, "/w/a.txt")
        calls = (
            tool("fs_read", "d1", path="a.txt"),
            tool("fs_edit", "d2", path="a.txt", edits=[{"old": "new", "new": "x"}]),
            tool("fs_write", "d3", path="a.txt", text="x"),
        )
        _, statuses = await host.run(*calls)
        assert statuses == ["failed"] * 3
        back = await reverter(host).revert(first.run_id)
        assert told(back) == {"a.txt": "failed"}
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "new\n"


async def test_searches_and_commands_say_what_they_did_not_see(tmp_path: Path) -> None:
    from tests.session.test_gate import COMMAND, results

    async with stage(tmp_path, overlays=True) as host:
        host.actions.files["/w/a.txt"] = b"on disk\n"
        host.editor.open("/w/a.txt", "perhaps this\n")
        doubt(host, "/w/a.txt")
        search = tool("fs_search", "s", pattern="disk")
        (_, found), (_, ran) = await results(host, search, COMMAND)
        assert "on disk" in found
        assert "the editor's text is not known: a.txt" in found
        assert host.actions.commands[0].overlay == {}
        assert "what the editor holds of these files is not known: /w/a.txt" in ran
