"""Runs that moved files and edited them are taken back in reverse, or what is left is named."""

from pathlib import Path

import pytest

from agent_host.core.model import ToolCall
from tests.session.stage import stage, tool
from tests.session.test_move import AFTER, BEFORE, MOVE, MOVE_FOLDER, opened
from tests.session.test_revert import reverter, told


@pytest.mark.parametrize("typed", ["", "typed"])
async def test_what_was_left_open_under_the_old_name_does_not_hinder_it_unless_typed_in(
    tmp_path: Path, typed: str
) -> None:
    async with stage(tmp_path) as host:
        opened(host)
        host.editor.saves = True
        host.editor.on_save = lambda uri: host.actions.files.update({"/w/a.txt": b"new\n"})
        result, statuses = await host.run(BEFORE, MOVE, AFTER)
        assert statuses == ["ok"] * 3
        assert host.actions.files == {"/w/sub/b.txt": b"newest\n"}
        if typed:
            host.editor.open("/w/a.txt", typed)
        back = await reverter(host).revert(result.run_id)
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == (typed or "old\n")
        if not typed:
            assert set(told(back).values()) == {"reverted"}
            assert set(host.actions.files) == {"/w/a.txt"}
            return
        assert host.actions.files == {"/w/sub/b.txt": b"new\n"}
        reasons = [each.reason for each in back.files if each.uri == "file:///w/a.txt"]
        assert reasons == [
            "Its move to file:///w/sub/b.txt could not be taken back, so it is left as it is.",
            "/w/a.txt is open in the editor already.",
        ]


async def test_edits_moves_and_deletes_in_one_directory_go_back_one_after_the_other(
    tmp_path: Path,
) -> None:
    def edit(path: str, old: str, new: str) -> ToolCall:
        return tool("fs_edit", f"{path} {old}", path=path, edits=[{"old": old, "new": new}])

    calls = (
        edit("src/a.py", "old", "new"),
        tool("fs_move", "1", path="src/a.py", to="src/deep/c.py"),
        edit("src/deep/c.py", "new", "newer"),
        MOVE_FOLDER,
        edit("lib/deep/c.py", "newer", "newest"),
        tool("fs_delete", "2", path="lib/deep/b.py"),
        tool("fs_move", "3", path="lib/deep", to="flat"),
        edit("flat/c.py", "newest", "last"),
    )
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/src/a.py": b"old\n", "/w/src/deep/b.py": b"b\n"}
        before = dict(host.actions.files)
        result, statuses = await host.run(*calls)
        assert statuses == ["ok"] * len(calls)
        after = dict(host.actions.files)
        assert after == {"/w/flat/c.py": b"last\n"}
        back = await reverter(host).revert(result.run_id)
        assert {each.status for each in back.files} == {"reverted"}
        assert host.actions.files == before
        again = await reverter(host).revert(back.run_id)
        assert {each.status for each in again.files} == {"reverted"}
        assert host.actions.files == after


@pytest.mark.parametrize("name", ["src/a.py", "lib/a.py"])
async def test_one_file_of_a_moved_directory_is_taken_back_where_it_is_now(
    tmp_path: Path, name: str
) -> None:
    edit = tool("fs_edit", "1", path="src/a.py", edits=[{"old": "old", "new": "new"}])
    gone = tool("fs_delete", "2", path="src/b.py")
    async with stage(tmp_path) as host:
        host.actions.files |= {f"/w/src/{each}.py": b"old\n" for each in "abc"}
        result, statuses = await host.run(edit, gone, MOVE_FOLDER)
        assert statuses == ["ok"] * 3
        uris = [f"file:///w/{name}", f"file:///w/{name.replace('a.py', 'b.py')}"]
        back = await reverter(host).revert(result.run_id, uris)
        assert {each.uri: each.status for each in back.files} == {
            "file:///w/lib/a.py": "reverted",
            "file:///w/lib/b.py": "reverted",
        }
        assert host.actions.files == {f"/w/lib/{each}.py": b"old\n" for each in "abc"}


async def test_what_has_the_old_name_by_now_is_not_taken_for_what_was_moved(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        result, _ = await host.run(BEFORE, MOVE)
        host.actions.files["/w/a.txt"] = b"new\n"
        back = await reverter(host).revert(result.run_id)
        assert {each.status for each in back.files if each.uri == "file:///w/a.txt"} == {"skipped"}
        assert host.actions.files == {"/w/a.txt": b"new\n", "/w/sub/b.txt": b"new\n"}
