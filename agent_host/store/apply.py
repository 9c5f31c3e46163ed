"""What each write does to the tables, inside one transaction for a batch.

A run that this host does not own any more is left alone and reported as lost. Deltas come last,
merged into rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from sqlalchemy import Connection, delete, insert, select, update

from agent_host.core.events import NumberedDelta
from agent_host.core.model import RunResult
from agent_host.core.records import RunRecord, SessionRecord
from agent_host.store import codec
from agent_host.store.edit_rows import update_edit
from agent_host.store.engine import Database
from agent_host.store.merge import Row, merged
from agent_host.store.ownership import Ownership
from agent_host.store.rows import next_in, next_number, run_values, session_values
from agent_host.store.schema import events, grants, history, questions, runs, sessions
from agent_host.store.writes import (
    AddGrant,
    Append,
    Ask,
    EndRun,
    OpenSession,
    Release,
    Remember,
    Settle,
    StartRun,
    UpdateEdit,
    UpdateSession,
    Write,
    run_of,
)

_IDS_AT_ONCE = 500


class Batch:
    """One transaction's writes. `tails` are the last rows of runs as they were before it."""

    def __init__(
        self,
        connection: Connection,
        database: Database,
        ownership: Ownership,
        tails: Mapping[str, Row],
    ) -> None:
        self.lost: set[str] = set()
        self.tails = dict(tails)
        self._connection = connection
        self._database = database
        self._ownership = ownership
        self._touched: set[str] = set()
        self._deltas: dict[str, list[tuple[NumberedDelta, float]]] = {}
        self._positions: dict[str, int] = {}

    def apply(self, writes: Sequence[Write]) -> None:
        """Do all of them."""
        self._fence(writes)
        for write in writes:
            if run_of(write) not in self.lost:
                self._one(write)
        for run_id, deltas in self._deltas.items():
            self._add_rows(run_id, deltas)
        for write in writes:
            if isinstance(write, EndRun):
                self.tails.pop(write.result.run_id, None)
        self._ownership.note_change(self._connection, sorted(self._touched))

    def _fence(self, writes: Sequence[Write]) -> None:
        started = {write.run.run_id for write in writes if isinstance(write, StartRun)}
        fenced = {
            run_id
            for write in writes
            if isinstance(write, Append | Remember | Ask | EndRun)
            and (run_id := run_of(write)) is not None
        }
        unknown = sorted(fenced - started)
        for begin in range(0, len(unknown), _IDS_AT_ONCE):
            ids = unknown[begin : begin + _IDS_AT_ONCE]
            mine = select(runs.c.run_id).where(
                runs.c.run_id.in_(ids),
                runs.c.host_id == self._ownership.me.host_id,
                runs.c.status != "interrupted",
            )
            found = self._connection.execute(mine.with_for_update()).scalars()
            self.lost |= set(ids) - set(found)

    def _one(self, write: Write) -> None:
        match write:
            case OpenSession() | UpdateSession() | AddGrant():
                self._of_session(write)
            case StartRun() | EndRun() | Append() | Remember() | Ask() | Settle():
                self._of_run(write)
            case UpdateEdit():
                update_edit(self._connection, write)
            case Release(session_id):
                self._ownership.release(self._connection, session_id)
                self._touched.add(session_id)
            case _:
                assert_never(write)

    def _of_session(self, write: OpenSession | UpdateSession | AddGrant) -> None:
        match write:
            case OpenSession(session):
                self._open_session(session)
            case UpdateSession():
                self._update_session(write)
            case AddGrant():
                self._add_grant(write)
            case _:
                assert_never(write)

    def _of_run(self, write: StartRun | EndRun | Append | Remember | Ask | Settle) -> None:
        match write:
            case StartRun(run):
                self._start_run(run)
            case Append(delta, at):
                self._deltas.setdefault(delta.run_id, []).append((delta, at))
                self._touched.add(delta.session_id)
            case Remember():
                self._remember(write)
            case Ask():
                self._ask(write)
            case Settle(run_id, call_id):
                where = (questions.c.run_id == run_id, questions.c.call_id == call_id)
                self._connection.execute(delete(questions).where(*where))
            case EndRun(result, at, whole):
                self._end_run(result, at, whole=whole)
            case _:
                assert_never(write)

    # ---- sessions and runs

    def _open_session(self, session: SessionRecord) -> None:
        if self._database.add_once(self._connection, sessions, session_values(session)):
            self._ownership.take(self._connection, session.session_id)
            self._touched.add(session.session_id)

    def _update_session(self, write: UpdateSession) -> None:
        named = {"role": write.role, "model": write.model, "runtime": write.runtime}
        values = {name: value for name, value in named.items() if value is not None}
        if values:
            where = sessions.c.session_id == write.session_id
            self._connection.execute(update(sessions).where(where).values(values))
            self._touched.add(write.session_id)

    def _start_run(self, run: RunRecord) -> None:
        if self._ownership.take(self._connection, run.session_id) == "refused":
            self.lost.add(run.run_id)
            return
        values = run_values(run) | {
            "ordinal": next_in(runs.c.ordinal, runs.c.session_id == run.session_id),
            "host_id": self._ownership.me.host_id,
        }
        if not self._database.add_once(self._connection, runs, values):
            self.lost.add(run.run_id)
            return
        self._renew_session(run.session_id, run.started)

    def _end_run(self, result: RunResult, at: float, *, whole: bool) -> None:
        self._connection.execute(
            update(runs)
            .where(runs.c.run_id == result.run_id)
            .values(status=result.status, ended=at, whole=whole, outcome=codec.encode(result))
        )
        self._connection.execute(delete(questions).where(questions.c.run_id == result.run_id))
        self._renew_session(result.session_id, at)

    def _renew_session(self, session_id: str, at: float) -> None:
        where = (sessions.c.session_id == session_id, sessions.c.updated < at)
        self._connection.execute(update(sessions).where(*where).values(updated=at))
        self._touched.add(session_id)

    # ---- what happens in a run

    def _add_rows(self, run_id: str, deltas: list[tuple[NumberedDelta, float]]) -> None:
        rows = merged(self.tails.get(run_id), deltas)
        if rows and rows[0].stored:
            values = rows[0].values(run_id)
            where = (events.c.run_id == run_id, events.c.seq == rows[0].seq)
            grown = {"through": values["through"], "body": values["body"]}
            self._connection.execute(update(events).where(*where).values(grown))
        fresh = [row.values(run_id) for row in rows if not row.stored]
        if fresh:
            self._connection.execute(insert(events), fresh)
        if rows:
            last = rows[-1]
            self.tails[run_id] = replace(last, stored=True)

    def _remember(self, write: Remember) -> None:
        items: list[str | None] = [*write.items]
        if write.boundary and not items:
            items = [None]
        if not items:
            return
        first = self._next_position(write.session_id)
        rows = [
            {
                "session_id": write.session_id,
                "position": first + index,
                "run_id": write.run_id,
                "boundary": write.boundary and index == 0,
                "body": item,
            }
            for index, item in enumerate(items)
        ]
        self._connection.execute(insert(history), rows)
        self._positions[write.session_id] = first + len(rows)

    def _next_position(self, session_id: str) -> int:
        known = self._positions.get(session_id)
        if known is not None:
            return known
        return next_number(self._connection, history.c.position, history.c.session_id == session_id)

    def _ask(self, write: Ask) -> None:
        question = write.question
        values = {
            "run_id": question.run_id,
            "call_id": question.call_id,
            "session_id": question.session_id,
            "at": write.at,
            "body": codec.encode(question),
        }
        statement = self._database.insert(questions).values(values)
        keys = [questions.c.run_id, questions.c.call_id]
        self._connection.execute(
            statement.on_conflict_do_update(index_elements=keys, set_={"body": values["body"]})
        )
        self._touched.add(question.session_id)

    def _add_grant(self, write: AddGrant) -> None:
        number = next_in(grants.c.number, grants.c.session_id == write.session_id)
        self._connection.execute(
            insert(grants).values(
                session_id=write.session_id,
                number=number,
                at=write.at,
                body=codec.encode(write.grant),
            )
        )
