"""The opened store: applies batches, and answers reads and changes, each in one transaction.

Everything here may wait for the database and raise DatabaseFailed; nothing here may run on the
event loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from agent_host.core.model import JsonObject
from agent_host.core.permission import Question
from agent_host.core.records import (
    DeltaPage,
    EditRecord,
    RunRecord,
    SessionPage,
    SessionQuery,
    SessionRecord,
    TitleSource,
)
from agent_host.store import changes, edit_rows, pages, query
from agent_host.store.apply import Batch
from agent_host.store.cursor import session_place, to_text
from agent_host.store.engine import Database
from agent_host.store.failure import DatabaseFailed
from agent_host.store.host import this_host
from agent_host.store.merge import Row
from agent_host.store.migrate import migrate
from agent_host.store.ownership import Clock, Ownership
from agent_host.store.sources import open_source
from agent_host.store.transfer import Exported, HistoryItem
from agent_host.store.watch import Source
from agent_host.store.writes import Write

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the store is and who uses it.

    `where` is a URL or an SQLite file. `machine` and `clock` replace what is found out by itself:
    where process numbers mean something, and the time that heartbeats are measured with.
    """

    where: str | Path
    host_id: str
    new_id: Callable[[], str]
    machine: str | None = None
    clock: Clock | None = None


class OpenedStore:
    """Opens, upgrades and enters the store at once; raises DatabaseFailed."""

    def __init__(self, place: Place) -> None:
        self._database = Database(place.where)
        me = this_host(place.host_id, place=place.machine)
        self._ownership = Ownership(self._database, me, place.clock)
        self._new_id = place.new_id
        self._tails: dict[str, Row] = {}
        try:
            migrate(self._database)
            self._change(self._ownership.enter)
        except DatabaseFailed as error:
            self._database.close()
            code = "newer" if error.code == "newer" else "unavailable"
            raise DatabaseFailed(error.reason, passing=error.passing, code=code) from error

    # ---- for the writer

    def apply(self, batch: Sequence[Write], number: int) -> frozenset[str]:
        """See writer.Target."""
        with self._database.write() as connection:
            if not self._ownership.beat(connection, batch=number):
                return frozenset()
            work = Batch(connection, self._database, self._ownership, self._tails)
            work.apply(batch)
        # Only now: what was not committed is not the last row of anything.
        self._tails = work.tails
        return frozenset(work.lost)

    def beat(self) -> None:
        """See writer.Target."""
        if self._read(self._ownership.owned):
            self._change(self._ownership.beat)

    def close(self) -> None:
        """Leave the store to others."""
        try:
            self._change(self._ownership.leave)
        finally:
            self._database.close()

    # ---- reads

    def session(self, session_id: str) -> SessionRecord:
        """One session."""
        return self._read(lambda c: query.session(c, session_id))

    def sessions(self, wanted: SessionQuery) -> SessionPage:
        """A page of the list."""
        return self._read(lambda c: query.sessions_page(c, self._database, self._ownership, wanted))

    def run(self, run_id: str) -> RunRecord:
        """One run."""
        return self._read(lambda c: query.run(c, run_id, self._ownership.alive(c)))

    def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """A session's runs."""
        return self._of(session_id, lambda c: query.runs_of(c, session_id, self._alive(c)))

    def load(self, session_id: str, cursor: str | None, limit: int) -> DeltaPage:
        """A page of deltas."""
        place = session_place(cursor)
        return self._of(
            session_id, lambda c: pages.page(c, session_id, place, limit, self._alive(c))
        )

    def place(self, session_id: str, run_id: str, seq: int) -> str:
        """The cursor after a delta."""
        return self._of(
            session_id, lambda c: to_text(pages.place_after(c, session_id, run_id, seq))
        )

    def history(self, session_id: str) -> tuple[JsonObject, ...]:
        """What is remembered."""
        return self._of(session_id, lambda c: query.history_of(c, session_id))

    def history_items(self, session_id: str) -> tuple[HistoryItem, ...]:
        """What was ever remembered."""
        return self._of(session_id, lambda c: query.history_items(c, session_id))

    def questions(self, session_id: str) -> tuple[Question, ...]:
        """The open questions."""
        return self._of(session_id, lambda c: query.questions_of(c, session_id))

    def grants(self, session_id: str) -> tuple[JsonObject, ...]:
        """The grants."""
        return self._of(session_id, lambda c: query.grants_of(c, session_id))

    def edits(self, run_id: str) -> tuple[EditRecord, ...]:
        """A run's edits."""
        return self._read(lambda c: query.edits_of(c, run_id))

    def contents(self, sha256: str) -> bytes | None:
        """Bytes by their hash."""
        return self._read(lambda c: edit_rows.contents(c, sha256))

    def open_source(self) -> Source:
        """The changes by others, from now on."""
        return open_source(self._database, self._ownership.me.host_id)

    # ---- changes

    def record_edit(self, edit: EditRecord, before: bytes | None, after: bytes | None) -> None:
        """Add an edit and its bytes."""
        self._change(
            lambda c: edit_rows.record_edit(c, self._database, edit, before, after),
            edit.session_id,
        )

    def rename(self, session_id: str, title: str, by: TitleSource) -> bool:
        """Set a title."""
        return self._change(lambda c: changes.rename(c, session_id, title, by), session_id)

    def delete(self, session_id: str) -> None:
        """Remove a session."""
        self._change(
            lambda c: changes.remove(c, self._database, self._ownership, session_id), session_id
        )

    def fork(self, session_id: str, copy_id: str, at_run: str | None, at: float) -> SessionRecord:
        """Copy a session."""
        wanted = changes.Fork(session_id, copy_id, at_run, at)
        return self._change(
            lambda c: changes.fork(c, self._ownership, self._new_id, wanted), wanted.copy_id
        )

    def add_exported(self, exported: Exported) -> SessionRecord:
        """Add an imported session."""
        return self._change(
            lambda c: changes.add_exported(c, self._ownership, self._new_id, exported)
        )

    def acquire(self, session_id: str) -> bool:
        """Own a session."""
        return self._change(lambda c: self._ownership.acquire(c, session_id), session_id)

    def renew(self) -> frozenset[str]:
        """Say that this host lives; what it owns."""
        self._change(self._ownership.beat)
        return self._read(self._ownership.owned)

    # ---- transactions

    def _read(self, work: Callable[[Connection], _Answer]) -> _Answer:
        with self._database.read() as connection:
            return work(connection)

    def _of(self, session_id: str, work: Callable[[Connection], _Answer]) -> _Answer:
        """Read of a session that must be there."""
        with self._database.read() as connection:
            query.session(connection, session_id)
            return work(connection)

    def _change(self, work: Callable[[Connection], _Answer], *session_ids: str) -> _Answer:
        """Change, and tell those who watch."""
        with self._database.write() as connection:
            answer = work(connection)
            self._ownership.note_change(connection, session_ids)
            return answer

    def _alive(self, connection: Connection) -> frozenset[str]:
        return self._ownership.alive(connection)
