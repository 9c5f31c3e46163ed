"""A SessionStore in memory, for tests of what uses one. It passes the real ones' contract tests.

Several MemoryStores over one Shelf are several hosts over one database.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256

from agent_host.core.errors import InvalidRequest, RunNotFound, SessionBusy, SessionNotFound
from agent_host.core.events import NumberedDelta
from agent_host.core.model import JsonObject, RunResult
from agent_host.core.permission import Question
from agent_host.core.records import (
    DeltaPage,
    EditRecord,
    EditState,
    RunRecord,
    SessionEntry,
    SessionPage,
    SessionQuery,
    SessionRecord,
    StoredDelta,
    StoredStatus,
    StoreProblem,
    TitleSource,
)
from agent_host.store import transfer
from agent_host.store.transfer import HistoryItem
from tests.fakes_shelf import Ids, Shelf


class MemoryStore:
    def __init__(
        self,
        shelf: Shelf | None = None,
        *,
        clock: Callable[[], float] = lambda: 0.0,
        on_problem: Callable[[StoreProblem], None] = lambda problem: None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.shelf = Shelf() if shelf is None else shelf
        self._clock = clock
        self._on_problem = on_problem
        self._new_id = new_id
        self._host = new_id()
        self._broken: set[str] = set()
        self.shelf.heartbeats[self._host] = clock()
        self.shelf.bury(clock())

    # ---- as it happens

    def open_session(self, session: SessionRecord) -> None:
        if session.session_id not in self.shelf.sessions:
            self.shelf.sessions[session.session_id] = session
            self._take(session.session_id)
            self._touch(session.session_id)

    def update_session(
        self,
        session_id: str,
        *,
        role: str | None = None,
        model: str | None = None,
        runtime: str | None = None,
    ) -> None:
        found = self.shelf.sessions.get(session_id)
        named = {"role": role, "model": model, "runtime": runtime}
        if found is not None:
            values = {name: value for name, value in named.items() if value is not None}
            self.shelf.sessions[session_id] = replace(found, **values)
            self._touch(session_id)

    def start_run(self, run: RunRecord) -> None:
        known = run.session_id in self.shelf.sessions and run.run_id not in self.shelf.runs
        if not known or self._take(run.session_id) == "refused":
            self._lose(run.run_id)
            return
        self.shelf.runs[run.run_id] = run
        self.shelf.runners[run.run_id] = self._host
        self.shelf.deltas[run.run_id] = []
        self._renew_session(run.session_id, run.started)

    def append(self, delta: NumberedDelta) -> None:
        if self._may_write(delta.run_id):
            self.shelf.deltas[delta.run_id].append(
                StoredDelta(
                    session_id=delta.session_id,
                    run_id=delta.run_id,
                    seq=delta.seq,
                    through=delta.seq,
                    origin=delta.origin,
                    delta=delta.delta,
                    at=self._clock(),
                )
            )
            self._touch(delta.session_id)

    def remember(
        self,
        session_id: str,
        run_id: str | None,
        items: Sequence[JsonObject],
        *,
        boundary: bool = False,
    ) -> None:
        if run_id is not None and not self._may_write(run_id):
            return
        kept = self.shelf.history.setdefault(session_id, [])
        bodies: list[JsonObject | None] = [*items] or ([None] if boundary else [])
        kept += [
            HistoryItem(run_id, boundary and index == 0, body) for index, body in enumerate(bodies)
        ]

    def ask(self, question: Question) -> None:
        if self._may_write(question.run_id):
            self.shelf.questions[question.run_id, question.call_id] = question
            self._touch(question.session_id)

    def settle(self, run_id: str, call_id: str) -> None:
        self.shelf.questions.pop((run_id, call_id), None)

    def grant(self, session_id: str, grant: JsonObject) -> None:
        self.shelf.grants.setdefault(session_id, []).append(grant)

    def update_edit(self, edit_id: str, state: EditState, *, trash_id: str | None = None) -> None:
        edit = self.shelf.edits[edit_id]
        trash_id = edit.trash_id if trash_id is None else trash_id
        self.shelf.edits[edit_id] = replace(edit, state=state, trash_id=trash_id)

    def end_run(self, result: RunResult) -> None:
        if not self._may_write(result.run_id):
            return
        self.shelf.runs[result.run_id] = replace(
            self.shelf.runs[result.run_id],
            status=result.status,
            ended=self._clock(),
            usage=result.usage,
            output=result.output,
            edits=result.edits,
            failure=result.failure,
            limit=result.limit,
            reason=result.reason,
        )
        for key in [key for key in self.shelf.questions if key[0] == result.run_id]:
            del self.shelf.questions[key]
        self._renew_session(result.session_id, self._clock())

    def release(self, session_id: str) -> None:
        if self.shelf.leases.get(session_id) == self._host:
            self.shelf.leases[session_id] = f"-{self._host}"
            self._touch(session_id)

    def is_stored(self, run_id: str) -> bool:
        return run_id not in self._broken

    async def record_edit(
        self, edit: EditRecord, before: bytes | None, after: bytes | None
    ) -> bool:
        if edit.run_id not in self.shelf.runs:
            self._lose(edit.run_id)
            return False
        for data, name in ((before, edit.before_sha256), (after, edit.after_sha256)):
            if data is not None:
                self.shelf.blobs[sha256(data).hexdigest()] = data
                assert name in self.shelf.blobs
        self.shelf.edits[edit.edit_id] = edit
        self._touch(edit.session_id)
        return True

    async def opened(self) -> None:
        return

    # ---- what is there

    async def session(self, session_id: str) -> SessionRecord:
        return self._session(session_id)

    async def sessions(self, query: SessionQuery) -> SessionPage:
        found = sorted(
            (
                session
                for session in self.shelf.sessions.values()
                if self.shelf.fits(session, query)
            ),
            key=lambda session: (session.updated, session.session_id),
            reverse=True,
        )
        begin = 0
        if query.cursor is not None:
            ids = [session.session_id for session in found]
            begin = ids.index(_word(query.cursor, "list")) + 1
        shown = found[begin : begin + query.limit]
        more = len(found) > begin + query.limit
        cursor = f"list/{shown[-1].session_id}" if more else None
        return SessionPage(tuple(self._entry(session) for session in shown), cursor)

    async def run(self, run_id: str) -> RunRecord:
        if run_id not in self.shelf.runs:
            raise RunNotFound("There is no run of that id.", runId=run_id)
        return self._true(self.shelf.runs[run_id])

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        self._session(session_id)
        return tuple(self._true(run) for run in self._runs(session_id))

    async def load(
        self, session_id: str, *, cursor: str | None = None, limit: int = 200
    ) -> DeltaPage:
        self._session(session_id)
        begin = (0, 0) if cursor is None else _numbers(cursor)
        deltas, begun, (run_number, number), more = self.shelf.page(session_id, begin, limit)
        started = tuple(self._true(run) for run in begun)
        return DeltaPage(tuple(deltas), started, f"load/{run_number}.{number}", more)

    async def place(self, session_id: str, run_id: str, seq: int) -> str:
        self._session(session_id)
        ids = [run.run_id for run in self._runs(session_id)]
        if run_id not in ids:
            raise RunNotFound("The session has no run of that id.", runId=run_id)
        known = sum(delta.seq <= seq for delta in self.shelf.deltas[run_id])
        return f"load/{ids.index(run_id) + 1}.{known}"

    async def history(self, session_id: str) -> tuple[JsonObject, ...]:
        self._session(session_id)
        items = self.shelf.history.get(session_id, [])
        begins = [index for index, item in enumerate(items) if item.boundary]
        since = items[begins[-1] if begins else 0 :]
        return tuple(item.body for item in since if item.body is not None)

    async def questions(self, session_id: str) -> tuple[Question, ...]:
        self._session(session_id)
        return tuple(q for q in self.shelf.questions.values() if q.session_id == session_id)

    async def grants(self, session_id: str) -> tuple[JsonObject, ...]:
        self._session(session_id)
        return tuple(self.shelf.grants.get(session_id, ()))

    async def edits(self, run_id: str) -> tuple[EditRecord, ...]:
        return tuple(edit for edit in self.shelf.edits.values() if edit.run_id == run_id)

    async def contents(self, sha256: str) -> bytes | None:
        return self.shelf.blobs.get(sha256)

    # ---- changes with an answer

    async def rename(self, session_id: str, title: str, *, by: TitleSource = "user") -> bool:
        found = self._session(session_id)
        if found.title_by == "user" and by != "user":
            return False
        self.shelf.sessions[session_id] = replace(found, title=title, title_by=by)
        self._touch(session_id)
        return True

    async def delete(self, session_id: str) -> None:
        self._session(session_id)
        if self._elsewhere(session_id):
            raise SessionBusy("The session is open in another editor.", sessionId=session_id)
        self.shelf.remove(session_id)
        self._touch(session_id)

    async def fork(
        self, session_id: str, new_session_id: str, *, at_run: str | None = None
    ) -> SessionRecord:
        found = self._session(session_id)
        copied = self._up_to(session_id, at_run)
        if new_session_id in self.shelf.sessions:
            raise InvalidRequest("The fork's session id is taken: choose another.")
        now = self._clock()
        forked = replace(
            found,
            session_id=new_session_id,
            created=now,
            updated=now,
            parent_session=session_id,
            parent_run=copied[-1].run_id if copied else None,
        )
        self.shelf.sessions[new_session_id] = forked
        self.shelf.copy_runs([self._true(run) for run in copied], forked, self._new_id)
        return forked

    async def export(self, session_id: str) -> AsyncIterator[str]:
        runs = self._runs(session_id)
        deltas = [delta for run in runs for delta in self.shelf.deltas[run.run_id]]
        history = self.shelf.history.get(session_id, [])
        true = [self._true(run) for run in runs]
        for line in transfer.lines_of(self._session(session_id), true, deltas, history):
            yield line

    async def import_session(self, lines: Iterable[str]) -> SessionRecord:
        session = self.shelf.add_exported(transfer.read(lines), self._new_id)
        self._touch(session.session_id)
        return session

    # ---- several hosts

    async def acquire(self, session_id: str) -> bool:
        self._session(session_id)
        hold = self._take(session_id)
        if hold == "refused":
            raise SessionBusy("It is elsewhere.", sessionId=session_id, elsewhere=True)
        self._touch(session_id)
        return hold == "still"

    async def renew(self) -> frozenset[str]:
        self.shelf.heartbeats[self._host] = self._clock()
        return frozenset(key for key, host in self.shelf.leases.items() if host == self._host)

    @asynccontextmanager
    async def watch(self):
        queue: asyncio.Queue[str] = asyncio.Queue()
        entry = (self._host, queue)
        self.shelf.watchers.append(entry)
        try:
            yield Ids(queue)
        finally:
            self.shelf.watchers.remove(entry)

    async def flush(self) -> None:
        return

    async def close(self) -> None:
        self.shelf.heartbeats.pop(self._host, None)
        self.shelf.bury(self._clock())

    # ---- hosts

    def _take(self, session_id: str) -> str:
        self.shelf.heartbeats[self._host] = self._clock()
        return self.shelf.take(session_id, self._host, self._clock())

    def _elsewhere(self, session_id: str) -> bool:
        return self.shelf.elsewhere(session_id, self._host, self._clock())

    def _may_write(self, run_id: str) -> bool:
        self.shelf.heartbeats[self._host] = self._clock()
        mine = run_id in self.shelf.runs and self.shelf.runners.get(run_id) == self._host
        if not mine or self.shelf.runs[run_id].status == "interrupted":
            self._lose(run_id)
        return self.is_stored(run_id)

    def _lose(self, run_id: str) -> None:
        if run_id not in self._broken:
            self._broken.add(run_id)
            message = "A session is not stored whole: another host has taken the session over."
            self._on_problem(StoreProblem("lost", message, (run_id,)))

    # ---- looking up

    def _session(self, session_id: str) -> SessionRecord:
        if session_id not in self.shelf.sessions:
            raise SessionNotFound("There is no session of that id.", sessionId=session_id)
        return self.shelf.sessions[session_id]

    def _runs(self, session_id: str) -> list[RunRecord]:
        return self.shelf.runs_of(session_id)

    def _true(self, run: RunRecord) -> RunRecord:
        return replace(run, status=self._status(run))

    def _status(self, run: RunRecord) -> StoredStatus:
        lives = self.shelf.lives(self.shelf.runners.get(run.run_id), self._clock())
        return "interrupted" if run.status == "running" and not lives else run.status

    def _up_to(self, session_id: str, at_run: str | None) -> list[RunRecord]:
        runs = self._runs(session_id)
        if at_run is None:
            while runs and self._status(runs[-1]) == "running":
                runs.pop()
            return runs
        ids = [run.run_id for run in runs]
        if at_run not in ids:
            raise RunNotFound("The session has no run of that id.", runId=at_run)
        if self._status(self.shelf.runs[at_run]) == "running":
            raise InvalidRequest("runId: that run has not ended yet; wait for it or stop it.")
        return runs[: ids.index(at_run) + 1]

    def _entry(self, session: SessionRecord) -> SessionEntry:
        runs = self._runs(session.session_id)
        asked = [q for q in self.shelf.questions.values() if q.session_id == session.session_id]
        return SessionEntry(
            session=session,
            runs=len(runs),
            status=self._status(runs[-1]) if runs else None,
            elsewhere=self._elsewhere(session.session_id),
            questions=len(asked),
        )

    def _renew_session(self, session_id: str, at: float) -> None:
        found = self.shelf.sessions[session_id]
        self.shelf.sessions[session_id] = replace(found, updated=max(found.updated, at))
        self._touch(session_id)

    def _touch(self, session_id: str) -> None:
        for host, queue in self.shelf.watchers:
            if host != self._host:
                queue.put_nowait(session_id)


def _word(cursor: str, kind: str) -> str:
    found, _, word = cursor.partition("/")
    if found != kind:
        raise InvalidRequest("cursor: take it from the answer before, unchanged.")
    return word


def _numbers(cursor: str) -> tuple[int, int]:
    run_number, _, number = _word(cursor, "load").partition(".")
    return int(run_number), int(number)
