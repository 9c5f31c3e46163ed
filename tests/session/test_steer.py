"""Saying something while a run goes on: it is taken, queued, started or handed back, never lost."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.errors import SessionNotFound
from agent_host.core.events import Text
from agent_host.core.model import Origin, PromptPart, TextPart
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from tests.session.stage import Stage, asked, stage


class Turns:
    """A runtime that takes a turn whenever it is let, and ends when it is told."""

    def __init__(self) -> None:
        self.go: asyncio.Queue[str] = asyncio.Queue()
        self.heard: list[tuple[PromptPart, ...]] = []
        self.prompts: list[tuple[PromptPart, ...]] = []

    async def __call__(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate
    ) -> RuntimeResult:
        self.prompts.append(request.prompt)
        sink.text("working")
        while await self.go.get() == "turn":
            self.heard.append(request.take_steering())
            sink.text("turn")
        return RuntimeResult("completed", "done")


def words(text: str) -> tuple[PromptPart, ...]:
    return (TextPart(text),)


async def begun(host: Stage, count: int) -> None:
    await host.editor.until(lambda: host.told().count(Text("working")) == count)


async def test_now_reaches_the_run_and_next_waits_for_its_end(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        turns = Turns()
        host.plays(turns)
        run = tasks.create_task(host.manager.run(asked(session_id="s")))
        await begun(host, 1)
        steered = await host.manager.steer("s", words("rather this"), "now")
        queued = await host.manager.steer("s", words("then that"), "next")
        gone = await host.manager.steer("s", words("never mind"), "next")
        assert [steered.accepted, queued.accepted] == ["steered", "queued"]
        assert [each.id for each in host.manager.waiting("s")] == [steered.id, queued.id, gone.id]
        assert host.manager.take_back("s", gone.id)
        assert not host.manager.take_back("s", gone.id)
        turns.go.put_nowait("turn")
        turns.go.put_nowait("end")
        await run
        assert turns.heard == [words("rather this")]
        said = [each for each in host.editor.deltas if each.origin == Origin("user")]
        assert [each.delta for each in said] == [Text("rather this")]
        await begun(host, 2)
        turns.go.put_nowait("end")
        await host.editor.until(lambda: len(host.ended()) == 2)
        assert turns.prompts[1] == words("then that")
        assert host.manager.waiting("s") == ()


async def test_an_agent_that_cannot_hear_it_now_gets_it_next(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        turns = Turns()
        host.plays(turns)
        host.runtime.steers = False
        run = tasks.create_task(host.manager.run(asked(session_id="s")))
        await begun(host, 1)
        queued = await host.manager.steer("s", words("rather this"), "now")
        assert queued.accepted == "queued"
        assert [each.when for each in host.manager.waiting("s")] == ["next"]
        turns.go.put_nowait("end")
        await run
        await begun(host, 2)
        turns.go.put_nowait("end")
        await host.editor.until(lambda: len(host.ended()) == 2)
        assert turns.prompts[1] == words("rather this")


async def test_what_came_too_late_for_the_run_starts_the_next(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        turns = Turns()
        host.plays(turns)
        run = tasks.create_task(host.manager.run(asked(session_id="s")))
        await begun(host, 1)
        await host.manager.steer("s", words("queued"), "next")
        await host.manager.steer("s", words("late"), "now")
        for _ in range(3):
            turns.go.put_nowait("end")
        await run
        await host.editor.until(lambda: len(host.ended()) == 3)
        assert turns.prompts[1:] == [words("late"), words("queued")]


async def test_steering_an_idle_session_starts_a_run(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        await host.manager.run(asked(session_id="s"))
        started = await host.manager.steer("s", words("more"), "now")
        assert started.accepted == "started"
        assert (await host.manager.run(asked(run_id=started.run_id))).status == "completed"
        with pytest.raises(SessionNotFound):
            await host.manager.steer("nope", words("more"), "now")


async def test_stop_hands_back_what_waited(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.plays(Turns())
        tasks.create_task(host.manager.run(asked(session_id="s")))
        await begun(host, 1)
        await host.manager.steer("s", words("later"), "next")
        stopped = await host.manager.stop(session_id="s")
        assert [each.prompt for each in stopped.handed_back] == [words("later")]
        assert host.ended() == ["stopped"]
        assert [each.state for each in host.manager.status()] == ["idle"]
