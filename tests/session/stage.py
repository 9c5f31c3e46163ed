"""Everything around a session, with fakes at the ports: the real manager, gate and engine."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType

from agent_host.core.actions import Command, RunCommand
from agent_host.core.events import Delta, Ended, Logged
from agent_host.core.model import Limits, Role, RunRequest, RunResult, TextPart, ToolCall
from agent_host.core.records import SessionRecord, StoreProblem
from agent_host.credentials import Credentials
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.subject import Policy
from agent_host.permissions.trust import TrustBook
from agent_host.roles import RoleShelf
from agent_host.session.asker import Asker
from agent_host.session.changes import Changes
from agent_host.session.command_runner import CommandRunner
from agent_host.session.hands import Hands
from agent_host.session.judge import Judge
from agent_host.session.long_results import LongResults
from agent_host.session.manager import SessionManager
from agent_host.session.planner import Planner
from agent_host.session.present import Present
from agent_host.session.settling import Settler
from agent_host.session.staff import Staff
from agent_host.settings import Settings
from agent_host.store.results import ResultFiles
from agent_host.tools import DIAGNOSTICS
from tests.fakes import (
    FakeActions,
    FakeClock,
    FakeEditor,
    FakeGuidance,
    FakeServers,
    ScriptedRuntime,
    Story,
    answering,
)
from tests.fakes_shelf import Shelf
from tests.fakes_store import MemoryStore

ROOT = "/w"
KNOWN = ("a", "b", "s", "one", "two")
"""Sessions that an earlier host has kept."""
ALL_SKILLS = frozenset({"fs.read", "fs.write", "fs.delete", "terminal", "editor.open"})


def role(name: str = "coder", **changed: object) -> Role:
    """A role that may do everything unless said otherwise."""
    made = Role(name, f"The {name}.", "Be brief.", f"/roles/{name}.md", "0" * 64, skills=ALL_SKILLS)
    return replace(made, **changed)  # type: ignore[arg-type]


def tool(name: str, call_id: str = "c1", **arguments: object) -> ToolCall:
    return ToolCall(call_id, name, arguments)


class TrustInMemory(TrustBook):
    """Trust in folders that exist in these tests only."""

    def __init__(self, state: Path, clock: Callable[[], float]) -> None:
        super().__init__(state, clock, lambda _: ())
        self.roots: set[str] = set()
        self.broken = False

    def trusted(self, root: str) -> bool:
        return root in self.roots

    def trust(self, root: str, starts: Collection[str]) -> None:
        del starts
        if self.broken:
            raise OSError("the disk is full")
        self.roots.add(root)


@dataclass
class Stage:
    """A host without its edge. Change a field before the run that it matters to."""

    tasks: asyncio.TaskGroup
    state: Path
    editor: FakeEditor = field(default_factory=FakeEditor)
    actions: FakeActions = field(default_factory=FakeActions)
    clock: FakeClock = field(default_factory=FakeClock)
    runtime: ScriptedRuntime = field(default_factory=lambda: ScriptedRuntime(answering("Done.")[0]))
    roles: tuple[Role, ...] = (role(),)
    settings: Settings = field(default_factory=lambda: Settings(model="scripted/x"))
    trusted: bool = True
    overlays: bool = False
    more_runtimes: tuple[str, ...] = ()
    guidance: FakeGuidance = field(default_factory=FakeGuidance)
    servers: FakeServers = field(default_factory=FakeServers)
    shelf: Shelf = field(default_factory=Shelf)
    name: str = ""

    def __post_init__(self) -> None:
        ids = count(1)
        self.store = MemoryStore(self.shelf, on_problem=self._heed)
        self.editor.on_save = self._write_saved
        self.grants = GrantBook(self.state, self.clock.now, lambda: f"g{next(ids)}")
        self.trust = TrustInMemory(self.state, self.clock.now)
        commands = CommandRunner(
            self.editor,
            self.actions,
            overlays=lambda: self.overlays,
            prepare=_as_script,
            new_id=lambda: f"nonce{next(ids)}",
        )
        staff = Staff(
            editor=self.editor,
            store=self.store,
            judge=Judge(self.editor, self.actions, roots=lambda: (ROOT,), policy=self._policy),
            changes=Changes(
                self.editor,
                self.actions,
                show=lambda path: path.removeprefix(ROOT + "/"),
                saves=lambda: self.settings.save == "clean",
            ),
            hands=Hands(
                self.editor,
                self.actions,
                commands,
                show=lambda path: path.removeprefix(ROOT + "/"),
            ),
            long_results=LongResults(ResultFiles(self.state, lambda: f"r{next(ids)}")),
            planner=Planner(
                settings=lambda: self.settings,
                roles=self._shelf,
                credentials=lambda: Credentials(()),
                roots=lambda: (ROOT,),
                runtimes=lambda: ("sdk", *self.more_runtimes),
                today=lambda: "2026-01-01",
                guidance=self.guidance,
                missing_tools=lambda: frozenset(() if self.editor.shows_wrong else (DIAGNOSTICS,)),
            ),
            asker=lambda session_id: Asker(
                session_id,
                self.editor,
                self.store,
                self.grants,
                self.trust,
                ignored=lambda _: ("a role",),
                may_trust=lambda: self.settings.trust == "ask",
            ),
            runtime=self._runtime,
            clock=self.clock,
            new_id=lambda: f"{self.name}id{next(ids)}",
            workspace=lambda: hashlib.sha256(ROOT.encode()).hexdigest(),
            show=lambda path: path.removeprefix(ROOT + "/"),
            settler=Settler(Present(self.editor, self.actions), self.store),
            servers=self.servers,
        )
        self.manager = SessionManager(staff, self.tasks)

    async def run(self, *calls: ToolCall, **request: object) -> tuple[RunResult, list[str]]:
        """A run in which the model makes these calls; its result, and the calls' statuses."""
        story, results = answering("Done.", *calls)
        self.runtime.story = story
        result = await self.manager.run(asked(**request))
        return result, [each.status for each in results]

    def plays(self, story: Story) -> None:
        """What the runtime does in the next runs."""
        self.runtime.story = story

    def told(self, run_id: str | None = None) -> list[Delta]:
        """The deltas of a run (or all), but for the log of decisions."""
        return [
            each.delta
            for each in self.editor.deltas
            if (run_id is None or each.run_id == run_id) and not isinstance(each.delta, Logged)
        ]

    def ended(self) -> list[str]:
        return [delta.status for delta in self.told() if isinstance(delta, Ended)]

    def _heed(self, problem: StoreProblem) -> None:
        self.manager.heed(problem)

    async def _shelf(self) -> RoleShelf:
        return RoleShelf(MappingProxyType({each.name: each for each in self.roles}))

    async def _runtime(self, name: str) -> ScriptedRuntime:
        assert name in ("sdk", *self.more_runtimes)
        return self.runtime

    def _write_saved(self, uri: str) -> None:
        """The editor writes what it was asked to save."""
        document = self.editor.document(uri)
        assert document is not None
        assert document.path is not None
        self.actions.files[document.path] = document.text.encode()

    def _policy(self, of: Role, session_id: str, root: str) -> Policy:
        return Policy(
            role=of,
            roots=(ROOT,),
            trusted=self.trusted or self.trust.trusted(root),
            user_rules=self.settings.rules,
            grants=self.grants.view(session_id, (ROOT,)),
            sandbox="none",
        )


@asynccontextmanager
async def stage(state: Path, **fields: object) -> AsyncIterator[Stage]:
    """A stage whose runs are all over in the end."""
    async with asyncio.TaskGroup() as tasks:
        made = Stage(tasks, state, **fields)  # type: ignore[arg-type]
        for name in KNOWN:
            made.store.open_session(
                SessionRecord(name, "coder", "scripted/x", "sdk", "w", 0.0, 0.0)
            )
            made.store.release(name)
        yield made
        await made.manager.close()
        assert len(made.ended()) == sum(type(delta).__name__ == "Started" for delta in made.told())


def asked(prompt: str = "Do it.", **request: object) -> RunRequest:
    return RunRequest((TextPart(prompt),), **request)  # type: ignore[arg-type]


def limits(**given: float) -> Limits:
    return Limits(**given)  # type: ignore[arg-type]


def _as_script(action: RunCommand) -> Command:
    return Command(action.cwd, script=action.command, timeout=action.timeout)
