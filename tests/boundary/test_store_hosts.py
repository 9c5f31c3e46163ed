"""Several hosts on one store: who owns a session, what a host that is gone leaves, watching."""

import asyncio

import pytest

from agent_host.core.errors import SessionBusy
from agent_host.core.events import Started, Text
from agent_host.core.permission import Question
from agent_host.core.records import SessionQuery
from tests.boundary.store_support import (
    Stores,
    assert_without_gap,
    numbered,
    result,
    run,
    server,
    session,
    spoken,
    stores,
    tell,
    whole_run,
)

__all__ = ["server", "stores"]


async def test_a_session_is_owned_by_one_host_at_a_time(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    one.open_session(session("s1"))
    await one.flush()
    with pytest.raises(SessionBusy):
        await two.acquire("s1")
    with pytest.raises(SessionBusy):
        await two.delete("s1")
    assert [e.elsewhere for e in (await two.sessions(SessionQuery())).entries] == [True]
    assert [e.elsewhere for e in (await one.sessions(SessionQuery())).entries] == [False]
    await one.acquire("s1")
    assert (await one.renew(), await two.renew()) == (frozenset({"s1"}), frozenset())
    one.release("s1")
    await one.flush()
    await two.acquire("s1")
    one.release("s1")
    await one.flush()
    with pytest.raises(SessionBusy):
        await one.acquire("s1")
    await two.delete("s1")


async def test_a_host_is_told_whether_another_had_its_session(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    one.open_session(session("s1"))
    assert await one.acquire("s1")
    one.release("s1")
    assert await one.acquire("s1")
    one.release("s1")
    await one.flush()
    assert [e.elsewhere for e in (await two.sessions(SessionQuery())).entries] == [False]
    assert not await two.acquire("s1")
    two.release("s1")
    await two.flush()
    assert not await one.acquire("s1")
    assert await one.acquire("s1")
    one.release("s1")
    await one.close()
    assert not await stores.host().acquire("s1")


async def test_many_hosts_that_want_a_session_at_once_get_it_once(stores: Stores) -> None:
    first = stores.host()
    first.open_session(session("s1"))
    first.release("s1")
    await first.flush()
    hosts = [stores.host() for _ in range(4)]
    got = await asyncio.gather(*(h.acquire("s1") for h in hosts), return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in got) == ["SessionBusy"] * 3 + ["bool"]


async def test_what_a_silent_host_owned_can_be_taken_over(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    await two.renew()
    one.open_session(session("s1"))
    one.start_run(run("r1"))
    tell(one, "r1", [Started("a", "b", "c"), Text("half")])
    one.remember("s1", "r1", [{"n": 1}])
    one.ask(Question("s1", "r1", "c1", "May I?", "", ()))
    await one.flush()
    stores.clock.now += 14.0
    with pytest.raises(SessionBusy):
        await two.acquire("s1")
    assert (await two.run("r1")).status == "running"
    stores.clock.now += 2.0
    assert (await two.run("r1")).status == "interrupted"
    (entry,) = (await two.sessions(SessionQuery())).entries
    assert (entry.status, entry.elsewhere, entry.questions) == ("interrupted", False, 1)
    await two.acquire("s1")
    await one.renew()
    assert (await two.run("r1")).status == "interrupted"
    assert len(await two.questions("s1")) == 1
    assert await two.history("s1") == ({"n": 1},)
    whole_run(two, "r2", text=" and whole")
    assert spoken([await two.load("s1")]) == "half and whole"


async def test_a_host_that_says_that_it_lives_keeps_what_it_owns(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    one.open_session(session("s1"))
    one.start_run(run("r1"))
    for _ in range(4):
        stores.clock.now += 10.0
        assert await one.renew() == {"s1"}
    with pytest.raises(SessionBusy):
        await two.acquire("s1")
    stores.clock.now += 10.0
    tell(one, "r1", [Text("writing is a sign of life too")])
    await one.flush()
    stores.clock.now += 10.0
    with pytest.raises(SessionBusy):
        await two.acquire("s1")


async def test_a_host_that_lost_a_session_can_t_write_to_it_and_is_told_once(
    stores: Stores,
) -> None:
    one, two = stores.host(), stores.host()
    await two.renew()
    one.open_session(session("s1"))
    one.start_run(run("r1"))
    tell(one, "r1", [Started("a", "b", "c"), Text("before")])
    await one.flush()
    stores.clock.now += 16.0
    await two.acquire("s1")
    for delta in numbered("r1", [Text(" late")], first=3):
        one.append(delta)
    one.remember("s1", "r1", [{"late": True}])
    await one.flush()
    one.end_run(result("r1"))
    one.start_run(run("r2"))
    await one.flush()
    await asyncio.sleep(0)
    assert [(p.code, p.runs) for p in stores.problems] == [("lost", ("r1",)), ("lost", ("r2",))]
    assert not one.is_stored("r1")
    assert (await two.run("r1")).status == "interrupted"
    assert await one.renew() == frozenset()
    assert await two.history("s1") == ()
    assert spoken([await two.load("s1")]) == "before"
    assert [record.run_id for record in await two.runs("s1")] == ["r1"]


async def test_a_host_that_slept_for_days_can_go_on(stores: Stores) -> None:
    one = stores.host()
    one.open_session(session("s1"))
    whole_run(one, "r1", text="before")
    await one.flush()
    stores.clock.now += 200_000.0
    two = stores.host()
    await two.sessions(SessionQuery())
    whole_run(one, "r2", text=" and after")
    await one.flush()
    assert spoken([await two.load("s1")]) == "before and after"
    assert await one.renew() == {"s1"}
    assert stores.problems == []


async def test_a_run_id_that_is_taken_is_not_written_to(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    for store, name in ((one, "s1"), (two, "s2")):
        store.open_session(session(name))
        await store.flush()
    whole_run(one, "r1", "s1", text="mine")
    await one.flush()
    whole_run(two, "r1", "s2", text="not mine")
    await two.flush()
    await asyncio.sleep(0)
    assert [problem.runs for problem in stores.problems] == [("r1",)]
    assert spoken([await one.load("s1")]) == "mine"
    assert await one.runs("s2") == ()


async def test_runs_that_a_closing_host_did_not_end_are_interrupted(stores: Stores) -> None:
    one = stores.host()
    one.open_session(session("s1"))
    one.start_run(run("r1"))
    await one.close()
    two = stores.host()
    assert (await two.run("r1")).status == "interrupted"
    await two.acquire("s1")


async def test_hosts_write_side_by_side_and_nothing_is_lost_or_doubled(stores: Stores) -> None:
    hosts = [stores.host() for _ in range(3)]
    for number, store in enumerate(hosts):
        store.open_session(session(f"s{number}"))
    for count in range(20):
        for number, store in enumerate(hosts):
            whole_run(store, f"r{number}.{count}", f"s{number}", text=f"{count} ")
        await hosts[count % 3].flush()
    for store in hosts:
        await store.flush()
    for number in range(3):
        found = await hosts[0].load(f"s{number}", limit=1000)
        assert spoken([found]) == "".join(f"{count} " for count in range(20))
        assert len(assert_without_gap([found])) == 20
        said = [item["said"] for item in await hosts[1].history(f"s{number}")]
        assert said == [f"{count} " for count in range(20)]
    assert stores.problems == []


# ---- watching


async def test_changes_by_others_are_seen_as_they_come(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    one.open_session(session("s1"))
    one.start_run(run("r1"))
    await one.flush()
    cursor = None
    said = ""
    async with two.watch() as changes, asyncio.timeout(20):
        for seq, word in enumerate(["a", "b", "c"], 1):
            for delta in numbered("r1", [Text(word)], first=seq):
                one.append(delta)
            while not said.endswith(word):
                assert await anext(changes) == "s1"
                page = await two.load("s1", cursor=cursor)
                cursor, said = page.cursor, said + spoken([page])
        one.end_run(result("r1"))
        while (await two.run("r1")).status != "completed":
            assert await anext(changes) == "s1"
        await one.rename("s1", "New")
        while (await two.session("s1")).title != "New":
            await anext(changes)
        await one.delete("s1")
        while (await two.sessions(SessionQuery())).entries:
            await anext(changes)
    assert said == "abc"


async def test_own_changes_are_not_seen(stores: Stores) -> None:
    one, two = stores.host(), stores.host()
    async with one.watch() as changes, asyncio.timeout(20):
        one.open_session(session("mine"))
        await one.flush()
        two.open_session(session("theirs"))
        assert await anext(changes) == "theirs"


async def test_a_watch_can_be_left_while_it_waits(stores: Stores) -> None:
    store = stores.host()
    await store.renew()
    with pytest.raises(TimeoutError):
        async with store.watch() as changes, asyncio.timeout(0.05):
            await anext(changes)
