"""Connections that break, and commits that nobody heard of."""

import asyncio
import time
import uuid
from pathlib import Path

import psycopg
import pytest

from agent_host.core.errors import StoreFailed
from agent_host.core.events import Text
from agent_host.core.records import EditRecord, StoreProblem
from agent_host.store import SqlStore
from agent_host.store.failure import DatabaseFailed
from agent_host.store.probe import shown, trouble
from agent_host.store.target import OpenedStore, Place
from agent_host.store.writes import Append, OpenSession, Remember, StartRun
from tests.boundary.store_support import (
    LazyCluster,
    numbered,
    run,
    server,
    session,
    spoken,
    whole_run,
)

__all__ = ["server"]


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path, server: LazyCluster) -> str | Path:
    return tmp_path / "sessions.db" if request.param == "sqlite" else server.fresh()


def test_a_batch_that_is_tried_again_after_its_commit_is_stored_once(where: str | Path) -> None:
    store = OpenedStore(Place(where, "host", lambda: uuid.uuid4().hex))
    begin = [OpenSession(session("s1")), StartRun(run("r1"))]
    texts = [Append(delta, 1.0) for delta in numbered("r1", [Text("a"), Text("b")])]
    items = [Remember("s1", "r1", ('{"n":1}',), boundary=False)]
    for batch, number in ((begin, 1), ([*texts, *items], 2)):
        for _ in range(2):
            assert store.apply(batch, number) == frozenset()
    more = [Append(delta, 2.0) for delta in numbered("r1", [Text("c")], first=3)]
    assert store.apply(more, 3) == frozenset()
    page = store.load("s1", None, 100)
    assert spoken([page]) == "abc"
    assert store.history("s1") == ({"n": 1},)
    store.close()


def test_a_text_is_one_row_however_often_it_was_written(where: str | Path) -> None:
    store = OpenedStore(Place(where, "host", lambda: uuid.uuid4().hex))
    store.apply([OpenSession(session("s1")), StartRun(run("r1"))], 1)
    for seq in range(1, 11):
        (delta,) = numbered("r1", [Text(f"{seq} ")], first=seq)
        failing = StartRun(run("no", "no such session"))
        with pytest.raises(DatabaseFailed):
            store.apply([Append(delta, float(seq)), failing], 2 * seq)
        store.apply([Append(delta, float(seq))], 2 * seq + 1)
    (stored,) = store.load("s1", None, 100).deltas
    assert (stored.seq, stored.through, stored.at) == (1, 10, 1.0)
    assert stored.delta == Text("1 2 3 4 5 6 7 8 9 10 ")
    store.close()


def test_a_batch_that_failed_leaves_nothing_and_can_be_tried_again(where: str | Path) -> None:
    store = OpenedStore(Place(where, "host", lambda: uuid.uuid4().hex))
    store.apply([OpenSession(session("s1")), StartRun(run("r1"))], 1)
    good = [Append(delta, 1.0) for delta in numbered("r1", [Text("a"), Text("b")])]
    with pytest.raises(ValueError, match="hash"):
        store.record_edit(_edit_with_wrong_hash(), b"x", None)
    orphan = StartRun(run("r2", "no such session"))
    with pytest.raises(DatabaseFailed):
        store.apply([*good, orphan], 2)
    assert store.load("s1", None, 100).deltas == ()
    assert store.edits("r1") == ()
    store.apply(good, 3)
    assert spoken([store.load("s1", None, 100)]) == "ab"
    store.close()


def _edit_with_wrong_hash() -> EditRecord:
    return EditRecord("e", "s1", "r1", "file:///a", "change", "disk", "00", None, 1.0)


async def test_a_database_that_breaks_its_connections_loses_nothing(server: LazyCluster) -> None:
    url = server.fresh()
    problems: list[StoreProblem] = []
    one, two = (
        SqlStore(url, new_id=lambda: uuid.uuid4().hex, on_problem=problems.append) for _ in range(2)
    )
    one.open_session(session("s1", updated=time.time()))
    whole_run(one, "r1", text="one ")
    await one.flush()
    await two.opened()
    async with two.watch() as changes, asyncio.timeout(40):
        for count in range(2, 5):
            break_connections(url)
            whole_run(one, f"r{count}", text=f"{count} ")
            await one.flush()
            assert spoken([await two.load("s1")]).endswith(f"{count} ")
        said = spoken([await two.load("s1")])
        # The watch comes back by itself, a moment later.
        for count in range(1000):
            whole_run(one, f"again {count}", text=".")
            try:
                async with asyncio.timeout(0.2):
                    assert await anext(changes) == "s1"
                break
            except TimeoutError:
                continue
        else:
            raise AssertionError("nothing was seen any more")
    assert said == "one 2 3 4 "
    await one.close()
    await two.close()
    assert problems == []


def break_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


async def test_a_closed_store_leaves_no_connection(server: LazyCluster) -> None:
    url = server.fresh()
    store = SqlStore(url, new_id=lambda: uuid.uuid4().hex, on_problem=print)
    store.open_session(session("s1"))
    whole_run(store, "r1")
    await asyncio.gather(*(store.load("s1") for _ in range(8)))
    async with store.watch():
        await store.flush()
    await store.close()
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        async with asyncio.timeout(20):
            # The server itself needs a moment to see that a connection is closed.
            while cursor.execute(_CLIENTS).fetchone() != (0,):
                connection.rollback()
                await asyncio.sleep(0.02)


_CLIENTS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


async def test_what_a_server_refuses_is_said_in_words(server: LazyCluster) -> None:
    url = server.fresh().replace("/postgres?", "/nowhere?")
    store = SqlStore(url, new_id=lambda: uuid.uuid4().hex, on_problem=print)
    with pytest.raises(StoreFailed, match="has no database of that name"):
        await store.opened()
    await store.close()
    assert "no database" in (trouble(url) or "")
    assert trouble(server.fresh()) is None
    assert shown("postgresql://me:s3cret@db:5/x?a=b") == "postgresql://db:5/x"
