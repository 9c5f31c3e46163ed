"""How the session store's answers grow with what is in it: milliseconds, medians of several rounds.

`python tests/bench/store.py [URL]`: an SQLite file of its own, or a PostgreSQL database (it must be
empty) to be measured instead.
"""

import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from agent_host.core.events import Delta, Ended, Started, Text, ToolFinished, ToolRequested
from agent_host.core.records import SessionQuery
from agent_host.store import SqlStore
from tests.boundary.store_support import numbered, result, run, session

SESSIONS = (100, 1_000, 10_000)
EVENTS = (1_000, 10_000, 100_000)
ROUNDS = 7

Work = Callable[[], Awaitable[object]]
Table = dict[str, list[float]]


async def main(where: str | Path) -> None:
    store = SqlStore(where, new_id=lambda: uuid.uuid4().hex, on_problem=print)
    await timed_once("open (new store, library loaded)", store.opened)
    await sessions(store)
    await events(store)
    if isinstance(where, Path):
        size = sum(path.stat().st_size for path in where.parent.iterdir())
        print(f"\nthe files: {size / 2**20:.0f} MiB")
    await store.close()
    again = SqlStore(where, new_id=lambda: uuid.uuid4().hex, on_problem=print)
    await timed_once("open (full store)", again.opened)
    await again.close()


async def sessions(store: SqlStore) -> None:
    found: Table = {}
    stored = 0
    for size in SESSIONS:
        while stored < size:
            add_session(store, stored)
            stored += 1
            if stored % 500 == 0:
                await store.flush()
        await store.flush()
        second = (await store.sessions(SessionQuery())).cursor
        asked: dict[str, Work] = {
            "list, first page": lambda: store.sessions(SessionQuery()),
            "list, next page": lambda c=second: store.sessions(SessionQuery(cursor=c)),
            "list of one workspace": lambda: store.sessions(SessionQuery(workspace="w3")),
            "search, a frequent word": lambda: store.sessions(SessionQuery(text="parser")),
            "search, a rare word": lambda: store.sessions(SessionQuery(text="number-42.")),
            "search, two words, none found": lambda: store.sessions(SessionQuery(text="no such")),
            "load, first page": lambda: store.load("s42"),
            "resume (own, history, questions)": lambda: resume(store, "s42"),
        }
        for name, work in asked.items():
            found.setdefault(name, []).append(await median(work))
    table("sessions in the store", SESSIONS, found)


def add_session(store: SqlStore, number: int) -> None:
    name, run_id = f"s{number}", f"r{number}"
    at = float(number)
    title = f"Repair the parser, part {number}"
    store.open_session(
        session(name, workspace=f"w{number % 7}", created=at, updated=at, title=title)
    )
    prompt = f"Please repair the parser; this is number-{number}. " + "It has to be fast. " * 20
    store.start_run(run(run_id, name, prompt, started=at))
    said: list[Delta] = [Started("coder", "m", "sdk"), Text("Done. " * 50), Ended("completed")]
    for delta in numbered(run_id, said, session_id=name):
        store.append(delta)
    store.remember(name, run_id, [{"role": "assistant", "content": "Done. " * 50}])
    store.end_run(result(run_id, name))


async def resume(store: SqlStore, session_id: str) -> None:
    await store.acquire(session_id)
    await store.history(session_id)
    await store.questions(session_id)


async def events(store: SqlStore) -> None:
    found: Table = {}
    stored = 0
    last: str | None = None
    middle: str | None = None
    store.open_session(session("long"))
    for number, size in enumerate(EVENTS):
        run_id = f"long {number}"
        store.start_run(run(run_id, "long"))
        began = time.perf_counter()
        stalled = await stream(store, run_id, size - stored)
        seconds = time.perf_counter() - began
        found.setdefault("store one event (microseconds)", []).append(
            1e6 * seconds / (size - stored)
        )
        found.setdefault("longest stall of the event loop", []).append(1000 * stalled)
        stored = size
        while (page := await store.load("long", cursor=last, limit=2_000)).deltas:
            last = page.cursor
            middle = middle or last
        asked: dict[str, Work] = {
            "load, first page": lambda: store.load("long"),
            "load, a page in the middle": lambda c=middle: store.load("long", cursor=c),
            "load, what is new at the end": lambda c=last: store.load("long", cursor=c),
            "one more event until it is stored": lambda: one_more(store),
            "list, first page": lambda: store.sessions(SessionQuery()),
            "history (one item for each 10 events)": lambda: store.history("long"),
        }
        for name, work in asked.items():
            found.setdefault(name, []).append(await median(work))
        middle = last
        began = time.perf_counter()
        await store.fork("long", f"fork {number}")
        found.setdefault("fork", []).append(1000 * (time.perf_counter() - began))
        began = time.perf_counter()
        await store.delete(f"fork {number}")
        found.setdefault("delete", []).append(1000 * (time.perf_counter() - began))
        store.end_run(result(run_id, "long"))
    table("events in one session", EVENTS, found)


async def stream(store: SqlStore, run_id: str, count: int) -> float:
    """Add events as fast as they are taken; returns the longest time the loop stood still."""
    worst = 0.0
    for first in range(1, count + 1, 100):
        began = time.perf_counter()
        said: list[Delta] = []
        for number in range(50):
            call_id = f"c{first + number}"
            said.append(ToolRequested(call_id, "fs.read", {"path": "/a/b.py"}, "Read b.py", "low"))
            said.append(ToolFinished(call_id, "ok", "120 lines"))
        for delta in numbered(run_id, said, session_id="long", first=first):
            store.append(delta)
        store.remember("long", run_id, [{"item": number} for number in range(10)])
        await asyncio.sleep(0)
        worst = max(worst, time.perf_counter() - began)
        if first % 5_000 == 1:
            await store.flush()
    await store.flush()
    return worst


async def one_more(store: SqlStore) -> None:
    store.grant("long", {"n": 1})
    await store.flush()


async def median(work: Work) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await work()
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken)


async def timed_once(name: str, work: Work) -> None:
    began = time.perf_counter()
    await work()
    print(f"{name}: {1000 * (time.perf_counter() - began):.0f} ms")


def table(head: str, sizes: tuple[int, ...], rows: Table) -> None:
    print(f"\n{head:<42}" + "".join(f"{size:>12,}" for size in sizes))
    for name, values in rows.items():
        print(f"{name:<42}" + "".join(f"{value:>12.2f}" for value in values))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="agent-host-bench-") as folder:
            asyncio.run(main(Path(folder) / "sessions.db"))
