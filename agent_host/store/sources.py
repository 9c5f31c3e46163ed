"""Where a watch learns of changes: SQLite is asked often, PostgreSQL tells.

A source has a connection of its own.
"""

import threading
from contextlib import closing
from typing import TYPE_CHECKING, cast

from agent_host.store.engine import Database, translated
from agent_host.store.failure import DatabaseFailed
from agent_host.store.ownership import CHANNEL
from agent_host.store.watch import Source

if TYPE_CHECKING:
    from psycopg import Connection as PostgresConnection

_POLL_SECONDS = 0.2


def open_source(database: Database, host_id: str) -> Source:
    """From now on every change by another host is seen."""
    if database.is_sqlite:
        return _SqliteSource(database, host_id)
    return _PostgresSource(database, host_id)


class _SqliteSource:
    def __init__(self, database: Database, host_id: str) -> None:
        self._host_id = host_id
        with translated():
            self._connection = database.engine.raw_connection()
        self._stamp = cast("int", self._rows("SELECT coalesce(max(stamp), 0) FROM changes")[0][0])
        self._version = self._rows("PRAGMA data_version")

    def wait(self, stop: threading.Event) -> frozenset[str]:
        if stop.wait(_POLL_SECONDS):
            return frozenset()
        version = self._rows("PRAGMA data_version")
        if version == self._version:
            return frozenset()
        self._version = version
        statement = "SELECT session_id, host_id, stamp FROM changes WHERE stamp > ?"
        rows = self._rows(statement, self._stamp)
        self._stamp = max([self._stamp, *(cast("int", row[2]) for row in rows)])
        return frozenset(str(row[0]) for row in rows if row[1] != self._host_id)

    def close(self) -> None:
        self._connection.close()

    def _rows(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with translated(), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement, values)
            return cast("list[tuple[object, ...]]", cursor.fetchall())


class _PostgresSource:
    def __init__(self, database: Database, host_id: str) -> None:
        from psycopg import Error

        self._errors = Error
        self._host_id = host_id
        with translated():
            pooled = database.engine.raw_connection()
            self._connection = cast("PostgresConnection[object]", pooled.driver_connection)
            # It listens, so it must never go back to the others.
            pooled.detach()
        try:
            self._connection.autocommit = True
            self._connection.execute(f"LISTEN {CHANNEL}")
        except self._errors as error:
            raise _lost() from error

    def wait(self, stop: threading.Event) -> frozenset[str]:
        if stop.is_set():
            return frozenset()
        try:
            notes = list(self._connection.notifies(timeout=_POLL_SECONDS, stop_after=1))
        except self._errors as error:
            raise _lost() from error
        told = (note.payload.partition(" ") for note in notes)
        return frozenset(session_id for host, _, session_id in told if host != self._host_id)

    def close(self) -> None:
        self._connection.close()


def _lost() -> DatabaseFailed:
    return DatabaseFailed("the connection to the database was lost", passing=True)
