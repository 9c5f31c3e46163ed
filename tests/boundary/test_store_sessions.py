"""Lists, forks and moves of whole sessions, in every kind of store."""

import json
from dataclasses import replace

import pytest

from agent_host.core.errors import InvalidRequest, RunNotFound
from agent_host.core.events import Started, Text
from agent_host.core.records import SessionQuery, SessionStore
from tests.boundary.store_support import (
    Stores,
    assert_without_gap,
    pages,
    run,
    server,
    session,
    spoken,
    stores,
    tell,
    whole_run,
)

__all__ = ["server", "stores"]


async def ids(store: SessionStore, query: SessionQuery) -> list[str]:
    found = await store.sessions(query)
    names = [entry.session.session_id for entry in found.entries]
    while found.cursor is not None:
        assert len(found.entries) == query.limit
        found = await store.sessions(replace(query, cursor=found.cursor))
        names += [entry.session.session_id for entry in found.entries]
    return names


# ---- the list


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_the_list_is_newest_first_whole_and_without_doubles(
    stores: Stores, limit: int
) -> None:
    store = stores.host()
    for number in range(6):
        store.open_session(session(f"s{number}", updated=float(number // 2)))
    assert await ids(store, SessionQuery(limit=limit)) == ["s5", "s4", "s3", "s2", "s1", "s0"]


async def test_a_run_makes_its_session_the_newest(stores: Stores) -> None:
    store = stores.host()
    for number in range(3):
        store.open_session(session(f"s{number}", updated=float(number)))
    whole_run(store, "r1", "s0", started=10.0)
    found = await store.sessions(SessionQuery(limit=1))
    assert found.entries[0].session.session_id == "s0"
    assert found.entries[0].runs == 1
    assert found.entries[0].status == "completed"
    assert not found.entries[0].elsewhere


async def test_the_list_can_be_of_one_workspace(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1", workspace="one"))
    store.open_session(session("s2", workspace="two"))
    assert await ids(store, SessionQuery(workspace="one")) == ["s1"]
    assert await ids(store, SessionQuery(workspace="three")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["s1", "s2", "s3"]),
        ("parser", ["s1"]),
        ("PARSER fix", ["s1"]),
        ("fix", ["s1", "s2"]),
        ("fix title", ["s1"]),
        ("straße ÜBER", ["s2"]),
        ("STRASSE", ["s2"]),
        ("100%", ["s3"]),
        ("10_", []),
        ("second-prompt", ["s1"]),
        ("'; DROP TABLE runs; --", []),
        ("\0\ud800", []),
    ],
)
async def test_words_are_found_in_titles_and_prompts(
    stores: Stores, text: str, expected: list[str]
) -> None:
    store = stores.host()
    store.open_session(session("s1", title="A Title"))
    store.start_run(run("r1", "s1", "Fix the parser"))
    store.start_run(run("r2", "s1", "second-prompt"))
    store.open_session(session("s2", title="Straße"))
    store.start_run(run("r3", "s2", "über fix"))
    store.open_session(session("s3", title="100% done"))
    assert sorted(await ids(store, SessionQuery(text=text))) == expected


# ---- forks


async def forked_from(stores: Stores) -> SessionStore:
    store = stores.host()
    store.open_session(session("s1", title="Original", title_by="user"))
    for number in (1, 2, 3):
        whole_run(store, f"r{number}", text=f"run {number}. ")
    return store


@pytest.mark.parametrize(
    ("at_run", "text", "said"),
    [
        ("r1", "run 1. ", ["run 1. "]),
        ("r2", "run 1. run 2. ", ["run 1. ", "run 2. "]),
        (None, "run 1. run 2. run 3. ", ["run 1. ", "run 2. ", "run 3. "]),
    ],
)
async def test_a_fork_has_everything_up_to_its_run(
    stores: Stores, at_run: str | None, text: str, said: list[str]
) -> None:
    store = await forked_from(stores)
    fork = await store.fork("s1", "s2", at_run=at_run)
    assert fork == await store.session("s2")
    assert (fork.parent_session, fork.parent_run) == ("s1", at_run or "r3")
    assert (fork.title, fork.created) == ("Original", stores.clock.now)
    found = await pages(store, "s2", 5)
    assert spoken(found) == text
    assert_without_gap(found)
    assert [item["said"] for item in await store.history("s2")] == said
    copies = await store.runs("s2")
    assert not {record.run_id for record in copies} & {"r1", "r2", "r3"}
    assert {(record.session_id, record.status) for record in copies} == {("s2", "completed")}


async def test_a_fork_and_its_original_go_on_apart(stores: Stores) -> None:
    store = await forked_from(stores)
    await store.fork("s1", "s2", at_run="r1")
    whole_run(store, "r4", "s2", text="fork")
    assert spoken([await store.load("s1")]) == "run 1. run 2. run 3. "
    assert spoken([await store.load("s2")]) == "run 1. fork"
    assert len(await store.history("s1")) == 3
    assert await store.history("s2") == ({"said": "run 1. "}, {"said": "fork"})
    await store.delete("s1")
    assert spoken([await store.load("s2")]) == "run 1. fork"


async def test_a_fork_before_a_compaction_has_what_was_compacted_later(stores: Stores) -> None:
    store = await forked_from(stores)
    store.remember("s1", None, [{"said": "summary"}], boundary=True)
    whole_run(store, "r4", text="after")
    await store.fork("s1", "early", at_run="r2")
    await store.fork("s1", "late")
    assert [item["said"] for item in await store.history("early")] == ["run 1. ", "run 2. "]
    assert [item["said"] for item in await store.history("late")] == ["summary", "after"]


async def test_forks_that_can_t_be_are_refused(stores: Stores) -> None:
    store = await forked_from(stores)
    store.open_session(session("other"))
    whole_run(store, "of-other", "other")
    store.start_run(run("going"))
    tell(store, "going", [Started("a", "b", "c"), Text("unfinished")])
    for at_run in ("no", "of-other"):
        with pytest.raises(RunNotFound):
            await store.fork("s1", "s2", at_run=at_run)
    with pytest.raises(InvalidRequest):
        await store.fork("s1", "s2", at_run="going")
    with pytest.raises(InvalidRequest):
        await store.fork("s1", "other")
    fork = await store.fork("s1", "s2")
    assert fork.parent_run == "r3"
    assert "unfinished" not in spoken([await store.load("s2")])


async def test_a_session_without_runs_can_be_forked(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    assert (await store.fork("s1", "s2")).parent_run is None
    assert await store.runs("s2") == ()


# ---- export and import


async def exported(store: SessionStore, session_id: str) -> list[str]:
    return [line async for line in store.export(session_id)]


async def test_an_export_is_lines_of_json_and_an_import_of_it_the_same_session(
    stores: Stores,
) -> None:
    store = await forked_from(stores)
    store.remember("s1", None, [{"said": "summary"}], boundary=True)
    store.remember("s1", None, [], boundary=True)
    store.remember("s1", None, [{"said": "\0\ud800"}])
    lines = await exported(store, "s1")
    assert [json.loads(line)["kind"] for line in lines][:2] == ["session", "run"]
    assert all(line.endswith("\n") for line in lines)
    before = [await store.session("s1"), await store.runs("s1"), await store.history("s1")]
    await store.delete("s1")
    assert await store.import_session(lines) == before[0]
    after = [await store.session("s1"), await store.runs("s1"), await store.history("s1")]
    assert after == before
    assert await exported(store, "s1") == lines
    whole_run(store, "r4", text="goes on")
    assert spoken(await pages(store, "s1", 4)) == "run 1. run 2. run 3. goes on"


async def test_an_import_of_what_is_there_is_one_more_session(stores: Stores) -> None:
    store = await forked_from(stores)
    lines = await exported(store, "s1")
    copy = await store.import_session([*lines, "\n"])
    assert copy.session_id != "s1"
    assert spoken([await store.load(copy.session_id)]) == "run 1. run 2. run 3. "
    found = await store.runs(copy.session_id)
    assert not {record.run_id for record in found} & {"r1", "r2", "r3"}
    assert spoken([await store.load("s1")]) == "run 1. run 2. run 3. "


async def test_an_imported_run_that_was_going_is_interrupted(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    copy = await store.import_session(await exported(store, "s1"))
    (found,) = await store.runs(copy.session_id)
    assert found.status == "interrupted"


async def test_a_bad_import_names_its_line_and_leaves_nothing(stores: Stores) -> None:
    store = await forked_from(stores)
    lines = await exported(store, "s1")
    await store.delete("s1")
    doubled = next(index for index, line in enumerate(lines) if '"kind":"delta"' in line)
    broken = {
        1: [],
        2: [lines[0], "{"],
        3: [*lines[:2], "[]"],
        4: [*lines[:3], lines[0]],
        5: [*lines[:4], '{"kind":"new"}'],
        len(lines) - 1: [*lines[:4], *lines[5:]],
        len(lines): [*lines[:-1], "\n"],
        doubled + 2: [*lines[: doubled + 1], lines[doubled]],
        len(lines) + 1: [*lines, lines[-1]],
    }
    for number, bad in broken.items():
        with pytest.raises(InvalidRequest, match=rf"line ({number}|{number - 1}) "):
            await store.import_session(bad)
    assert await ids(store, SessionQuery()) == []
