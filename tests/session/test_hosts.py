"""Two hosts over one store: a session is where its run is, and its conversation goes along."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.errors import AgentHostError, InvalidRequest, SessionBusy
from agent_host.core.model import JsonObject
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.session.ledger import Ledger
from tests.fakes_shelf import Shelf
from tests.session.stage import Stage, asked, stage
from tests.session.test_compact import library
from tests.session.test_steer import Turns, begun, words


class Talk:
    """A runtime that remembers each prompt; `heard` is what it was given of the past."""

    def __init__(self) -> None:
        self.heard: list[list[JsonObject]] = []

    async def __call__(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate
    ) -> RuntimeResult:
        self.heard.append(list(request.history))
        sink.remember([{"said": request.run_id}])
        return RuntimeResult("completed", "done")


def past(*run_ids: str) -> list[JsonObject]:
    return [{"said": run_id} for run_id in run_ids]


async def test_a_conversation_goes_from_host_to_host_and_back(tmp_path: Path) -> None:
    shelf = Shelf()
    async with (
        stage(tmp_path / "1", shelf=shelf, name="x") as one,
        stage(tmp_path / "2", shelf=shelf, name="y") as two,
    ):
        talks = Talk(), Talk()
        one.plays(talks[0])
        two.plays(talks[1])
        for number, host in enumerate((one, one, two, one, two), 1):
            await host.manager.run(asked(session_id="s", run_id=f"r{number}"))
        assert talks[0].heard == [past(), past("r1"), past("r1", "r2", "r3")]
        assert talks[1].heard == [past("r1", "r2"), past("r1", "r2", "r3", "r4")]
        assert len(await one.store.runs("s")) == 5


async def test_a_session_that_runs_elsewhere_is_refused_until_that_run_has_ended(
    tmp_path: Path,
) -> None:
    shelf = Shelf()
    async with (
        stage(tmp_path / "1", shelf=shelf, name="x") as one,
        stage(tmp_path / "2", shelf=shelf, name="y") as two,
        asyncio.TaskGroup() as tasks,
    ):
        turns = Turns()
        one.plays(turns)
        run = tasks.create_task(one.manager.run(asked(session_id="s")))
        await begun(one, 1)
        with pytest.raises(SessionBusy) as busy:
            await two.manager.run(asked(session_id="s"))
        assert busy.value.details["elsewhere"] is True
        with pytest.raises(SessionBusy):
            await two.manager.steer("s", words("more"), "now")
        turns.go.put_nowait("end")
        await run
        assert (await two.manager.run(asked(session_id="s"))).status == "completed"
        assert (await two.manager.steer("s", words("more"), "now")).accepted == "started"


async def test_a_run_that_an_earlier_host_ended_is_not_done_twice(tmp_path: Path) -> None:
    shelf = Shelf()
    async with stage(tmp_path / "1", shelf=shelf, name="x") as one:
        done = await one.manager.run(asked(session_id="s", run_id="mine"))
        await refused(one, "cut", shelf)
    async with stage(tmp_path / "2", shelf=shelf, name="y") as two:
        assert await two.manager.run(asked(run_id="mine")) == done
        assert two.told() == []
        assert two.manager.status() == ()


async def refused(host: Stage, run_id: str, shelf: Shelf) -> None:
    """A run that was cut off is not begun again by its id, and one of a living host neither."""
    turns = Turns()
    host.plays(turns)
    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(host.manager.run(asked(session_id="one", run_id=run_id)))
        await begun(host, 1)
        errors: list[type[AgentHostError]] = []
        async with stage(host.state / "other", shelf=shelf, name="z") as other:
            for living in (True, False):
                if not living:
                    shelf.heartbeats.clear()
                with pytest.raises(AgentHostError) as refusal:
                    await other.manager.run(asked(run_id=run_id))
                errors.append(type(refusal.value))
        assert errors == [SessionBusy, InvalidRequest]
        turns.go.put_nowait("end")
        await run


async def test_a_run_whose_session_another_host_has_taken_over_ends(tmp_path: Path) -> None:
    shelf = Shelf()
    async with (
        stage(tmp_path / "1", shelf=shelf, name="x") as one,
        stage(tmp_path / "2", shelf=shelf, name="y") as two,
        asyncio.TaskGroup() as tasks,
    ):
        turns = Turns()
        one.plays(turns)
        run = tasks.create_task(one.manager.run(asked(session_id="s", run_id="r")))
        other = tasks.create_task(one.manager.run(asked(session_id="a")))
        await begun(one, 2)
        shelf.heartbeats.pop(one.store._host)  # it was silent for too long
        shelf.leases.pop("s")
        assert await library(two).cut_short("s") == ()
        assert (await two.manager.run(asked(session_id="s"))).status == "completed"
        for _ in range(2):
            turns.go.put_nowait("turn")
        result = await run
        assert (result.status, result.reason) == (
            "stopped",
            "another host has taken the session over",
        )
        turns.go.put_nowait("end")
        assert (await other).status == "completed"
        statuses = [each.status for each in await two.store.runs("s")]
        assert statuses == ["interrupted", "completed"]


async def test_what_runs_elsewhere_is_not_settled_by_who_looks_at_it(tmp_path: Path) -> None:
    shelf = Shelf()
    async with (
        stage(tmp_path / "1", shelf=shelf, name="x") as one,
        stage(tmp_path / "2", shelf=shelf, name="y") as two,
        asyncio.TaskGroup() as tasks,
    ):
        turns = Turns()
        await one.manager.run(asked(session_id="s", run_id="before"))
        one.plays(turns)
        run = tasks.create_task(one.manager.run(asked(session_id="s", run_id="r")))
        await begun(one, 1)
        ids = iter("e")
        ledger = Ledger(
            one.store, session_id="s", run_id="before", new_id=lambda: next(ids), now=one.clock.now
        )
        await ledger.planned("file:///w/a.txt", b"old", b"new", open=False)
        two.actions.files["/w/a.txt"] = b"new"
        assert await library(two).cut_short("s") == ()
        assert shelf.edits["e"].state == "planned"
        turns.go.put_nowait("end")
        await run
        (edit,) = await library(two).cut_short("s")
        assert edit.state == "applied"


async def test_an_idle_host_remembers_the_latest_sessions_only(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        for number in range(103):
            await host.manager.run(asked(run_id=f"r{number}"))
        assert len(host.manager.status()) == 100
        first = (await host.store.run("r0")).session_id
        await host.manager.run(asked(session_id=first))


async def test_what_is_said_to_a_run_that_is_being_stopped_starts_the_next(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        turns = Turns()
        host.plays(turns)
        tasks.create_task(host.manager.run(asked(session_id="s")))
        await begun(host, 1)
        host.manager.stop_soon()
        turns.go.put_nowait("end")
        assert (await host.manager.steer("s", words("go on"), "now")).accepted == "started"
        turns.go.put_nowait("end")
        await begun(host, 2)
        assert turns.prompts[1] == words("go on")
