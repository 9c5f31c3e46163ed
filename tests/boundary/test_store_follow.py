"""Sessions followed from another host, in every store: from any place on, and to their end."""

import asyncio
from contextlib import aclosing

import pytest

from agent_host.core.errors import RunNotFound, SessionNotFound
from agent_host.core.events import Ended, Reasoning, Started, Text, ToolOutput
from agent_host.core.records import SessionStore, StoredDelta
from agent_host.session.trail import Trail
from tests.boundary.store_support import (
    Stores,
    numbered,
    result,
    run,
    server,
    session,
    stores,
    tell,
    whole_run,
)

__all__ = ["server", "stores"]

SAID = [
    Started("coder", "openai/m", "sdk"),
    *map(Text, ["a", "", "bcd", "é\0", "e"]),
    *map(Reasoning, ["x", "yz"]),
    ToolOutput("c1", "stdout", "o"),
    ToolOutput("c1", "stdout", "ut"),
    Text("f"),
    Ended("completed"),
]


def told(deltas: list[StoredDelta]) -> str:
    """What was said, whatever the pieces."""
    return "".join(getattr(each.delta, "text", f"<{type(each.delta).__name__}>") for each in deltas)


def without_gap(deltas: list[StoredDelta], first: int) -> int:
    """The number after the last; nothing is missing or there twice."""
    for delta in deltas:
        assert delta.seq == first
        first = delta.through + 1
    return first


async def heard(trail: Trail, until: str) -> list[StoredDelta]:
    """What is heard until a run has ended with that status."""
    found: list[StoredDelta] = []
    async with asyncio.timeout(30), aclosing(trail.follow()) as hearing:
        async for some in hearing:
            found += some.deltas
            if found and found[-1].delta == Ended(until, getattr(found[-1].delta, "reason", None)):
                break
    return found


async def test_reading_goes_on_after_any_delta_even_within_a_text(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r0"))
    store.end_run(result("r0"))
    store.start_run(run("r1"))
    for first in range(0, len(SAID), 4):
        for delta in numbered("r1", SAID[first : first + 4], first=first + 1):
            store.append(delta)
        await store.flush()
    store.end_run(result("r1"))
    for seq in range(len(SAID) + 1):
        page = await store.load("s1", cursor=await store.place("s1", "r1", seq))
        rest = [
            StoredDelta("s1", "r1", each.seq, each.seq, each.origin, each.delta, 0.0)
            for each in numbered("r1", SAID)[seq:]
        ]
        assert told(list(page.deltas)) == told(rest)
        assert without_gap(list(page.deltas), seq + 1) == len(SAID) + 1
    with pytest.raises(RunNotFound):
        await store.place("s1", "nope", 1)


async def test_a_session_is_followed_as_another_host_runs_it(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    one.open_session(session("s1"))
    whole_run(one, "r1", text="before")
    await one.flush()
    one.start_run(run("r2"))

    async def speak() -> None:
        for seq, delta in enumerate(SAID, 1):
            one.append(numbered("r2", [delta], first=seq)[0])
            await one.flush()
        one.end_run(result("r2"))

    async with asyncio.TaskGroup() as tasks:
        for after in (None, ("r1", 8), ("r1", 3)):
            tasks.create_task(follow_both(two, after))
        tasks.create_task(speak())


async def follow_both(store: SessionStore, after: tuple[str, int] | None) -> None:
    """To the end of r2, whatever was seen of r1."""
    trail = Trail(store, "s1", after=after)
    first: list[StoredDelta] = []
    async with asyncio.timeout(30), aclosing(trail.follow()) as hearing:
        async for some in hearing:
            first += some.deltas
            if first and first[-1].run_id == "r2" and isinstance(first[-1].delta, Ended):
                break
    of_second = [each for each in first if each.run_id == "r2"]
    seen = after[1] if after else 0
    assert without_gap([each for each in first if each.run_id == "r1"], seen + 1) == 9
    assert without_gap(of_second, 1) == len(SAID) + 1
    assert told(of_second) == "<Started>abcdé\0exyzoutf<Ended>"


async def test_a_run_whose_host_is_gone_is_told_to_be_interrupted_once(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    await two.renew()
    one.open_session(session("s1"))
    one.start_run(run("r1"))
    tell(one, "r1", SAID[:5])
    await one.flush()
    page = await two.load("s1")
    places = [{}, {"after": ("r1", 2)}, {"after": ("r1", 5)}, {"cursor": page.cursor}]
    trails = [Trail(two, "s1", **place, look_seconds=0.05) for place in places]
    waiting = [heard(trail, "interrupted") for trail in trails]
    async with asyncio.TaskGroup() as tasks:
        found = [tasks.create_task(each) for each in waiting]
        await asyncio.sleep(0)
        stores.clock.now += 16.0
    for task, first in zip(found, (1, 3, 6, 6), strict=True):
        assert without_gap(task.result(), first) == 7
    # Whoever has seen that end is not told again.
    again = Trail(two, "s1", after=("r1", 6), look_seconds=0.05)
    async with aclosing(again.follow()) as hearing:
        assert (await anext(hearing)).deltas == ()


async def test_a_followed_session_that_is_deleted_is_left(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    one.open_session(session("s1"))
    await one.flush()
    async with aclosing(Trail(two, "s1").follow()) as hearing, asyncio.timeout(30):
        assert (await anext(hearing)).all
        await one.delete("s1")
        with pytest.raises(SessionNotFound):
            async for _ in hearing:
                pass
