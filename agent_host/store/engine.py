"""Connections to SQLite or PostgreSQL, and what their failures mean.

`read` and `write` open one transaction each; a write on SQLite takes the lock at once, so that it
never fails half-way for want of it. The file is its owner's alone.
"""

import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, create_engine, event, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql import ColumnElement

from agent_host.store.failure import DatabaseFailed
from agent_host.store.folder import make_private_folder

_BUSY_SECONDS = 3.0
_CONNECT_SECONDS = 5

_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
)

_ELSEWHERE = "set `store` to another one"
_AWAY = "move it away (`agent-host doctor` tells where it is) and a new one is made"
_LOCKED = ("another program keeps it locked: end that program", True)
_FULL = ("the disk is full: make room", True)
_READ_ONLY = (f"its file or folder may not be written to: make it writable, or {_ELSEWHERE}", False)
_LOST = ("the connection to the database was lost", True)

_REASONS = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_IOERR": ("the disk reported an error", True),
    "SQLITE_CORRUPT": (f"its file is damaged: {_AWAY}", False),
    "SQLITE_NOTADB": (f"its file is not a database: {_AWAY}", False),
    "SQLITE_CANTOPEN": (f"its file can't be opened: look at its folder, or {_ELSEWHERE}", False),
    "08": _LOST,
    "57P": _LOST,
    "40": ("the database is busy", True),
    "53100": _FULL,
    "55P03": _LOCKED,
    "25006": _READ_ONLY,
}
"""The beginning of SQLite's error names and PostgreSQL's states: why, and whether it may pass."""


class Database:
    """One store by its URL or its SQLite file; safe for use from several threads."""

    def __init__(self, where: str | Path) -> None:
        url = _url(where)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.file = Path(url.database or "") if self.is_sqlite else None
        with translated(code_unavailable=True):
            if self.file is not None:
                _prepare_file(self.file)
            self.engine = _engine(url)
        self._writing = self.engine.execution_options(write=True)

    @contextmanager
    def read(self) -> Generator[Connection, None, None]:
        """A snapshot to read from; raises DatabaseFailed."""
        with translated(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Generator[Connection, None, None]:
        """All of it or nothing; raises DatabaseFailed."""
        with translated(), self._writing.begin() as connection:
            yield connection

    def outside_transaction(self, statement: str) -> None:
        """Execute a statement that can't be in one; raises DatabaseFailed."""
        with translated(), closing(self.engine.raw_connection()) as connection:
            connection.cursor().execute(statement)

    def insert(self, table: Table) -> "sqlite.Insert | postgresql.Insert":
        """An INSERT that knows ON CONFLICT."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def add_once(self, connection: Connection, table: Table, values: Mapping[str, object]) -> bool:
        """Add a row unless its primary key is there; False if it is."""
        key = list(table.primary_key.columns)
        statement = self.insert(table).values(values).on_conflict_do_nothing(index_elements=key)
        # A row that comes back tells; the count of rows does not on every database.
        return connection.execute(statement.returning(*key)).first() is not None

    def contains(self, column: ColumnElement[str], part: str) -> ColumnElement[bool]:
        """Whether a text has that part, to the letter."""
        find = func.instr if self.is_sqlite else func.strpos
        return find(column, part) > 0

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def translated(*, code_unavailable: bool = False) -> Generator[None, None, None]:
    """Any failure of the database as DatabaseFailed."""
    code = "unavailable" if code_unavailable else "failed"
    try:
        yield
    except DBAPIError as error:
        reason, passing = _LOST if error.connection_invalidated else _reason(error.orig)
        raise DatabaseFailed(reason, passing=passing, code=code) from error
    except sqlite3.Error as error:
        reason, passing = _reason(error)
        raise DatabaseFailed(reason, passing=passing, code=code) from error
    except SQLAlchemyError as error:
        name = type(error).__name__
        raise DatabaseFailed(f"the database failed ({name})", passing=False, code=code) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        reason = f"its place can't be used ({why}): look at it, or {_ELSEWHERE}"
        raise DatabaseFailed(reason, passing=False, code=code) from error


def _reason(original: BaseException | None) -> tuple[str, bool]:
    if isinstance(original, sqlite3.Error):
        found: object = getattr(original, "sqlite_errorname", "")
    else:
        found = getattr(original, "sqlstate", None)
    for beginning, reason in _REASONS.items():
        if str(found).startswith(beginning):
            return reason
    if found is None and type(original).__name__ == "OperationalError":
        return _unreachable(str(original))
    return f"the database failed ({type(original).__name__})", False


def _unreachable(said: str) -> tuple[str, bool]:
    """Why there is no connection; the driver says so in words only, which hold more than this."""
    if "authentication failed" in said or "no password supplied" in said:
        return "its server refuses the user or the password: see the setting `store`", False
    if "database" in said and "does not exist" in said:
        return "its server has no database of that name: see the setting `store`", False
    return "the database can't be reached", True


def _url(where: str | Path) -> URL:
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=os.fspath(where))
    try:
        url = make_url(where)
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername="postgresql+psycopg")
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise DatabaseFailed(
            "its URL is not understood", passing=False, code="unavailable"
        ) from error
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        name = url.get_backend_name()
        raise DatabaseFailed(f"{name} is not supported", passing=False, code="unavailable")
    return url


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(
            url, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False}
        )
        event.listen(engine, "connect", _on_sqlite_connect)
        event.listen(engine, "begin", _on_sqlite_begin)
        return engine
    try:
        engine = create_engine(
            url, pool_pre_ping=True, connect_args={"connect_timeout": _CONNECT_SECONDS}
        )
    except ImportError as error:
        reason = "PostgreSQL needs one more package: pip install agent-host[postgres]"
        raise DatabaseFailed(reason, passing=False, code="unavailable") from error
    event.listen(engine, "connect", _on_postgres_connect)
    return engine


def _prepare_file(file: Path) -> None:
    """The folder 0700 and the file 0600 before anything is in it; SQLite's other files follow."""
    make_private_folder(file.parent)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.name == "posix" and os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _on_sqlite_connect(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    # The driver's own idea of when a transaction begins is switched off: see _on_sqlite_begin.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _on_sqlite_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _on_postgres_connect(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute("SET lock_timeout = '5s'")
    cursor.close()
    connection.commit()
