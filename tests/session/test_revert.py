"""A run is taken back file by file; what others did since stays; a revert can be reverted."""

from pathlib import Path

import pytest

from agent_host.core.errors import InvalidRequest, RunNotFound
from agent_host.core.model import ToolCall
from agent_host.session.revert import Reverted, Reverter
from tests.session.stage import Stage, stage, tool

EDIT = tool("fs_edit", "c1", path="a.txt", edits=[{"old": "old", "new": "new"}])
CREATE = tool("fs_write", "c2", path="made.txt", text="made\n")
DELETE = tool("fs_delete", "c3", path="gone.txt")


def reverter(host: Stage) -> Reverter:
    ids = iter(f"v{n}" for n in range(1000))
    return Reverter(
        host.editor, host.actions, host.store, clock=host.clock, new_id=lambda: next(ids)
    )


async def ran(host: Stage, *calls: ToolCall) -> str:
    result, statuses = await host.run(*calls)
    assert statuses == ["ok"] * len(calls)
    return result.run_id


def told(reverted: Reverted) -> dict[str, str]:
    return {each.uri.rsplit("/", 1)[1]: each.status for each in reverted.files}


async def test_everything_goes_back_and_forth(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"\xef\xbb\xbfold\r\n", "/w/gone.txt": b"\x00bin"}
        host.actions.files["/w/mine.txt"] = b"untracked"
        before = dict(host.actions.files)
        run_id = await ran(host, EDIT, CREATE, DELETE)
        after = dict(host.actions.files)
        back = await reverter(host).revert(run_id)
        assert told(back) == {"a.txt": "reverted", "made.txt": "reverted", "gone.txt": "reverted"}
        assert host.actions.files == before
        again = await reverter(host).revert(run_id)
        assert set(told(again).values()) == {"unchanged"}
        assert told(await reverter(host).revert(back.run_id))["a.txt"] == "reverted"
        assert host.actions.files == after


async def test_open_documents_go_back_in_the_editor(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.editor.open("/w/a.txt", "old\ntyped\n")
        run_id = await ran(host, EDIT)
        assert told(await reverter(host).revert(run_id)) == {"a.txt": "reverted"}
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "old\ntyped\n"
        assert host.actions.files["/w/a.txt"] == b"old\n"


async def test_later_changes_by_others_are_kept_and_named(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        run_id = await ran(host, EDIT, CREATE)
        host.actions.files["/w/a.txt"] = b"new\nby hand\n"
        back = await reverter(host).revert(run_id)
        assert told(back) == {"a.txt": "skipped", "made.txt": "reverted"}
        assert host.actions.files == {"/w/a.txt": b"new\nby hand\n"}
        assert back.files[0].reason == "It was changed by somebody else since."


async def test_several_edits_of_one_file_are_one(tmp_path: Path) -> None:
    second = tool("fs_edit", "c9", path="a.txt", edits=[{"old": "new", "new": "newest"}])
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        run_id = await ran(host, EDIT, second)
        assert told(await reverter(host).revert(run_id)) == {"a.txt": "reverted"}
        assert host.actions.files == {"/w/a.txt": b"old\n"}


async def test_only_the_files_that_are_named(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        run_id = await ran(host, EDIT, CREATE)
        back = await reverter(host).revert(run_id, ["file:///w/made.txt"])
        assert told(back) == {"made.txt": "reverted"}
        assert host.actions.files == {"/w/a.txt": b"new\n"}
        with pytest.raises(InvalidRequest, match="did not change"):
            await reverter(host).revert(run_id, ["file:///w/other"])
        with pytest.raises(RunNotFound):
            await reverter(host).revert("nope")
