"""A host that is killed between any two steps of several edits, or of their revert.

Each file is old or new then; the next host knows which, and takes all of it back, or has it again.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from agent_host.core.actions import (
    DeletePath,
    EditFile,
    FileChange,
    MovePath,
    Replacement,
    WriteFile,
)
from agent_host.core.document import BufferEdit, EditOutcome
from agent_host.core.model import RunResult, TextPart, Usage
from agent_host.core.records import EditRecord, EditState, RunRecord, SessionRecord
from agent_host.permissions.subject import Subject
from agent_host.session.changes import Changes
from agent_host.session.command_runner import CommandRunner
from agent_host.session.hands import Hands
from agent_host.session.judge import Judged
from agent_host.session.ledger import Ledger
from agent_host.session.present import Present
from agent_host.session.revert import Reverter
from agent_host.session.settling import Settler, told
from tests.fakes import FakeActions, FakeClock, FakeEditor
from tests.fakes_shelf import Shelf
from tests.fakes_store import MemoryStore
from tests.session.stage import asked, stage
from tests.session.test_compact import library

_Result = TypeVar("_Result")

BEFORE = {"/w/a.txt": b"old\n", "/w/open.txt": b"old\n", "/w/gone.txt": b"\x00bin"}
AFTER = {"/w/a.txt": b"new\n", "/w/open.txt": b"old\n", "/w/deep/er/made.txt": b"made\n"}
Call = FileChange | DeletePath | MovePath
CALLS: tuple[Call, ...] = (
    EditFile("/w/a.txt", (Replacement("old", "new"),)),
    EditFile("/w/open.txt", (Replacement("old", "new"),)),
    WriteFile("/w/deep/er/made.txt", "made\n"),
    DeletePath("/w/gone.txt"),
    DeletePath("/w/folder"),
)


class Killed(BaseException):
    """The host is gone."""


class Fate:
    """Kills the host at its n-th step; a step is killed before or after its effect."""

    def __init__(self, at: float = float("inf")) -> None:
        self.left = at

    async def step(self, effect: Callable[[], Awaitable[_Result]]) -> _Result:
        self._pass()
        result = await effect()
        self._pass()
        return result

    def _pass(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


class World:
    """What outlives the host: the disk, the trash, the editor and the store's file."""

    def __init__(self) -> None:
        self.actions = FakeActions(files=dict(BEFORE))
        self.actions.folders.add("/w/folder")
        self.actions.files["/w/folder/inside.txt"] = b"inside\n"
        self.editor = FakeEditor()
        self.editor.open("/w/open.txt", "old\n")
        self.shelf = Shelf()

    @property
    def files(self) -> dict[str, bytes]:
        return {k: v for k, v in self.actions.files.items() if not k.startswith("/w/folder/")}

    @property
    def shown(self) -> str:
        document = self.editor.document("/w/open.txt")
        assert document is not None
        return document.text

    def is_as_before(self) -> bool:
        folders = {"/w/folder"} | (self.actions.folders - {"/w/folder"})
        return (
            self.files == BEFORE
            and self.shown == "old\n"
            and self.actions.folders == folders == {"/w/folder"}
            and "/w/folder/inside.txt" in self.actions.files
        )

    def is_as_after(self) -> bool:
        return (
            self.files == AFTER
            and self.shown == "new\n"
            and self.actions.folders == {"/w/deep", "/w/deep/er"}
            and "/w/folder/inside.txt" not in self.actions.files
        )


class MortalHost:
    """One host in the world, with a fate."""

    def __init__(self, world: World, fate: Fate) -> None:
        self.world = world
        self.store = MortalStore(world.shelf, fate)
        self.actions = mortal(
            FakeActions, ("write", "create_directory", "delete", "restore", "move"), fate
        )(**vars(world.actions))
        self.editor = MortalEditor(world.editor, fate)
        clock, ids = FakeClock(), (f"{id(self)}-{n}" for n in count())
        self.new_id = lambda: next(ids)
        self.clock = clock
        self.reverter = Reverter(
            self.editor, self.actions, self.store, clock=clock, new_id=self.new_id
        )
        self.settler = Settler(Present(self.editor, self.actions), self.store)

    async def run(self, calls: Sequence[Call] = CALLS) -> None:
        self.store.open_session(SessionRecord("s", "coder", "m", "sdk", "w", 0.0, 0.0))
        prompt = (TextPart("go"),)
        self.store.start_run(RunRecord("r", "s", prompt, "coder", "m", "sdk", 0.0))
        ledger = Ledger(
            self.store, session_id="s", run_id="r", new_id=self.new_id, now=self.clock.now
        )
        changes = Changes(self.editor, self.actions, show=str, saves=lambda: False)
        commands = CommandRunner(
            self.editor,
            self.actions,
            overlays=lambda: False,
            prepare=lambda _: None,
            new_id=self.new_id,
        )
        hands = Hands(self.editor, self.actions, commands, show=str)
        for action in calls:
            facts = await self.actions.inspect(action.path)
            if isinstance(action, (DeletePath, MovePath)):
                judged = Judged(Subject("fs.delete", action.path, facts), None, None, "")
                await hands.perform(action, judged, ledger, None)
            else:
                await changes.make(await changes.plan(action, facts), ledger)


def mortal(kind: type, methods: tuple[str, ...], fate: Fate) -> type:
    def wrapped(name: str) -> Callable[..., Awaitable[object]]:
        async def method(self: object, *args: object, **kwargs: object) -> object:
            return await fate.step(lambda: getattr(kind, name)(self, *args, **kwargs))

        return method

    return type("Mortal", (kind,), {name: wrapped(name) for name in methods})


class MortalStore(MemoryStore):
    def __init__(self, shelf: Shelf, fate: Fate) -> None:
        # Each host comes long after the one before it has died.
        now = 1e6 * (1 + len(shelf.heartbeats))
        super().__init__(shelf, clock=lambda: now)
        self._fate = fate

    async def record_edit(
        self, edit: EditRecord, before: bytes | None, after: bytes | None
    ) -> bool:
        return await self._fate.step(
            lambda: super(MortalStore, self).record_edit(edit, before, after)
        )

    def update_edit(self, edit_id: str, state: EditState, *, trash_id: str | None = None) -> None:
        self._fate._pass()
        super().update_edit(edit_id, state, trash_id=trash_id)


class MortalEditor(FakeEditor):
    def __init__(self, world: FakeEditor, fate: Fate) -> None:
        super().__init__()
        self._documents = world._documents
        self.moves, self.on_move = world.moves, world.on_move
        self._fate = fate

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        return await self._fate.step(lambda: super(MortalEditor, self).apply(edit))

    async def move(self, uri: str, to: str) -> bool:
        return await self._fate.step(lambda: super(MortalEditor, self).move(uri, to))


async def ends(work: Awaitable[object]) -> bool:
    try:
        await work
    except Killed:
        return False
    return True


def each_is_old_or_new(world: World) -> bool:
    names = {*BEFORE, *AFTER}
    return all(world.files.get(each) in (BEFORE.get(each), AFTER.get(each)) for each in names)


async def test_killed_at_any_step_of_several_edits(tmp_path: Path) -> None:
    del tmp_path
    for at in count():
        world = World()
        finished = await ends(MortalHost(world, Fate(at)).run())
        assert each_is_old_or_new(world), at
        assert world.shown in ("old\n", "new\n")
        host = MortalHost(world, Fate())
        edits = await host.settler.run("r")
        assert all(edit.state in ("applied", "failed") for edit in edits), (at, edits)
        if "r" in world.shelf.runs:
            back = await host.reverter.revert("r")
            assert {file.status for file in back.files} <= {"reverted", "unchanged"}, (at, back)
        assert world.is_as_before(), (at, world.actions)
        if finished:
            break
    assert at > 20


@pytest.mark.parametrize("wanted", ["take back", "have again"])
async def test_killed_at_any_step_of_a_revert(wanted: str) -> None:
    for at in count():
        world = World()
        await MortalHost(world, Fate()).run()
        assert world.is_as_after()
        finished = await ends(MortalHost(world, Fate(at)).reverter.revert("r"))
        assert each_is_old_or_new(world), at
        host = MortalHost(world, Fate())
        last = list(world.shelf.runs)[-1]
        if wanted == "take back":
            await host.reverter.revert("r")
            assert world.is_as_before(), at
        elif last != "r":
            await host.reverter.revert(last)
            assert world.is_as_after(), at
        if finished:
            break
    assert at > 20


async def test_the_next_run_is_told_what_became_of_edits_that_were_cut_short(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"new\n", "/w/b.txt": b"old\n", "/w/c.txt": b"other\n"}
        prompt = (TextPart("go"),)
        host.store.start_run(RunRecord("r", "a", prompt, "coder", "m", "sdk", 0.0))
        host.store.end_run(RunResult("a", "r", "stopped", "", Usage()))
        ids = iter(("e1", "e2", "e3"))
        ledger = Ledger(
            host.store, session_id="a", run_id="r", new_id=lambda: next(ids), now=host.clock.now
        )
        for name in ("a", "b", "c"):
            await ledger.planned(f"file:///w/{name}.txt", b"old\n", b"new\n", open=False)
        # Who has looked at the session meanwhile has settled them; the model is told all the same.
        assert len(await library(host).cut_short("a")) == 3
        await host.manager.run(asked(session_id="a"))
        (part, _) = host.runtime.requests[-1].prompt
        assert isinstance(part, TextPart)
        assert part.text.splitlines()[1:-1] == [
            "- change file:///w/a.txt: made",
            "- change file:///w/b.txt: not made",
            "- change file:///w/c.txt: not known, read it",
        ]
        states = [edit.state for edit in await host.store.edits("r")]
        assert states == ["applied", "failed", "planned"]
        assert told(()) == ""
