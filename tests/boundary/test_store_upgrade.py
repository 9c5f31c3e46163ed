"""Stores of other versions: upgraded whole or not at all, after a copy; newer ones left alone."""

import sqlite3
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from agent_host.core.records import SessionQuery, SessionStore, StoreProblem
from agent_host.store import SqlStore, schema
from agent_host.store.engine import Database
from agent_host.store.failure import DatabaseFailed
from agent_host.store.migrate import migrate
from tests.boundary.store_support import LazyCluster, server, spoken, whole_run

__all__ = ["server"]

FIRST_VERSION = Path(__file__).parents[1] / "fixtures" / "store-v1.sql"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path, server: LazyCluster) -> str | Path:
    return tmp_path / "sessions.db" if request.param == "sqlite" else server.fresh()


def from_script(script: Path, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script.read_text())


def tables(database: Database) -> dict[str, set[tuple[object, ...]]]:
    """Columns and indexes of every table, in no order."""
    found: dict[str, set[tuple[object, ...]]] = {}
    with database.read() as connection:
        looker = inspect(connection)
        for name in looker.get_table_names():
            columns = {
                (c["name"], str(c["type"]), c["nullable"], c.get("primary_key"))
                for c in looker.get_columns(name)
            }
            indexes = {
                (i["name"], *i["column_names"], i["unique"]) for i in looker.get_indexes(name)
            }
            unique = {tuple(u["column_names"]) for u in looker.get_unique_constraints(name)}
            foreign = {
                (*key["constrained_columns"], key["referred_table"], *key["options"].items())
                for key in looker.get_foreign_keys(name)
            }
            found[name] = columns | indexes | unique | foreign
    return found


def version(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(text("SELECT version FROM schema_version")).scalar_one()


def opened(file: Path) -> tuple[SessionStore, list[StoreProblem]]:
    problems: list[StoreProblem] = []
    store = SqlStore(file, new_id=lambda: uuid.uuid4().hex, on_problem=problems.append)
    return store, problems


async def test_a_store_of_the_first_version_is_all_there(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    from_script(FIRST_VERSION, file)
    store, problems = opened(file)
    (entry,) = (await store.sessions(SessionQuery(workspace="w1", text="VERSION"))).entries
    assert (entry.session.session_id, entry.runs, entry.status) == ("s1", 2, "interrupted")
    assert spoken([await store.load("s1")]) == "old text"
    assert await store.history("s1") == ({"said": "old text"},)
    (edit,) = await store.edits("r1")
    assert (edit.kind, edit.state) == ("change", "applied")
    assert await store.contents(sha256(b"before").hexdigest()) == b"before"
    assert await store.grants("s1") == ({"rule": "fs.write"},)
    assert [question.title for question in await store.questions("s1")] == ["May I?"]
    await store.acquire("s1")
    whole_run(store, "r3", text=" and new")
    assert spoken([await store.load("s1")]) == "old text and new"
    await store.close()
    assert problems == []


def test_an_upgraded_store_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    """Fails when the schema is changed without a step and a version."""
    from_script(FIRST_VERSION, tmp_path / "old.db")
    old, new = Database(tmp_path / "old.db"), Database(tmp_path / "new.db")
    for database in (old, new):
        migrate(database)
    assert tables(old) == tables(new)
    assert version(old) == version(new) == schema.VERSION
    for database in (old, new):
        database.close()


def widen(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE sessions ADD COLUMN colour TEXT"))
    connection.execute(text("UPDATE sessions SET colour = 'red'"))


def move(connection: Connection) -> None:
    connection.execute(text("UPDATE sessions SET title = 'moved'"))


def fail(connection: Connection) -> None:
    connection.execute(text("DELETE FROM sessions"))
    connection.execute(text("SELECT * FROM no_such_table"))


def rows(database: Database, statement: str) -> list[tuple[object, ...]]:
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(text(statement))]


def with_one_session(where: str | Path) -> Database:
    """A store that is made as if the newest version were the first one."""
    database = Database(where)
    migrate(database, newest=1)
    with database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO sessions (session_id, workspace, updated, created, search, title,"
                " title_by, role, model, runtime)"
                " VALUES ('s1', 'w', 1, 1, '', 'kept', 'user', 'r', 'm', 'x')"
            )
        )
    return database


def test_an_upgrade_does_each_step_once(where: str | Path) -> None:
    database = with_one_session(where)
    for _ in range(2):
        migrate(database, steps={1: widen, 2: move}, newest=3)
    assert rows(database, "SELECT title, colour FROM sessions") == [("moved", "red")]
    assert version(database) == 3
    if database.file is not None:
        copy = database.file.with_name("sessions.db.v1.bak")
        assert copy.stat().st_mode & 0o777 == 0o600
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("SELECT title FROM sessions").fetchall() == [("kept",)]
            assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
        assert not copy.with_name("sessions.db.v1.bak.part").exists()
    database.close()


def test_an_upgrade_that_fails_changes_nothing(where: str | Path) -> None:
    database = with_one_session(where)
    with pytest.raises(DatabaseFailed):
        migrate(database, steps={1: widen, 2: fail}, newest=3)
    assert version(database) == 1
    assert rows(database, "SELECT title FROM sessions") == [("kept",)]
    with pytest.raises(DatabaseFailed):
        rows(database, "SELECT colour FROM sessions")
    migrate(database, steps={1: widen}, newest=2)
    assert rows(database, "SELECT colour FROM sessions") == [("red",)]
    database.close()


def test_a_newer_store_is_refused_and_not_touched(where: str | Path) -> None:
    database = with_one_session(where)
    migrate(database, steps={1: widen}, newest=2)
    with pytest.raises(DatabaseFailed) as refused:
        migrate(database, newest=1)
    assert refused.value.code == "newer"
    assert "version 2, not 1" in refused.value.reason
    assert version(database) == 2
    database.close()


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_many_that_open_a_store_at_once_make_or_upgrade_it_once(
    where: str | Path, old: bool
) -> None:
    if old:
        with_one_session(where).close()
    newest = 2 if old else 1
    databases = [Database(where) for _ in range(6)]
    start = threading.Barrier(len(databases))

    def one(database: Database) -> None:
        start.wait(timeout=30)
        migrate(database, steps={1: widen}, newest=newest)

    with ThreadPoolExecutor(len(databases)) as pool:
        list(pool.map(one, databases))
    assert rows(databases[0], "SELECT version FROM schema_version") == [(newest,)]
    for database in databases:
        database.close()
