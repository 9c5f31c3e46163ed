"""Stores for tests: one maker for each kind, and short ways to put something into them."""

import itertools
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Literal

import pytest

from agent_host.core.events import Delta, Ended, NumberedDelta, Started, Text
from agent_host.core.model import Origin, PromptPart, RunResult, RunStatus, TextPart, Usage
from agent_host.core.records import (
    DeltaPage,
    RunRecord,
    SessionRecord,
    SessionStore,
    StoreProblem,
)
from agent_host.store import SqlStore
from agent_host.store.writer import Pace
from tests.fakes_shelf import Shelf
from tests.fakes_store import MemoryStore
from tests.postgres_cluster import Cluster, cluster

Kind = Literal["memory", "sqlite", "postgres"]
AGENT = Origin("agent", role="coder", model="openai/m", path=("coder",))
SOON = Pace(interval=0.02, patience=0.3, beat_seconds=3600.0)
"""Heartbeats come from the tests' own doing only."""


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Stores:
    """Makes stores that share what is stored, as several hosts do."""

    def __init__(self, kind: Kind, where: str | Path | None) -> None:
        self.kind = kind
        self.where = where
        self.clock = Clock()
        self.problems: list[StoreProblem] = []
        self._shelf = Shelf()
        self._open: list[SessionStore] = []
        self._machines = itertools.count()

    def host(self, *, log_folder: Path | None = None) -> SessionStore:
        """One more host, on a machine of its own: only its silence can tell that it is gone."""
        if self.where is None:
            store: SessionStore = MemoryStore(
                self._shelf, clock=self.clock, on_problem=self.problems.append
            )
        else:
            store = SqlStore(
                self.where,
                new_id=lambda: uuid.uuid4().hex,
                on_problem=self.problems.append,
                log_folder=lambda: log_folder,
                machine=f"machine {next(self._machines)}",
                clock=self.clock,
                pace=SOON,
            )
        self._open.append(store)
        return store

    async def close(self) -> None:
        for store in self._open:
            await store.close()


@pytest.fixture(scope="session")
def server() -> Iterator["LazyCluster"]:
    with ExitStack() as stack:
        yield LazyCluster(stack)


class LazyCluster:
    """A PostgreSQL server, started when a test first needs it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._cluster: Cluster | None = None

    def fresh(self) -> str:
        if self._cluster is None:
            starting: AbstractContextManager[Cluster] = cluster()
            self._cluster = self._stack.enter_context(starting)
        return self._cluster.fresh()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path, server: LazyCluster
) -> AsyncIterator[Stores]:
    kind: Kind = request.param
    where = {"memory": lambda: None, "sqlite": lambda: tmp_path / "state" / "sessions.db"}
    made = Stores(kind, where.get(kind, server.fresh)())
    yield made
    await made.close()


# ---- what is put in


def session(session_id: str, **changed: object) -> SessionRecord:
    values = {
        "session_id": session_id,
        "role": "coder",
        "model": "openai/m",
        "runtime": "sdk",
        "workspace": "w",
        "created": 1.0,
        "updated": 1.0,
        **changed,
    }
    return SessionRecord(**values)  # pyright: ignore


def run(
    run_id: str,
    session_id: str = "s1",
    prompt: str = "do it",
    parts: tuple[PromptPart, ...] = (),
    **changed: object,
) -> RunRecord:
    values = {
        "run_id": run_id,
        "session_id": session_id,
        "prompt": parts or (TextPart(prompt),),
        "role": "coder",
        "model": "openai/m",
        "runtime": "sdk",
        "started": 2.0,
        **changed,
    }
    return RunRecord(**values)  # pyright: ignore


def result(
    run_id: str, session_id: str = "s1", status: RunStatus = "completed", output: str = "done"
) -> RunResult:
    return RunResult(session_id, run_id, status, output, Usage(requests=1, cost_usd=0.5))


def numbered(
    run_id: str, deltas: Sequence[Delta], *, session_id: str = "s1", first: int = 1
) -> list[NumberedDelta]:
    return [
        NumberedDelta(session_id, run_id, seq, AGENT, delta)
        for seq, delta in enumerate(deltas, first)
    ]


def tell(store: SessionStore, run_id: str, deltas: Sequence[Delta], session_id: str = "s1") -> None:
    for delta in numbered(run_id, deltas, session_id=session_id):
        store.append(delta)


def whole_run(
    store: SessionStore, run_id: str, session_id: str = "s1", text: str = "hello", **of_run: object
) -> None:
    """A run from its beginning to its end, with one item remembered."""
    store.start_run(run(run_id, session_id, **of_run))
    deltas = [Started("coder", "openai/m", "sdk"), *map(Text, text), Ended("completed")]
    tell(store, run_id, deltas, session_id)
    store.remember(session_id, run_id, [{"said": text}])
    store.end_run(result(run_id, session_id, output=text))


# ---- what comes out


async def pages(store: SessionStore, session_id: str, limit: int) -> list[DeltaPage]:
    found = [await store.load(session_id, limit=limit)]
    while found[-1].more:
        found.append(await store.load(session_id, cursor=found[-1].cursor, limit=limit))
    return found


def spoken(found: Sequence[DeltaPage]) -> str:
    """All text, in order."""
    deltas = [stored.delta for page in found for stored in page.deltas]
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def assert_without_gap(found: Sequence[DeltaPage]) -> dict[str, int]:
    """Each run's numbers count up from 1; returns the last of each."""
    last: dict[str, int] = {}
    for page in found:
        for stored in page.deltas:
            assert stored.seq == last.get(stored.run_id, 0) + 1
            assert stored.through >= stored.seq
            last[stored.run_id] = stored.through
    return last
