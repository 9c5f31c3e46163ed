"""Processes that are killed while they store a run: what is left is whole, true and can go on."""

import asyncio
import os
import signal
import sqlite3
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_host.core.errors import SessionBusy
from agent_host.core.events import Delta, Text, ToolOutput
from agent_host.core.records import SessionQuery, SessionStore, StoreProblem
from agent_host.store import SqlStore
from tests.boundary import store_script
from tests.boundary.store_script import Snapshot, after, flushed_before, steps
from tests.boundary.store_support import (
    LazyCluster,
    assert_without_gap,
    pages,
    server,
    whole_run,
)

__all__ = ["server"]

ROOT = Path(__file__).parents[2]
LENGTH = len(steps())
pytestmark = pytest.mark.timeout(300)


class Writers:
    """Processes that play the script."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def begin(self, where: str | Path, session_id: str, stop_at: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{where} {session_id} {stop_at}\n".encode())
        await self._process.stdin.drain()

    async def did(self) -> tuple[str, int]:
        """The session of a process that has done its steps, and its number."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 50)
        word, session_id, pid = line.decode().split()
        assert word == "did"
        return session_id, int(pid)

    async def killed_after(self, where: str | Path, session_id: str, stop_at: int) -> None:
        await self.begin(where, session_id, stop_at)
        _, pid = await self.did()
        await kill(pid)


@pytest.fixture
async def writers() -> AsyncIterator[Writers]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", store_script.__name__),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    yield Writers(process)
    os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path, server: LazyCluster) -> str | Path:
    return tmp_path / "sessions.db" if request.param == "sqlite" else server.fresh()


def reopened(where: str | Path) -> tuple[SessionStore, list[StoreProblem]]:
    problems: list[StoreProblem] = []
    store = SqlStore(where, new_id=lambda: uuid.uuid4().hex, on_problem=problems.append)
    return store, problems


async def stored(store: SessionStore, session_id: str) -> Snapshot:
    snapshot = Snapshot()
    found = await pages(store, session_id, 7)
    assert_without_gap(found)
    snapshot.said = merged([delta.delta for page in found for delta in page.deltas])
    snapshot.remembered = list(await store.history(session_id))
    for edit in await store.edits(f"run of {session_id}"):
        before = await store.contents(edit.before_sha256 or "")
        following = await store.contents(edit.after_sha256 or "")
        assert before is not None
        assert following is not None
        snapshot.edits.append((before, following))
    snapshot.asked = [question.call_id for question in await store.questions(session_id)]
    return snapshot


def merged(said: list[Delta]) -> list[Delta]:
    """Texts that follow one another as one, however they were stored."""
    found: list[Delta] = []
    for delta in said:
        match found[-1:], delta:
            case [Text(before)], Text(text):
                found[-1] = Text(before + text)
            case [ToolOutput(call, stream, before)], ToolOutput(text=text):
                found[-1] = ToolOutput(call, stream, before + text)
            case _:
                found.append(delta)
    return found


def possible(begin: int, end: int) -> list[Snapshot]:
    snapshots = [after(count) for count in range(begin, end + 1)]
    for snapshot in snapshots:
        snapshot.said = merged(snapshot.said)
    return snapshots


async def test_a_killed_host_leaves_a_true_beginning_of_what_it_did(
    where: str | Path, writers: Writers
) -> None:
    step = 5 if isinstance(where, Path) else 23
    for stop_at in [*range(0, LENGTH, step), LENGTH - 1]:
        session_id = f"s{stop_at}"
        await writers.killed_after(where, session_id, stop_at)
        store, problems = reopened(where)
        listed = {e.session.session_id: e for e in (await store.sessions(SessionQuery())).entries}
        safe = flushed_before(stop_at)
        if session_id in listed:
            assert listed[session_id].status in ("interrupted", None)
            assert not listed[session_id].elsewhere
            assert await stored(store, session_id) in possible(safe, stop_at)
            await store.acquire(session_id)
            whole_run(store, f"next {stop_at}", session_id, text="on")
            assert (await store.run(f"next {stop_at}")).status == "completed"
        else:
            assert safe == 0
        await store.close()
        assert problems == []
        if isinstance(where, Path):
            with sqlite3.connect(where) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            connection.close()


async def test_what_is_written_arrives_by_itself(where: str | Path, writers: Writers) -> None:
    store, problems = reopened(where)
    await store.renew()
    wanted = merged(after(6).said)
    async with store.watch() as changes:
        await writers.begin(where, "s1", 6)
        _, pid = await writers.did()
        async with asyncio.timeout(30):
            async for session_id in changes:
                if (await stored(store, session_id)).said == wanted:
                    break
        with pytest.raises(SessionBusy):
            await store.acquire("s1")
        assert (await store.run("run of s1")).status == "running"
        await kill(pid)
    await store.close()
    assert problems == []


async def test_processes_write_side_by_side_and_nothing_is_lost_or_doubled(
    where: str | Path, writers: Writers
) -> None:
    names = ["s1", "s2", "s3"]
    for name in names:
        await writers.begin(where, name, LENGTH)
    done = [await writers.did() for _ in names]
    assert sorted(session_id for session_id, _ in done) == names
    store, problems = reopened(where)
    for name in names:
        assert [await stored(store, name)] == possible(LENGTH, LENGTH)
        assert (await store.run(f"run of {name}")).status == "completed"
        with pytest.raises(SessionBusy):
            await store.acquire(name)
    for _, pid in done:
        await kill(pid)
    for name in names:
        await store.acquire(name)
    await store.close()
    assert problems == []


async def kill(pid: int) -> None:
    """Returns when the process is gone."""
    gone = asyncio.Event()
    descriptor = os.pidfd_open(pid)
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, gone.set)
    try:
        os.kill(pid, signal.SIGKILL)
        await asyncio.wait_for(gone.wait(), 30)
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
