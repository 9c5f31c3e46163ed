"""What is said to be saved is on the disk; what a person typed is never saved by us."""

from pathlib import Path

import pytest

from tests.session.stage import Stage, stage, tool
from tests.session.test_gate import COMMAND, results

EDIT = tool("fs_edit", "c1", path="a.txt", edits=[{"old": "old", "new": "new"}])
URI = "file:///w/a.txt"


def opened(host: Stage, *, disk: bytes = b"old\n", text: str = "old\n") -> None:
    host.editor.saves = True
    host.actions.files["/w/a.txt"] = disk
    host.editor.open("/w/a.txt", text)


async def edited(host: Stage) -> str:
    ((status, text),) = await results(host, EDIT)
    assert status == "ok"
    return text


async def test_a_save_that_wrote_nothing_is_not_believed(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host)
        host.editor.on_save = lambda _: None
        told = await edited(host)
        assert "says that it was saved, but the file on disk holds another text" in told
        assert host.actions.files["/w/a.txt"] == b"old\n"


@pytest.mark.parametrize("on_disk", [b"new\r\n", b"new", b"\xef\xbb\xbfnew\n"])
async def test_an_editors_own_endings_count_as_saved(tmp_path: Path, on_disk: bytes) -> None:
    async with stage(tmp_path) as host:
        opened(host)
        host.editor.on_save = lambda _: host.actions.files.update({"/w/a.txt": on_disk})
        assert "saved" not in await edited(host)


async def test_what_a_formatter_made_of_it_counts_as_saved(tmp_path: Path) -> None:
    def formats(_: str) -> None:
        host.editor.open("/w/a.txt", "NEW\n")
        host.actions.files["/w/a.txt"] = b"NEW\n"

    async with stage(tmp_path) as host:
        opened(host)
        host.editor.on_save = formats
        assert "saved" not in await edited(host)


async def test_a_file_that_changed_on_disk_meanwhile_is_not_saved_over(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host)

        def meddle() -> None:
            host.actions.files["/w/a.txt"] = b"pulled\n"

        host.editor.meddle = meddle
        assert "changed by somebody else" in await edited(host)
        assert host.editor.saved == []
        assert host.actions.files["/w/a.txt"] == b"pulled\n"


async def test_what_is_typed_during_the_edit_is_not_saved(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host)
        apply = host.editor.apply

        async def typed_after(edit):
            outcome = await apply(edit)
            host.editor.open("/w/a.txt", edit.after + "typed\n")
            return outcome

        host.editor.apply = typed_after
        assert "not saved yet" in await edited(host)
        assert host.editor.saved == []


async def test_a_command_is_told_of_files_that_were_not_really_saved(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host, text="typed\n")
        host.editor.on_save = lambda _: None
        ((_, told),) = await results(host, COMMAND)
        assert "saw these files without unsaved changes: /w/a.txt" in told
    async with stage(tmp_path) as host:
        opened(host, text="typed\n")
        ((_, told),) = await results(host, COMMAND)
        assert "unsaved" not in told
        assert host.actions.files["/w/a.txt"] == b"typed\n"
