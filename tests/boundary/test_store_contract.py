"""What every session store does: in memory, in SQLite, in a real PostgreSQL."""

from dataclasses import replace
from hashlib import sha256

import pytest

from agent_host.core.actions import FileEdit
from agent_host.core.document import Position, Range
from agent_host.core.errors import InvalidRequest, RunNotFound, SessionNotFound
from agent_host.core.events import (
    Answered,
    Asked,
    Delta,
    Edited,
    Ended,
    Logged,
    Omitted,
    PlanEntry,
    Planned,
    Reasoning,
    Retried,
    Started,
    Text,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    Used,
)
from agent_host.core.model import Failure, ImagePart, Limits, ResourcePart, TextPart, Usage
from agent_host.core.permission import Option, Question
from agent_host.core.records import EditRecord, SessionQuery
from tests.boundary.store_support import (
    AGENT,
    Stores,
    assert_without_gap,
    numbered,
    pages,
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

ONE_OF_EACH: tuple[Delta, ...] = (
    Started("coder", "openai/m", "sdk"),
    Reasoning("hm"),
    Text("a\0b \ud83d \U0001f600 \r\n"),
    ToolRequested("c1", "fs.read", {"path": "/x", "deep": {"list": [1, None, 2.5]}}, "Read", "low"),
    Asked("c1", "May I?", "*detail*", (Option("yes", "Yes", "allowOnce"),)),
    Answered("c1", None, "closed"),
    ToolOutput("c1", "stdout", "out"),
    ToolFinished("c1", "ok", "12 lines"),
    Edited("c2", "file:///x", "--- a\n+++ b\n", "applied"),
    Planned((PlanEntry("think", "completed"), PlanEntry("do", "inProgress"))),
    Used(Usage(requests=1, input_tokens=5, cost_usd=None)),
    Logged("permissions", "allow"),
    Retried("overloaded", 2.0),
    Omitted("stdout", 10),
    Ended("limit", reason="maxTurns", exit_code=1, signal="SIGTERM"),
)


async def test_a_session_is_added_once_and_keeps_what_it_was(stores: Stores) -> None:
    store = stores.host()
    first = session("s1", title="First", parent_session="p", parent_run="r")
    store.open_session(first)
    store.open_session(replace(first, title="Second"))
    assert await store.session("s1") == first


async def test_what_is_not_there_is_said_to_be_missing(stores: Stores) -> None:
    store = stores.host()
    for asked in (
        store.session("no"),
        store.runs("no"),
        store.load("no"),
        store.history("no"),
        store.questions("no"),
        store.grants("no"),
        store.rename("no", "x"),
        store.delete("no"),
        store.fork("no", "new"),
        store.acquire("no"),
        anext(aiter(store.export("no"))),
    ):
        with pytest.raises(SessionNotFound):
            await asked
    with pytest.raises(RunNotFound):
        await store.run("no")
    assert await store.edits("no") == ()
    assert await store.contents("00") is None


async def test_a_session_s_role_and_model_can_change(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.update_session("s1", model="gemini/x")
    store.update_session("s1")
    store.update_session("no", role="x")
    assert await store.session("s1") == session("s1", model="gemini/x")


async def test_a_run_comes_back_as_it_began_and_ended(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    place = Range(Position(1, 2), Position(3, 4))
    prompt = (
        TextPart("fix\0 \udc00"),
        ImagePart("image/png", "AAAA"),
        ResourcePart("file:///a", place),
    )
    begun = run("r1", cwd="/w", limits=Limits(max_turns=3, wall_seconds=1.5), parts=prompt)
    store.start_run(begun)
    assert await store.run("r1") == begun
    end = replace(
        result("r1", status="failed", output="half\0"),
        edits=(FileEdit("file:///a", "create"),),
        failure=Failure("rate_limited", "Wait a minute."),
        limit="maxTurns",
        reason="why",
    )
    store.end_run(end)
    ended = replace(
        begun,
        status="failed",
        ended=stores.clock.now,
        usage=end.usage,
        output="half\0",
        edits=end.edits,
        failure=end.failure,
        limit="maxTurns",
        reason="why",
    )
    assert await store.run("r1") == ended
    assert await store.runs("s1") == (ended,)
    assert (await store.session("s1")).updated == stores.clock.now
    assert store.is_stored("r1")


async def test_every_kind_of_delta_comes_back(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    tell(store, "r1", ONE_OF_EACH)
    page = await store.load("s1")
    assert tuple(stored.delta for stored in page.deltas) == ONE_OF_EACH
    assert {stored.origin for stored in page.deltas} == {AGENT}
    assert {stored.at for stored in page.deltas} == {stores.clock.now}
    assert assert_without_gap([page]) == {"r1": len(ONE_OF_EACH)}


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
async def test_pages_hold_everything_once_and_in_order(stores: Stores, limit: int) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    for number in range(4):
        whole_run(store, f"r{number}", text=f"run {number}. ")
    store.start_run(run("empty"))
    found = await pages(store, "s1", limit)
    assert spoken(found) == "run 0. run 1. run 2. run 3. "
    assert list(assert_without_gap(found)) == ["r0", "r1", "r2", "r3"]
    assert all(len(page.deltas) <= limit for page in found)
    begun = [record.run_id for page in found for record in page.runs]
    assert begun == ["r0", "r1", "r2", "r3", "empty"]


async def test_a_cursor_goes_on_where_the_page_ended_while_text_grows(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    found = [await store.load("s1")]
    for seq, word in enumerate(["one ", "two ", "three ", "four"], 1):
        for delta in numbered("r1", [Text(word)], first=seq):
            store.append(delta)
        found.append(await store.load("s1", cursor=found[-1].cursor))
        assert spoken(found[-1:]) == word
    found.append(await store.load("s1", cursor=found[-1].cursor))
    assert found[-1].deltas == ()
    assert found[-1].runs == ()
    assert assert_without_gap(found) == {"r1": 4}


async def test_bad_cursors_are_refused(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    for number in range(3):
        store.open_session(session(f"t{number}"))
    in_list = (await store.sessions(SessionQuery(limit=1))).cursor
    for cursor in ("x", "äö", "e30", in_list):
        with pytest.raises(InvalidRequest):
            await store.load("s1", cursor=cursor)
    in_session = (await store.load("s1")).cursor
    for cursor in ("x", in_session):
        with pytest.raises(InvalidRequest):
            await store.sessions(SessionQuery(cursor=cursor))


async def test_history_is_what_was_remembered_since_the_last_boundary(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    assert await store.history("s1") == ()
    store.start_run(run("r1"))
    store.remember("s1", "r1", [{"n": 1}, {"n": 2, "text": "\0\ud800"}])
    store.remember("s1", "r1", [])
    store.remember("s1", "r1", [{"n": 3}])
    assert await store.history("s1") == ({"n": 1}, {"n": 2, "text": "\0\ud800"}, {"n": 3})
    store.remember("s1", None, [{"summary": "s"}, {"n": 3}], boundary=True)
    store.remember("s1", "r1", [{"n": 4}])
    assert await store.history("s1") == ({"summary": "s"}, {"n": 3}, {"n": 4})
    store.remember("s1", None, [], boundary=True)
    assert await store.history("s1") == ()
    store.remember("s1", "r1", [{"n": 5}])
    assert await store.history("s1") == ({"n": 5},)


async def test_what_is_remembered_is_what_it_was_then(stores: Stores) -> None:
    if stores.kind == "memory":
        return
    store = stores.host()
    store.open_session(session("s1"))
    item: dict[str, object] = {"n": 1}
    store.remember("s1", None, [item])
    item["n"] = 2
    assert await store.history("s1") == ({"n": 1},)


async def test_open_questions_are_kept_until_they_are_settled(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    questions = [
        Question("s1", "r1", f"c{n}", "May I?", "detail", (Option("y", "Yes", "deny"),), diff="d")
        for n in range(3)
    ]
    for question in questions:
        store.ask(question)
    assert await store.questions("s1") == tuple(questions)
    store.settle("r1", "c0")
    store.settle("r1", "no")
    assert await store.questions("s1") == tuple(questions[1:])
    (entry,) = (await store.sessions(SessionQuery())).entries
    assert entry.questions == 2
    store.end_run(result("r1"))
    assert await store.questions("s1") == ()


async def test_grants_are_kept_in_order(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.grant("s1", {"rule": "one"})
    store.grant("s1", {"rule": "two"})
    assert await store.grants("s1") == ({"rule": "one"}, {"rule": "two"})


# ---- edits


def edit(
    edit_id: str, before: bytes | None, after: bytes | None, run_id: str = "r1", **changed: object
) -> EditRecord:
    values = {
        "edit_id": edit_id,
        "session_id": "s1",
        "run_id": run_id,
        "uri": "file:///a",
        "kind": "change",
        "place": "disk",
        "before_sha256": None if before is None else sha256(before).hexdigest(),
        "after_sha256": None if after is None else sha256(after).hexdigest(),
        "at": 3.0,
        **changed,
    }
    return EditRecord(**values)  # pyright: ignore


async def test_edits_keep_their_order_state_and_bytes(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    large = bytes(range(256)) * 4000
    states = [(None, b""), (b"", b"text\0\xff"), (b"text\0\xff", large), (large, None)]
    kept = [edit(f"e{9 - n}", before, after) for n, (before, after) in enumerate(states)]
    for record, (before, after) in zip(kept, states, strict=True):
        assert await store.record_edit(record, before, after)
    store.update_edit("e9", "applied")
    store.update_edit("e6", "applied", trash_id="t1")
    store.update_edit("e6", "reverting")
    assert await store.edits("r1") == (
        replace(kept[0], state="applied"),
        kept[1],
        kept[2],
        replace(kept[3], state="reverting", trash_id="t1"),
    )
    for _, after in states:
        if after is not None:
            assert await store.contents(sha256(after).hexdigest()) == after


async def test_bytes_that_are_not_given_are_not_kept(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    store.start_run(run("r1"))
    record = edit("e1", b"huge", None)
    assert await store.record_edit(record, None, None)
    assert await store.edits("r1") == (record,)
    assert await store.contents(record.before_sha256 or "") is None


async def test_an_edit_of_an_unknown_run_is_not_stored_and_that_is_told(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    assert not await store.record_edit(edit("e1", b"a", b"b", run_id="no"), b"a", b"b")
    await store.flush()
    assert not store.is_stored("no")
    assert [problem.runs for problem in stores.problems] == [("no",)]


# ---- titles, delete


async def test_a_user_s_title_stands(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1", title="from the prompt"))
    assert await store.rename("s1", "by the model", by="model")
    assert await store.rename("s1", "by the user\ud800")
    assert not await store.rename("s1", "by the model again", by="model")
    found = await store.session("s1")
    assert found.title.startswith("by the user")
    assert found.title_by == "user"


async def test_delete_removes_everything_but_what_others_need(stores: Stores) -> None:
    store = stores.host()
    for name in ("s1", "s2"):
        store.open_session(session(name))
    whole_run(store, "r1", "s1")
    whole_run(store, "r2", "s2")
    store.start_run(run("r3", "s1"))
    store.ask(Question("s1", "r3", "c", "?", "", ()))
    store.grant("s1", {"a": 1})
    await store.record_edit(edit("e1", b"mine", b"shared"), b"mine", b"shared")
    other = edit("e2", b"shared", None, run_id="r2", session_id="s2")
    await store.record_edit(other, b"shared", None)
    await store.delete("s1")
    with pytest.raises(SessionNotFound):
        await store.load("s1")
    with pytest.raises(RunNotFound):
        await store.run("r1")
    assert await store.edits("r1") == ()
    assert await store.contents(sha256(b"mine").hexdigest()) is None
    assert await store.contents(sha256(b"shared").hexdigest()) == b"shared"
    assert spoken([await store.load("s2")]) == "hello"
    assert [e.session.session_id for e in (await store.sessions(SessionQuery())).entries] == ["s2"]
    store.open_session(session("s1"))
    assert (await store.history("s1"), await store.grants("s1")) == ((), ())
    assert (await store.load("s1")).deltas == ()


async def test_everything_is_there_for_the_next_host(stores: Stores) -> None:
    store = stores.host()
    store.open_session(session("s1"))
    whole_run(store, "r1")
    await store.close()
    following = stores.host()
    assert spoken([await following.load("s1")]) == "hello"
    assert await following.history("s1") == ({"said": "hello"},)
    await following.acquire("s1")
