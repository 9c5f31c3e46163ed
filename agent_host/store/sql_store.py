"""The store's port over SQLite or PostgreSQL: what runs on the event loop, which never waits here.

The database is opened, and its library imported, on the writer's thread with the first use. Not
here: any SQL.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent_host.core.errors import StoreFailed
from agent_host.core.events import NumberedDelta
from agent_host.core.model import JsonObject, RunResult
from agent_host.core.permission import Question
from agent_host.core.records import (
    DeltaPage,
    EditRecord,
    EditState,
    RunRecord,
    SessionPage,
    SessionQuery,
    SessionRecord,
    StoreProblem,
    TitleSource,
)
from agent_host.store import codec, transfer, writes
from agent_host.store.failure import DatabaseFailed
from agent_host.store.run_log import RunLogs
from agent_host.store.watch import Changed, Watcher
from agent_host.store.writer import Pace, Writer

if TYPE_CHECKING:
    from agent_host.store.target import OpenedStore

_Answer = TypeVar("_Answer")
_CLOSE_SECONDS = 10.0
_EXPORT_PAGE = 1_000


class SqlStore:
    """A SessionStore in a database. Make it on the event loop that uses it; close it in the end.

    `where` is an SQLite file or a URL, or says which on the first use. `on_problem` is called on
    the event loop. Each run has a JSON-lines file in `log_folder`, unless that gives None. The
    rest is for tests: see target.Place and writer.Pace.
    """

    def __init__(
        self,
        where: str | Path | Callable[[], str | Path],
        *,
        new_id: Callable[[], str],
        on_problem: Callable[[StoreProblem], None],
        log_folder: Callable[[], Path | None] = lambda: None,
        machine: str | None = None,
        clock: Callable[[], float] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_problem = on_problem
        self._now = clock or time.time
        logs = RunLogs(log_folder, self._report)
        host_id = new_id()

        def connect() -> "OpenedStore":
            from agent_host.store.target import OpenedStore, Place

            place = where() if callable(where) else where
            return OpenedStore(Place(place, host_id, new_id, machine, clock))

        self._writer: Writer[OpenedStore] = Writer(
            connect, self._report, pace or Pace(), see=logs.add
        )
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="store-reader")

    async def opened(self) -> None:
        """Open the store now; raises StoreFailed. Without this the first use opens it."""
        await self._opened()

    # ---- as it happens

    def open_session(self, session: SessionRecord) -> None:
        """See SessionStore."""
        self._writer.put(writes.OpenSession(session))

    def update_session(
        self,
        session_id: str,
        *,
        role: str | None = None,
        model: str | None = None,
        runtime: str | None = None,
    ) -> None:
        """See SessionStore."""
        self._writer.put(writes.UpdateSession(session_id, role, model, runtime))

    def start_run(self, run: RunRecord) -> None:
        """See SessionStore."""
        self._writer.put(writes.StartRun(run))

    def append(self, delta: NumberedDelta) -> None:
        """See SessionStore."""
        self._writer.put(writes.Append(delta, self._now()))

    def remember(
        self,
        session_id: str,
        run_id: str | None,
        items: Sequence[JsonObject],
        *,
        boundary: bool = False,
    ) -> None:
        """See SessionStore."""
        # Encoded now: a runtime may go on changing what it has handed over.
        texts = tuple(codec.encode(item) for item in items)
        self._writer.put(writes.Remember(session_id, run_id, texts, boundary))

    def ask(self, question: Question) -> None:
        """See SessionStore."""
        self._writer.put(writes.Ask(question, self._now()))

    def settle(self, run_id: str, call_id: str) -> None:
        """See SessionStore."""
        self._writer.put(writes.Settle(run_id, call_id))

    def grant(self, session_id: str, grant: JsonObject) -> None:
        """See SessionStore."""
        self._writer.put(writes.AddGrant(session_id, grant, self._now()))

    def update_edit(self, edit_id: str, state: EditState, *, trash_id: str | None = None) -> None:
        """See SessionStore."""
        self._writer.put(writes.UpdateEdit(edit_id, state, trash_id))

    def end_run(self, result: RunResult) -> None:
        """See SessionStore."""
        self._writer.put(writes.EndRun(result, self._now()))

    def release(self, session_id: str) -> None:
        """See SessionStore."""
        self._writer.put(writes.Release(session_id))

    def is_stored(self, run_id: str) -> bool:
        """See SessionStore."""
        return self._writer.is_whole(run_id)

    async def record_edit(
        self, edit: EditRecord, before: bytes | None, after: bytes | None
    ) -> bool:
        """See SessionStore."""
        try:
            await self._change(lambda store: store.record_edit(edit, before, after))
        except StoreFailed:
            self._writer.break_off(edit.run_id, "an edit of it could not be stored")
            return False
        return True

    # ---- what is there

    async def session(self, session_id: str) -> SessionRecord:
        """See SessionStore."""
        return await self._read(lambda store: store.session(session_id))

    async def sessions(self, query: SessionQuery) -> SessionPage:
        """See SessionStore."""
        return await self._read(lambda store: store.sessions(query))

    async def run(self, run_id: str) -> RunRecord:
        """See SessionStore."""
        return await self._read(lambda store: store.run(run_id))

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """See SessionStore."""
        return await self._read(lambda store: store.runs(session_id))

    async def load(
        self, session_id: str, *, cursor: str | None = None, limit: int = 200
    ) -> DeltaPage:
        """See SessionStore."""
        return await self._read(lambda store: store.load(session_id, cursor, limit))

    async def place(self, session_id: str, run_id: str, seq: int) -> str:
        """See SessionStore."""
        return await self._read(lambda store: store.place(session_id, run_id, seq))

    async def history(self, session_id: str) -> tuple[JsonObject, ...]:
        """See SessionStore."""
        return await self._read(lambda store: store.history(session_id))

    async def questions(self, session_id: str) -> tuple[Question, ...]:
        """See SessionStore."""
        return await self._read(lambda store: store.questions(session_id))

    async def grants(self, session_id: str) -> tuple[JsonObject, ...]:
        """See SessionStore."""
        return await self._read(lambda store: store.grants(session_id))

    async def edits(self, run_id: str) -> tuple[EditRecord, ...]:
        """See SessionStore."""
        return await self._read(lambda store: store.edits(run_id))

    async def contents(self, sha256: str) -> bytes | None:
        """See SessionStore."""
        return await self._read(lambda store: store.contents(sha256))

    # ---- changes with an answer

    async def rename(self, session_id: str, title: str, *, by: TitleSource = "user") -> bool:
        """See SessionStore."""
        return await self._change(lambda store: store.rename(session_id, title, by))

    async def delete(self, session_id: str) -> None:
        """See SessionStore."""
        await self._change(lambda store: store.delete(session_id))

    async def fork(
        self, session_id: str, new_session_id: str, *, at_run: str | None = None
    ) -> SessionRecord:
        """See SessionStore."""
        at = self._now()
        return await self._change(lambda s: s.fork(session_id, new_session_id, at_run, at))

    async def export(self, session_id: str) -> AsyncIterator[str]:
        """See SessionStore."""
        count = 0
        yield transfer.session_line(await self.session(session_id))
        for run in await self.runs(session_id):
            yield transfer.run_line(run)
            count += 1
        cursor, more = None, True
        while more:
            page = await self.load(session_id, cursor=cursor, limit=_EXPORT_PAGE)
            cursor, more = page.cursor, page.more
            for delta in page.deltas:
                yield transfer.delta_line(delta)
                count += 1
        for item in await self._read(lambda store: store.history_items(session_id)):
            yield transfer.history_line(item)
            count += 1
        yield transfer.end_line(count + 1)

    async def import_session(self, lines: Iterable[str]) -> SessionRecord:
        """See SessionStore."""
        exported = await self._loop.run_in_executor(self._readers, transfer.read, lines)
        return await self._change(lambda store: store.add_exported(exported))

    # ---- several hosts

    async def acquire(self, session_id: str) -> bool:
        """See SessionStore."""
        return await self._change(lambda store: store.acquire(session_id))

    async def renew(self) -> frozenset[str]:
        """See SessionStore."""
        return await self._change(lambda store: store.renew())

    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[AsyncIterator[str], None]:
        """See SessionStore."""
        store = await self._opened()
        source = await self._read(lambda opened: opened.open_source())
        changed = Changed()
        watcher = Watcher(source, store.open_source, changed.deliver)
        try:
            yield changed
        finally:
            watcher.stop()
            await asyncio.to_thread(watcher.join)

    async def flush(self) -> None:
        """See SessionStore."""
        await asyncio.wrap_future(self._writer.pause())

    async def close(self) -> None:
        """See SessionStore."""
        thread = self._writer.close()
        if thread is not None:
            await asyncio.to_thread(thread.join, _CLOSE_SECONDS)
        self._readers.shutdown(wait=False)

    # ---- threads

    async def _opened(self) -> "OpenedStore":
        """The opened store, once everything queued so far is in it; raises StoreFailed."""
        return await self._change(lambda store: store)

    async def _change(self, work: "Callable[[OpenedStore], _Answer]") -> _Answer:
        """Do `work` on the writer's thread, after everything queued so far."""
        return await asyncio.wrap_future(self._writer.call(work))

    async def _read(self, work: "Callable[[OpenedStore], _Answer]") -> _Answer:
        """Do `work` on a reader's thread, which sees everything queued so far."""
        store = await self._opened()

        def read() -> _Answer:
            try:
                return work(store)
            except DatabaseFailed as error:
                raise error.for_user() from error

        return await self._loop.run_in_executor(self._readers, read)

    def _report(self, problem: StoreProblem) -> None:
        """Tell of a problem, from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._on_problem, problem)
        except RuntimeError:
            # The loop has ended: there is nobody left to tell.
            return
