"""Agents that call agents: no more rights, shared limits, one stop, questions from any depth."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from agent_host.core.actions import Command, CommandResult
from agent_host.core.events import Asked, Ended, Logged, Text, ToolFinished, ToolRequested, Used
from agent_host.core.model import (
    Callee,
    Limits,
    Role,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
)
from agent_host.core.permission import Answer, Question, Rule
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.session.planner import MAX_DEPTH
from agent_host.session.team import MAX_AT_WORK
from agent_host.settings import Settings
from tests.fakes import Story, by_kind
from tests.session.stage import Stage, asked, limits, role, stage, tool

READS = frozenset({"fs.read"})
WRITE = tool("fs_write", path="a.txt", text="new\n")
COMMAND = tool("terminal_run", command="make it")


def call(name: str, prompt: str = "Help.", call_id: str = "c1") -> ToolCall:
    return tool("agent_call", call_id, role=name, prompt=prompt)


def calling(*names: str, **changed: object) -> Role:
    return role("lead", may_call=tuple(map(Callee, names)), **changed)


def doing(*calls: ToolCall, says: str = "Done.") -> tuple[Story, list[ToolResult]]:
    """A story that makes the calls side by side, each as one turn's."""
    results: list[ToolResult] = []

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        results.extend(await asyncio.gather(*map(gate.call, calls)))
        sink.text(says)
        sink.usage(Usage(1, 10, 1, cost_usd=0.25))
        sink.remember([{"said": says}])
        return RuntimeResult("completed", says)

    return story, results


def cast(host: Stage, **parts: Story) -> None:
    """Have each role play its part."""

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        return await parts[request.role.name](request, sink, gate)

    host.plays(story)


def paths(host: Stage, kind: type) -> list[tuple[str, ...]]:
    return [each.origin.path for each in host.editor.deltas if isinstance(each.delta, kind)]


async def test_the_answer_of_an_agent_is_the_result_of_its_call(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        host.actions.files["/w/a.txt"] = b"text\n"
        lead, results = doing(call("helper", "Look."))
        helper, _ = doing(tool("fs_read", path="a.txt"), says="It says text.")
        cast(host, lead=lead, helper=helper)
        result = await host.manager.run(asked(role="lead", session_id="s"))
        assert (result.status, result.output) == ("completed", "Done.")
        assert [(each.status, each.text) for each in results] == [("ok", "It says text.")]
        first, second = host.runtime.requests
        assert second.prompt == (TextPart("Look."),)
        assert (second.history, second.instructions != "") == ((), True)
        assert paths(host, Text) == [("lead", "helper"), ("lead",)]
        assert paths(host, ToolRequested) == [("lead",), ("lead", "helper")]
        ids = [d.call_id for d in host.told() if isinstance(d, ToolRequested)]
        assert ids == ["c1", "c1/c1"]
        assert await host.store.history("s") == ({"said": "Done."},)
        kept = await host.store.load("s")
        assert ("lead", "helper") in {each.origin.path for each in kept.deltas}
        assert (result.usage.requests, result.usage.cost_usd) == (2, 0.5)
        assert [d.usage.requests for d in host.told() if isinstance(d, Used)] == [1, 2]
        assert "agent_call" in {spec.name for spec in first.tools}
        assert "agent_call" not in {spec.name for spec in second.tools}


async def test_a_role_is_offered_the_agents_that_there_are(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(calling("helper", "gone"), role("helper"))) as host:
        await host.run(role="lead")
        (spec,) = [each for each in host.runtime.requests[0].tools if each.name == "agent_call"]
        assert spec.parameters["properties"]["role"]["enum"] == ["helper"]  # type: ignore[index]
        assert "The helper." in str(spec.parameters)


@pytest.mark.parametrize(
    ("name", "status"), [("stranger", "denied"), ("gone", "failed"), ("lead", "denied")]
)
async def test_nobody_else_can_be_called(tmp_path: Path, name: str, status: str) -> None:
    async with stage(tmp_path, roles=(calling("gone"), role("stranger"))) as host:
        _, statuses = await host.run(call(name), role="lead")
        assert statuses == [status]
        assert len(host.runtime.requests) == 1


@pytest.mark.parametrize(
    ("callee", "statuses"),
    [
        (Callee("writer"), ["denied", "denied"]),
        (Callee("writer", frozenset({"terminal"})), ["denied", "ok"]),
        (Callee("writer", frozenset({"terminal", "fs.write"})), ["ok", "ok"]),
    ],
)
async def test_a_reader_has_no_writer_unless_its_file_says_so(
    tmp_path: Path, callee: Callee, statuses: list[str]
) -> None:
    reader = role("lead", skills=READS, may_call=(callee,))
    async with stage(tmp_path, roles=(reader, role("writer"))) as host:
        writer, results = doing(WRITE, replace(COMMAND, call_id="c2"))
        lead, _ = doing(call("writer"))
        cast(host, lead=lead, writer=writer)
        await host.manager.run(asked(role="lead"))
        assert [each.status for each in results] == statuses
        assert len(host.editor.questions) == statuses.count("ok")
        assert bool(host.actions.files) == (statuses[0] == "ok")
        offered = {spec.name for spec in host.runtime.requests[1].tools}
        assert ("fs_write" in offered) == ("fs.write" in callee.keeps)
        assert "fs_read" in offered


async def test_bans_of_the_caller_hold_for_the_called(tmp_path: Path) -> None:
    lead_role = calling("helper", rules=(Rule("deny", "fs.read", ".env"),))
    async with stage(tmp_path, roles=(lead_role, role("helper"))) as host:
        host.actions.files["/w/.env"] = b"KEY=1\n"
        helper, results = doing(tool("fs_read", path=".env"))
        cast(host, lead=doing(call("helper"))[0], helper=helper)
        await host.manager.run(asked(role="lead"))
        assert [each.status for each in results] == ["denied"]


@pytest.mark.parametrize(("effect", "status"), [("deny", "denied"), ("ask", "ok")])
async def test_rules_are_about_calls_of_agents_too(
    tmp_path: Path, effect: str, status: str
) -> None:
    rules = (Rule(effect, "agent.call", "help*"),)  # type: ignore[arg-type]
    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        host.settings = Settings(model="scripted/x", rules=rules)
        lead, results = doing(call("helper", "Look at `everything`."))
        cast(host, lead=lead, helper=doing()[0])
        await host.manager.run(asked(role="lead"))
        assert [each.status for each in results] == [status]
        titles = [each.title for each in host.editor.questions]
        assert len(titles) == (effect == "ask")
        assert all("call the agent helper: Look at" in title for title in titles)


LINE = tuple(
    role(name, may_call=(Callee(below),)) for name, below in (("a", "b"), ("b", "c"), ("c", "d"))
)


async def test_a_question_from_any_depth_reaches_the_person(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(*LINE, role("d"))) as host, asyncio.TaskGroup() as tasks:
        answers: asyncio.Queue[str] = asyncio.Queue()

        async def choose(question: Question) -> Answer:
            return by_kind(await answers.get())(question)  # type: ignore[return-value]

        host.editor.choose = choose
        asks, results = doing(WRITE)
        line = {name: doing(call(below))[0] for name, below in (("a", "b"), ("b", "c"), ("c", "d"))}
        cast(host, **line, d=asks)
        run = tasks.create_task(host.manager.run(asked(role="a")))
        await host.editor.until(lambda: bool(host.editor.questions))
        (question,) = host.editor.questions
        assert question.title.startswith("a/b/c/d wants to create /w/a.txt")
        assert question.wish == "a/b/c/d wants to create /w/a.txt"
        assert paths(host, Asked) == [("a", "b", "c", "d")]
        assert [each.state for each in host.manager.status()] == ["needsInput"]
        answers.put_nowait("allowOnce")
        assert (await run).status == "completed"
        assert [each.status for each in results] == ["ok"]


async def test_calls_go_no_deeper_than_a_bound(tmp_path: Path) -> None:
    again = role("again", may_call=(Callee("again"),))
    async with stage(tmp_path, roles=(again,)) as host:
        story, results = doing(call("again"))
        cast(host, again=story)
        await host.manager.run(asked(role="again"))
        assert len(host.runtime.requests) == MAX_DEPTH
        assert [each.status for each in results] == ["denied", *["ok"] * (MAX_DEPTH - 1)]
        assert "agent_call" not in {spec.name for spec in host.runtime.requests[-1].tools}


async def test_one_stop_ends_all_agents_and_what_they_do(tmp_path: Path) -> None:
    gone: list[str] = []

    async def command(_: Command) -> CommandResult:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            gone.append("command")
        raise AssertionError

    async def talker(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        del request, gate
        try:
            while True:
                sink.text("on ")
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            gone.append("talker")

    roles = (calling("runner", "talker"), role("runner"), role("talker"))
    async with stage(tmp_path, roles=roles) as host, asyncio.TaskGroup() as tasks:
        host.actions.command = command
        lead, _ = doing(call("runner"), call("talker", call_id="c2"))
        cast(host, lead=lead, runner=doing(COMMAND)[0], talker=talker)
        run = tasks.create_task(host.manager.run(asked(role="lead", session_id="s", run_id="r")))
        await host.actions.started.wait()
        await host.manager.steer("s", (TextPart("later"),), "next")
        stopped = await host.manager.stop(run_id="r")
        assert sorted(gone) == ["command", "talker"]
        assert [each.prompt for each in stopped.handed_back] == [(TextPart("later"),)]
        assert (await run).status == "stopped"
        ended = [d.call_id for d in host.told() if isinstance(d, ToolFinished)]
        assert sorted(ended) == ["c1", "c1/c1", "c2"]
        assert ended.index("c1/c1") < ended.index("c1")
        assert isinstance(host.told()[-1], Ended)


async def test_stop_is_an_answer_to_an_agents_question_too(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        host.editor.choose = by_kind("stop")
        cast(host, lead=doing(call("helper"))[0], helper=doing(WRITE)[0])
        assert (await host.manager.run(asked(role="lead"))).status == "stopped"
        assert host.actions.files == {}


async def test_denials_of_an_agent_end_the_run(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        host.editor.choose = by_kind("deny")
        denied = [replace(WRITE, call_id=f"c{number}") for number in range(9)]
        cast(host, lead=doing(call("helper"))[0], helper=doing(*denied)[0])
        result = await host.manager.run(asked(role="lead"))
        assert (result.status, result.limit) == ("limit", "denials")
        assert len(host.editor.questions) <= 3 + 1


# ---- limits


def working(price: float | None, log: list[str]) -> Story:
    """An agent that calls its model for ever, at a price."""

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        del gate
        while True:
            async with request.turn():
                log.append(request.role.name)
                await asyncio.sleep(0)
                sink.usage(Usage(1, 10, 1, cost_usd=price))

    return story


@pytest.mark.parametrize("price", [0.02, 0.25, 0.5, 0.7, 3.0])
async def test_three_agents_share_the_budget(tmp_path: Path, price: float) -> None:
    names = ("one", "two", "three")
    async with stage(tmp_path, roles=(calling(*names), *map(role, names))) as host:
        log: list[str] = []
        lead, _ = doing(*(call(name, call_id=name) for name in names))
        cast(host, lead=lead, **dict.fromkeys(names, working(price, log)))
        result = await host.manager.run(asked(role="lead", limits=limits(max_cost_usd=1.25)))
        assert (result.status, result.limit) == ("limit", "maxCostUsd")
        assert 1.25 < (result.usage.cost_usd or 0) <= 1.25 + price + 1e-9
        assert len(log) * price <= 1.25 + price + 1e-9  # begun, though not ended
        if price < 0.25:
            assert set(log) == set(names)


async def test_what_has_no_price_does_not_lift_the_limit_of_what_has_one(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(calling("free", "dear"), role("free"), role("dear"))) as host:

        async def free(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
            del request, gate
            sink.usage(Usage(1, 10, 1))
            return RuntimeResult("completed", "Done.")

        lead, _ = doing(call("free", call_id="1"), call("dear", call_id="2"))
        cast(host, lead=lead, free=free, dear=working(0.25, []))
        result = await host.manager.run(asked(role="lead", limits=limits(max_cost_usd=1.0)))
        assert (result.status, result.limit, result.usage.cost_usd) == ("limit", "maxCostUsd", None)
        notes = [d.text for d in (e.delta for e in host.editor.deltas) if isinstance(d, Logged)]
        assert len([note for note in notes if "does not count for the limit of 1 US" in note]) == 1


async def test_agents_share_the_turns(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    async with stage(tmp_path, roles=(calling(*names), *map(role, names))) as host:
        log: list[str] = []
        lead, _ = doing(*(call(name, call_id=name) for name in names))

        async def then_asks(
            request: RuntimeRequest, sink: RunSink, gate: ToolGate
        ) -> RuntimeResult:
            async with request.turn():
                sink.text("I shall see.")
            await lead(request, sink, gate)
            async with request.turn():
                raise AssertionError

        cast(host, lead=then_asks, **dict.fromkeys(names, working(None, log)))
        result = await host.manager.run(asked(role="lead", limits=limits(max_turns=10)))
        assert (result.status, result.limit) == ("limit", "maxTurns")
        assert len(log) == 9
        assert result.output.startswith("I shall see.")


async def silent(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
    """An agent that says one word and no more."""
    del request, gate
    sink.text("Hm.")
    await asyncio.Event().wait()
    raise AssertionError


OWN_LIMITS: Mapping[str, Limits] = {
    "maxTurns": Limits(max_turns=2),
    "maxCostUsd": Limits(max_cost_usd=0.3),
    "wallSeconds": Limits(wall_seconds=0.01),
    "inactivitySeconds": Limits(inactivity_seconds=0.05),
}


@pytest.mark.parametrize("name", OWN_LIMITS)
async def test_an_agents_own_limit_ends_that_agent(tmp_path: Path, name: str) -> None:
    helper = role("helper", limits=OWN_LIMITS[name])
    async with stage(tmp_path, roles=(calling("helper"), helper)) as host:
        host.clock.monotonic = asyncio.get_running_loop().time  # type: ignore[method-assign]
        lead, results = doing(call("helper"))
        cast(host, lead=lead, helper=silent if "Seconds" in name else working(0.2, []))
        result = await host.manager.run(asked(role="lead"))
        assert result.status == "completed"
        ((status, text),) = [(each.status, each.text) for each in results]
        assert (status, f"limit {name}" in text) == ("failed", True)
        assert ("So far it said:\nHm." in text) == ("Seconds" in name)


def by_itself(price: float | None, log: list[str], *, in_all: bool) -> Story:
    """An agent whose program calls its model for ever, and asks nobody whether it may."""

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        del gate
        sink.text("I work.")
        for number in count(1):
            log.append(request.role.name)
            await asyncio.sleep(0)
            cost = None if price is None else price * (number if in_all else 1)
            (sink.total if in_all else sink.usage)(Usage(number if in_all else 1, cost_usd=cost))
        raise AssertionError

    return story


@pytest.mark.parametrize("in_all", [True, False])
@pytest.mark.parametrize(
    ("price", "most", "name", "steps"),
    [
        (None, limits(max_turns=10), "maxTurns", 10),
        (0.25, limits(max_cost_usd=1.0), "maxCostUsd", 4),
    ],
)
async def test_a_program_counts_into_the_budget_of_all(
    tmp_path: Path, price: float | None, most: Limits, name: str, steps: int, *, in_all: bool
) -> None:
    async with stage(tmp_path, roles=(calling("one", "two"), role("one"), role("two"))) as host:
        log: list[str] = []
        both, _ = doing(call("one", call_id="one"), call("two", call_id="two"))

        async def lead(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
            await both(request, sink, gate)
            return await silent(request, sink, gate)

        story = by_itself(price, log, in_all=in_all)
        cast(host, lead=lead, one=story, two=working(price, log))
        result = await host.manager.run(asked(role="lead", limits=most))
        assert (result.status, result.limit) == ("limit", name)
        assert steps <= len(log) <= steps + 3
        assert set(log) == {"one", "two"}


@pytest.mark.parametrize("in_all", [True, False])
async def test_a_program_that_was_called_ends_at_its_own_limit(
    tmp_path: Path, *, in_all: bool
) -> None:
    helper = role("helper", limits=Limits(max_turns=3))
    async with stage(tmp_path, roles=(calling("helper"), helper)) as host:
        log: list[str] = []
        lead, results = doing(call("helper"))
        cast(host, lead=lead, helper=by_itself(0.1, log, in_all=in_all))
        result = await host.manager.run(asked(role="lead"))
        assert result.status == "completed"
        assert 4 <= len(log) <= 5
        assert "limit maxTurns" in results[0].text
        assert "So far it said:\nI work." in results[0].text
        assert result.usage.requests == len(log)


async def test_the_silence_of_an_agent_is_the_runs(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        host.clock.monotonic = asyncio.get_running_loop().time  # type: ignore[method-assign]
        cast(host, lead=doing(call("helper"))[0], helper=silent)
        given = limits(inactivity_seconds=0.05)
        result = await host.manager.run(asked(role="lead", limits=given))
        assert (result.status, result.limit) == ("limit", "inactivitySeconds")


async def test_only_so_many_agents_work_at_once(tmp_path: Path) -> None:
    async def waiting(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        del request, gate
        await full.wait()
        sink.text("Here.")
        return RuntimeResult("completed", "Here.")

    full = asyncio.Event()
    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        calls = [call("helper", call_id=f"c{number}") for number in range(MAX_AT_WORK + 1)]

        async def lead(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
            del request, sink
            async with asyncio.TaskGroup() as tasks:
                made = [tasks.create_task(gate.call(each)) for each in calls]
                await asyncio.wait(made, return_when=asyncio.FIRST_COMPLETED)
                full.set()
            statuses.extend(each.result().status for each in made)
            return RuntimeResult("completed", "")

        statuses: list[str] = []
        cast(host, lead=lead, helper=waiting)
        await host.manager.run(asked(role="lead"))
        assert sorted(statuses) == ["failed", *["ok"] * MAX_AT_WORK]


async def test_a_broken_agent_is_a_failed_call(tmp_path: Path) -> None:
    async def broken(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        del request, gate
        sink.text("Half an ans")
        raise RuntimeError("a bug")

    async with stage(tmp_path, roles=(calling("helper"), role("helper"))) as host:
        lead, results = doing(call("helper"))
        cast(host, lead=lead, helper=broken)
        assert (await host.manager.run(asked(role="lead"))).status == "completed"
        ((status, text),) = [(each.status, each.text) for each in results]
        assert (status, "Half an ans" in text) == ("failed", True)
