"""Stores that can't be used: the run goes on, the person is told once, what was stored stays."""

import asyncio
import json
import os
import resource
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agent_host.core.errors import StoreFailed
from agent_host.core.events import Started, Text
from agent_host.core.records import SessionQuery, StoreProblem
from agent_host.store import SqlStore
from agent_host.store.writer import Pace
from tests.boundary.store_support import (
    SOON,
    assert_without_gap,
    numbered,
    result,
    run,
    session,
    spoken,
    tell,
    whole_run,
)

ROOT = Path(__file__).parents[2]


class Host:
    """A store and what it told of problems."""

    def __init__(self, where: str | Path, pace: Pace = SOON, logs: Path | None = None) -> None:
        self.problems: list[StoreProblem] = []
        self.store = SqlStore(
            where,
            new_id=lambda: uuid.uuid4().hex,
            on_problem=self.problems.append,
            log_folder=lambda: logs,
            pace=pace,
        )

    async def told(self) -> list[tuple[str, tuple[str, ...]]]:
        await self.store.flush()
        await asyncio.sleep(0)
        return [(problem.code, problem.runs) for problem in self.problems]


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@contextmanager
def no_room(size: int) -> Iterator[None]:
    """No file of this process may become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_garbage(path: Path) -> None:
    path.write_bytes(b"this is no database at all" * 100)


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER)")
        connection.execute("INSERT INTO schema_version VALUES (99)")


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (make_folder, "unavailable", "directory"),
        (make_garbage, "unavailable", "not a database"),
        (make_newer, "newer", "update"),
    ],
)
async def test_a_store_that_can_t_be_opened_is_told_of_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], code: str, words: str
) -> None:
    file = tmp_path / "sessions.db"
    make(file)
    before = file.read_bytes() if file.is_file() else None
    host = Host(file)
    host.store.open_session(session("s1"))
    whole_run(host.store, "r1")
    assert await host.told() == [(code, ("r1",))]
    assert not host.store.is_stored("r1")
    assert words in host.problems[0].message
    assert str(tmp_path) not in host.problems[0].message
    with pytest.raises(StoreFailed) as failed:
        await host.store.sessions(SessionQuery())
    assert words in failed.value.message
    with pytest.raises(StoreFailed):
        await host.store.opened()
    await host.store.close()
    assert before is None or file.read_bytes() == before


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://someone:s3cret@127.0.0.1:1/none",
        "mysql://someone:s3cret@127.0.0.1/none",
        "nonsense://s3cret",
        "postgresql://%zz:s3cret@[",
    ],
)
async def test_a_bad_url_is_told_of_without_its_password(url: str) -> None:
    host = Host(url)
    host.store.start_run(run("r1"))
    assert ("unavailable", ("r1",)) in await host.told()
    with pytest.raises(StoreFailed) as failed:
        await host.store.opened()
    told = [failed.value.message, *(problem.message for problem in host.problems)]
    assert not any("s3cret" in text for text in told)
    await host.store.close()


async def test_a_short_lock_costs_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db")
    await host.store.opened()
    with locked(tmp_path / "sessions.db"):
        host.store.open_session(session("s1"))
        whole_run(host.store, "r1")
        # The event loop goes on while the writer waits.
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not host.problems
    assert spoken([await host.store.load("s1")]) == "hello"
    assert await host.told() == []
    await host.store.close()


async def test_a_long_lock_costs_the_rest_of_the_run_and_is_told_once(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db")
    store = host.store
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    tell(store, "r1", [Started("a", "b", "c"), Text("kept")])
    await store.flush()
    with locked(tmp_path / "sessions.db"):
        for delta in numbered("r1", [Text(" lost")], first=3):
            store.append(delta)
        assert await host.told() == [("failed", ("r1",))]
        assert "locked" in host.problems[0].message
        assert not store.is_stored("r1")
        assert spoken([await store.load("s1")]) == "kept"
    for delta in numbered("r1", [Text(" too late")], first=4):
        store.append(delta)
    store.end_run(result("r1"))
    whole_run(store, "r2", text=" and again")
    assert await host.told() == [("failed", ("r1",))]
    assert store.is_stored("r2")
    found = await store.load("s1")
    assert spoken([found]) == "kept and again"
    assert_without_gap([found])
    ended = await store.run("r1")
    assert (ended.status, ended.whole) == ("completed", False)
    assert (await store.run("r2")).whole
    await store.close()


async def test_a_full_disk_costs_the_rest_of_the_run_and_is_told_once(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db")
    store = host.store
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    tell(store, "r1", [Started("a", "b", "c"), Text("kept")])
    await store.flush()
    with no_room(1_000_000):
        for delta in numbered("r1", [Text("x" * 3_000_000)], first=3):
            store.append(delta)
        assert await host.told() == [("failed", ("r1",))]
        assert "disk" in host.problems[0].message
    whole_run(store, "r2", text=" and again")
    assert spoken([await store.load("s1")]) == "kept and again"
    assert await host.told() == [("failed", ("r1",))]
    await store.close()


async def test_one_run_that_can_t_be_stored_takes_no_other_with_it(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db")
    store = host.store
    store.open_session(session("s1"))
    store.open_session(session("s2"))
    store.start_run(run("bad", "s1"))
    store.start_run(run("orphan", "no such session"))
    whole_run(store, "good", "s2")
    for delta in [*numbered("bad", [Text("a")]), *numbered("bad", [Text("same number")])]:
        store.append(delta)
    assert sorted(await host.told()) == [("failed", ("bad",)), ("failed", ("orphan",))]
    assert spoken([await store.load("s2")]) == "hello"
    assert store.is_stored("good")
    await store.close()


async def test_more_than_fits_the_queue_costs_that_run_only(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db", Pace(interval=0.02, patience=0.3, capacity=20_000))
    store = host.store
    store.open_session(session("s1"))
    store.start_run(run("large"))
    tell(store, "large", [Text("a" * 10), Text("b" * 30_000), Text("c")])
    assert await host.told() == [("overrun", ("large",))]
    store.end_run(result("large"))
    whole_run(store, "small", text=" small")
    assert spoken([await store.load("s1")]) == "a" * 10 + " small"
    assert not (await store.run("large")).whole
    await store.close()


async def test_a_closed_store_takes_and_gives_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db")
    host.store.open_session(session("s1"))
    await host.store.close()
    host.store.open_session(session("s2"))
    await host.store.flush()
    with pytest.raises(StoreFailed):
        await host.store.session("s1")
    await host.store.close()
    following = Host(tmp_path / "sessions.db")
    listed = (await following.store.sessions(SessionQuery())).entries
    assert [entry.session.session_id for entry in listed] == ["s1"]
    await following.store.close()


async def test_a_store_that_is_never_used_makes_no_file(tmp_path: Path) -> None:
    host = Host(tmp_path / "state" / "sessions.db")
    await host.store.flush()
    await host.store.close()
    assert list(tmp_path.iterdir()) == []


async def test_what_is_stored_is_its_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "state"
    before = os.umask(0)
    try:
        host = Host(folder / "sessions.db", logs=folder / "logs")
        host.store.open_session(session("s1"))
        whole_run(host.store, "r1")
        await host.store.flush()
        found = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert found.pop("logs") == 0o700
    assert set(found) == {"sessions.db", "sessions.db-wal", "sessions.db-shm", "r1.jsonl"}
    assert set(found.values()) == {0o600}
    await host.store.close()


async def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    file.touch(mode=0o644)
    host = Host(file)
    await host.store.opened()
    assert file.stat().st_mode & 0o777 == 0o600
    await host.store.close()


# ---- logs


async def test_a_log_has_every_delta_of_its_run(tmp_path: Path) -> None:
    host = Host(tmp_path / "sessions.db", logs=tmp_path / "logs")
    store = host.store
    store.open_session(session("s1"))
    whole_run(store, "r1", text="ab")
    whole_run(store, "../../r2", text="c")
    await store.close()
    files = sorted((tmp_path / "logs").iterdir())
    assert len(files) == 2
    assert all(file.parent == tmp_path / "logs" for file in files)
    lines = [json.loads(line) for line in (tmp_path / "logs" / "r1.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["run", *["delta"] * 4, "ended"]
    assert [line["body"].get("text") for line in lines[1:-1]] == [None, "a", "b", None]
    assert lines[-1]["result"]["output"] == "ab"


async def test_a_log_that_can_t_be_written_is_told_once_and_the_store_goes_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "logs").write_text("a file")
    host = Host(tmp_path / "sessions.db", logs=tmp_path / "logs")
    host.store.open_session(session("s1"))
    whole_run(host.store, "r1")
    await host.store.flush()
    whole_run(host.store, "r2")
    assert await host.told() == [("failed", ())]
    assert (await host.store.run("r2")).whole
    await host.store.close()


async def test_logs_can_be_wanted_later(tmp_path: Path) -> None:
    wanted: list[Path] = []
    store = SqlStore(
        lambda: tmp_path / "sessions.db",
        new_id=lambda: uuid.uuid4().hex,
        on_problem=print,
        log_folder=lambda: wanted[0] if wanted else None,
        pace=SOON,
    )
    store.open_session(session("s1"))
    whole_run(store, "r1")
    await store.flush()
    wanted.append(tmp_path / "logs")
    whole_run(store, "r2")
    await store.close()
    assert [file.name for file in (tmp_path / "logs").iterdir()] == ["r2.jsonl"]


# ---- start-up


def test_a_driver_that_is_missing_is_named_with_how_to_get_it() -> None:
    code = """
import asyncio, sys
sys.modules["psycopg"] = None
from agent_host.core.errors import StoreFailed
from agent_host.store import SqlStore

async def main():
    store = SqlStore("postgresql://me:s3cret@127.0.0.1/x", new_id=lambda: "h", on_problem=print)
    try:
        await store.opened()
    except StoreFailed as error:
        print(error.message)
    await store.close()

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "pip install agent-host[postgres]" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr


def test_making_a_store_loads_no_database_library() -> None:
    code = """
import asyncio, sys
from agent_host.store import SqlStore

async def main():
    store = SqlStore("x.db", new_id=lambda: "h", on_problem=print)
    loaded = {"sqlalchemy", "sqlite3", "psycopg", "pydantic"} & set(sys.modules)
    await store.close()
    return loaded

print(asyncio.run(main()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "set()\n"
