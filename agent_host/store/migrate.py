"""The schema's versions: making a new store, upgrading an old one, refusing a newer one.

An upgrade is one transaction; a copy of the SQLite file is made before it.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Connection, insert, inspect, select, text, update

from agent_host.store import schema
from agent_host.store.engine import Database
from agent_host.store.failure import DatabaseFailed

Step = Callable[[Connection], None]


def _with_moves(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE edits ADD COLUMN moved_to TEXT"))


STEPS: Mapping[int, Step] = MappingProxyType({1: _with_moves})
"""By version: what makes the next version out of it."""

_LOCK_KEY = 4_710_335_221
"""PostgreSQL's advisory lock that lets one process at a time look after the schema."""


def migrate(
    database: Database, *, steps: Mapping[int, Step] = STEPS, newest: int = schema.VERSION
) -> None:
    """Bring the store to the version `newest`; raises DatabaseFailed with code `newer`."""
    with database.read() as connection:
        _refuse_newer(_version(connection), newest)
    if database.is_sqlite:
        database.outside_transaction("PRAGMA journal_mode = WAL")
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"))
        found = _version(connection)
        _refuse_newer(found, newest)
        if found is None:
            schema.metadata.create_all(connection)
            connection.execute(insert(schema.version).values(version=newest))
        elif found < newest:
            if database.file is not None:
                _back_up(database.file, found)
            _upgrade(connection, found, newest, steps)


def _refuse_newer(found: int | None, newest: int) -> None:
    if found is not None and found > newest:
        reason = f"it was made by a newer agent-host (version {found}, not {newest}): update"
        raise DatabaseFailed(reason, passing=False, code="newer")


def _upgrade(connection: Connection, found: int, newest: int, steps: Mapping[int, Step]) -> None:
    for number in range(found, newest):
        steps[number](connection)
    connection.execute(update(schema.version).values(version=newest))


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(schema.version.name):
        return None
    return connection.execute(select(schema.version.c.version)).scalar_one()


def _back_up(file: Path, version: int) -> None:
    """Copy the store as it was last committed beside itself, through a finished temporary file."""
    target = file.with_name(f"{file.name}.v{version}.bak")
    unfinished = target.with_name(target.name + ".part")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(descriptor)
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(unfinished)) as copy:
        source.backup(copy)
    unfinished.replace(target)
