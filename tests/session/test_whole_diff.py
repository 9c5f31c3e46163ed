"""At its end a run tells all that it changed as one diff, and names what is not in it."""

from collections.abc import Awaitable
from pathlib import Path

import pytest

from agent_host.core.actions import OmittedFile, RunDiff
from agent_host.core.events import Compared, Ended
from agent_host.core.permission import Answer, Question
from agent_host.session import whole_diff
from tests.fakes import FakeEditor, by_kind
from tests.session.stage import Stage, stage, tool

EDIT = tool("fs_edit", "c1", path="a.txt", edits=[{"old": "old", "new": "new"}])
AGAIN = tool("fs_edit", "c2", path="a.txt", edits=[{"old": "new", "new": "newest"}])
BACK = tool("fs_edit", "c3", path="a.txt", edits=[{"old": "new", "new": "old"}])
CREATE = tool("fs_write", "c4", path="made.txt", text="made\n")
DELETE = tool("fs_delete", "c5", path="gone.txt")


def told(host: Stage) -> list[Compared]:
    return [delta for delta in host.told() if isinstance(delta, Compared)]


async def test_all_changes_are_one_diff(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\r\nrest\n", "/w/gone.txt": b"gone\n"}
        result, _ = await host.run(EDIT, CREATE, AGAIN, DELETE)
        assert result.diff is not None
        assert result.diff.text == (
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-old\r\n+newest\r\n rest\n"
            "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+made\n"
            "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        )
        assert result.diff.omitted == ()
        assert told(host) == [Compared(result.diff.text)]
        assert [type(delta) for delta in host.told()[-2:]] == [Compared, Ended]
        assert (await host.store.run(result.run_id)).output == "Done."


@pytest.mark.parametrize("calls", [(), (tool("fs_read", path="a.txt"),), (EDIT, BACK)])
async def test_a_run_that_changed_nothing_has_no_diff(tmp_path: Path, calls: tuple) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        result, _ = await host.run(*calls)
        assert result.diff is None
        assert told(host) == []


async def test_what_a_person_typed_between_two_edits_is_not_in_it(tmp_path: Path) -> None:
    class Typing(FakeEditor):
        def files_changed(self, paths: object, *, left_open: object = ()) -> None:
            del paths, left_open
            self.open("/w/a.txt", "new\nby the user\n")

    async with stage(tmp_path, editor=Typing()) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.editor.open("/w/a.txt", "old\n")
        result, statuses = await host.run(EDIT, CREATE, AGAIN)
        assert statuses == ["ok", "ok", "ok"]
        assert result.diff is not None
        assert "+by the user" not in result.diff.text
        assert result.diff.text.count("+++ b/a.txt") == 2


async def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(60_000))
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/gone.txt": b"\x00bin", "/w/a.txt": b"old\n"}
        result, _ = await host.run(DELETE, tool("fs_write", path="long.txt", text=long), EDIT)
        assert result.diff is not None
        assert result.diff.text.startswith("--- a/a.txt")
        gone, too_long = result.diff.omitted
        binary = "this is a binary file: it holds zero bytes"
        assert gone == OmittedFile("file:///w/gone.txt", binary)
        assert too_long.uri == "file:///w/long.txt"
        assert too_long.reason.startswith("its diff is long: 708,9")


async def test_what_the_store_did_not_keep_is_named(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.store.shelf.blobs = _Nothing()
        result, _ = await host.run(EDIT)
        assert result.diff == RunDiff("", (OmittedFile("file:///w/a.txt", whole_diff._NOT_KEPT),))


class _Nothing(dict):
    def get(self, key: object, default: object = None) -> object:
        del key
        return default


async def test_a_run_that_was_stopped_tells_what_it_had_changed(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        allow, stop = by_kind("allowOnce"), by_kind("stop")

        def choose(question: Question) -> Answer | Awaitable[Answer]:
            return (stop if len(host.editor.questions) > 1 else allow)(question)

        host.editor.choose = choose
        result, _ = await host.run(EDIT, CREATE)
        assert result.status == "stopped"
        assert result.diff is not None
        assert "+new" in result.diff.text
