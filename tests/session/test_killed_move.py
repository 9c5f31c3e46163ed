"""A host that is killed between any two steps of moves, or of their revert.

Everything is at its old or at its new place then, whole; the next host takes it back, or has it
again.
"""

from collections.abc import Sequence
from itertools import count
from posixpath import dirname

import pytest

from agent_host.core.actions import EditFile, MovePath, Replacement
from agent_host.core.uris import uri_to_path
from tests.session.test_killed import Call, Fate, MortalHost, World, ends

FILE = {"/w/a.txt": b"old\n"}
FOLDER = {"/w/src/a.py": b"old\n", "/w/src/deep/b.py": b"b\n"}


class Moving(World):
    """Where things are moved, by an editor that moves files itself if `by_editor`."""

    def __init__(self, files: dict[str, bytes], *, by_editor: bool) -> None:
        super().__init__()
        self.actions.files = dict(files)
        self.actions.folders = {dirname(path) for path in files} - {"/w"}
        self.editor.close("/w/open.txt")
        if by_editor:
            self.editor.open("/w/a.txt", "old\n")
            self.editor.moves, self.editor.on_move = "all", self._follow

    async def _follow(self, uri: str, to: str) -> bool:
        old, new = uri_to_path(uri), uri_to_path(to)
        document = self.editor.document(uri)
        assert old is not None
        assert new is not None
        assert document is not None
        await self.actions.move(old, new, identity=f"f:{old}")
        self.editor.close(old)
        self.editor.open(new, document.text)
        return True

    @property
    def state(self) -> tuple[dict[str, bytes], set[str], dict[str, str]]:
        shown = {each.path or "": each.text for each in self.editor.documents()}
        return dict(self.actions.files), set(self.actions.folders), shown


CASES: dict[str, tuple[dict[str, bytes], Sequence[Call], bool]] = {
    "a file": (FILE, (MovePath("/w/a.txt", "/w/sub/deep/b.txt"),), False),
    "a file twice": (
        FILE,
        (MovePath("/w/a.txt", "/w/b.txt"), MovePath("/w/b.txt", "/w/sub/c.txt")),
        False,
    ),
    "an open file": (FILE, (MovePath("/w/a.txt", "/w/sub/b.txt"),), True),
    "a directory": (FOLDER, (MovePath("/w/src", "/w/new/lib"),), False),
    "an edited file": (
        FILE,
        (
            EditFile("/w/a.txt", (Replacement("old", "new"),)),
            MovePath("/w/a.txt", "/w/sub/b.txt"),
            EditFile("/w/sub/b.txt", (Replacement("new", "newest"),)),
        ),
        False,
    ),
    "a directory with an edited file": (
        FOLDER,
        (
            EditFile("/w/src/a.py", (Replacement("old", "new"),)),
            MovePath("/w/src", "/w/lib"),
            EditFile("/w/lib/a.py", (Replacement("new", "newest"),)),
        ),
        False,
    ),
}


def made(case: str) -> tuple[Moving, Sequence[Call]]:
    files, calls, by_editor = CASES[case]
    return Moving(files, by_editor=by_editor), calls


def is_whole(world: Moving, files: dict[str, bytes]) -> bool:
    """Nothing is lost, and nothing is there twice."""
    texts = (b"old\n", b"new\n", b"newest\n")
    found = sorted(b"old" if data in texts else data for data in world.actions.files.values())
    return found == sorted(b"old" if data in texts else data for data in files.values())


@pytest.mark.parametrize("case", CASES)
async def test_killed_at_any_step_of_moves(case: str) -> None:
    for at in count():
        world, calls = made(case)
        before = world.state
        finished = await ends(MortalHost(world, Fate(at)).run(calls))
        assert is_whole(world, before[0]), (at, world.state)
        host = MortalHost(world, Fate())
        edits = await host.settler.run("r")
        assert all(edit.state in ("applied", "failed") for edit in edits), (at, edits)
        if "r" in world.shelf.runs:
            back = await host.reverter.revert("r")
            assert {file.status for file in back.files} <= {"reverted", "unchanged"}, (at, back)
        assert world.state == before, at
        if finished:
            break
    assert at > 4


@pytest.mark.parametrize("wanted", ["take back", "have again"])
@pytest.mark.parametrize("case", CASES)
async def test_killed_at_any_step_of_the_revert_of_moves(case: str, wanted: str) -> None:
    for at in count():
        world, calls = made(case)
        before = world.state
        await MortalHost(world, Fate()).run(calls)
        after = world.state
        assert after != before
        finished = await ends(MortalHost(world, Fate(at)).reverter.revert("r"))
        assert is_whole(world, before[0]), (at, world.state)
        host = MortalHost(world, Fate())
        last = list(world.shelf.runs)[-1]
        if wanted == "take back":
            await host.reverter.revert("r")
            assert world.state == before, at
        elif last != "r":
            await host.reverter.revert(last)
            assert world.state == after, at
        if finished:
            break
    assert at > 4
