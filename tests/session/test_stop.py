"""Stopped means gone: one end, no later delta, nothing in the gate, no open question."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.actions import Command, CommandResult
from agent_host.core.errors import RunNotFound, SessionBusy, SessionNotFound, ShuttingDown
from agent_host.core.events import Answered, Ended, ToolFinished
from agent_host.core.model import TextPart
from agent_host.core.permission import Answer, Question
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.session.manager import Stopped
from tests.fakes import answering, by_kind
from tests.session.stage import Stage, asked, stage, tool


async def never(_: Question) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


async def test_stop_while_the_model_speaks(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        while True:
            sink.text("on and on ")
            await asyncio.sleep(0)

    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.plays(story)
        run = tasks.create_task(host.manager.run(asked(run_id="r")))
        await host.editor.until(lambda: len(host.editor.deltas) > 5)
        assert (await host.manager.stop(run_id="r")).run_ids == ("r",)
        told = len(host.editor.deltas)
        result = await run
        assert (result.status, result.reason) == ("stopped", "stopped by the user")
        assert result.output.startswith("on and on")
        host.plays(answering("Next.")[0])
        assert (await host.manager.run(asked(session_id=result.session_id))).status == "completed"
        assert all(each.run_id != "r" for each in host.editor.deltas[told:])
        assert (await host.manager.stop(run_id="r")).run_ids == ()


async def test_stop_while_a_question_is_open_withdraws_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.editor.choose = never
        run = tasks.create_task(host.run(tool("fs_write", path="a", text="x"), session_id="s"))
        await host.editor.until(lambda: bool(host.editor.questions))
        assert [each.state for each in host.manager.status()] == ["needsInput"]
        assert len((await host.manager.stop(session_id="s")).run_ids) == 1
        result, _ = await run
        assert result.status == "stopped"
        assert host.editor.withdrawn == host.editor.questions
        assert host.actions.files == {}
        told = host.told()
        assert [type(delta) for delta in told[-3:]] == [Answered, ToolFinished, Ended]
        assert [d.status for d in told if isinstance(d, ToolFinished)] == ["stopped"]
        assert not await host.store.questions("s")


QUESTIONS = {
    "edit": (tool("fs_write", path="a", text="x"), True),
    "command": (tool("terminal_run", command="make"), True),
    "trust": (tool("fs_write", path="a", text="x"), False),
}


@pytest.mark.parametrize("name", QUESTIONS)
async def test_stop_is_an_answer_to_every_question(tmp_path: Path, name: str) -> None:
    call, trusted = QUESTIONS[name]
    async with stage(tmp_path, trusted=trusted) as host:
        host.editor.choose = by_kind("stop")
        result, statuses = await host.run(call, tool("fs_write", "c2", path="b", text="x"))
        assert (result.status, result.reason) == ("stopped", "stopped by the user")
        assert statuses == []
        assert (host.actions.files, host.actions.commands) == ({}, [])
        (question,) = host.editor.questions
        assert question.options[-1].title == "Stop"
        assert [d.status for d in host.told() if isinstance(d, ToolFinished)] == ["stopped"]


async def test_stop_from_a_question_runs_nothing_that_waits(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        answers: asyncio.Queue[str] = asyncio.Queue()

        async def choose(question: Question) -> Answer:
            kind = await answers.get()
            return Answer(next(each for each in question.options if each.kind == kind))

        host.editor.choose = choose
        run = tasks.create_task(host.run(tool("fs_write", path="a", text="x"), session_id="s"))
        await host.editor.until(lambda: bool(host.editor.questions))
        await host.manager.steer("s", (TextPart("later"),), "next")
        answers.put_nowait("stop")
        assert (await run)[0].status == "stopped"
        assert [each.state for each in host.manager.status()] == ["idle"]
        assert [each.prompt for each in host.manager.waiting("s")] == [(TextPart("later"),)]


async def test_stop_waits_until_the_command_is_gone(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def command(_: Command) -> CommandResult:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            gone.set()
        raise AssertionError

    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.actions.command = command
        run = tasks.create_task(host.run(tool("terminal_run", command="sleep 9"), run_id="r"))
        await host.actions.started.wait()
        await host.manager.stop(run_id="r")
        assert gone.is_set()
        assert (await run)[0].status == "stopped"


async def test_a_runtime_that_cleans_up_slowly_is_waited_for(tmp_path: Path) -> None:
    clean = asyncio.Event()

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.text("working")
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            sink.text("late")
            clean.set()
        raise AssertionError

    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.plays(story)
        tasks.create_task(host.manager.run(asked(run_id="r")))
        await host.editor.until(lambda: len(host.told()) == 2)
        await host.manager.stop(run_id="r")
        assert clean.is_set()
        assert host.ended() == ["stopped"]


async def test_stop_before_the_run_has_begun(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        run = tasks.create_task(host.manager.run(asked(run_id="r")))
        await asyncio.sleep(0)
        assert (await host.manager.stop()).run_ids == ("r",)
        assert (await run).status == "stopped"
        assert [type(d).__name__ for d in host.told()] == ["Started", "Ended"]


async def test_cancelling_the_request_stops_the_run_first(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.choose = never
        async with asyncio.TaskGroup() as tasks:
            run = tasks.create_task(host.run(tool("fs_write", path="a", text="x")))
            await host.editor.until(lambda: bool(host.editor.questions))
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        assert host.ended() == ["stopped"]


async def test_stopping_one_run_leaves_the_others(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        await release.wait()
        return RuntimeResult("completed", "")

    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.plays(story)
        runs = [tasks.create_task(host.manager.run(asked(run_id=name))) for name in "ab"]
        await host.editor.until(lambda: len(host.told()) == 2)
        await host.manager.stop(run_id="a")
        release.set()
        assert [(await run).status for run in runs] == ["stopped", "completed"]


async def test_unknown_ids_are_named(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        with pytest.raises(RunNotFound, match="nope"):
            await host.manager.stop(run_id="nope")
        with pytest.raises(SessionNotFound, match="nope"):
            await host.manager.stop(session_id="nope")
        assert await host.manager.stop() == Stopped(())


async def test_whoever_stops_a_run_can_send_the_next_prompt_at_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.editor.choose = never
        tasks.create_task(host.run(tool("fs_write", path="a", text="x"), session_id="s"))
        await host.editor.until(lambda: bool(host.editor.questions))
        stops = [tasks.create_task(host.manager.stop(session_id="s")) for _ in range(2)]
        await asyncio.sleep(0)
        host.plays(answering("Done.")[0])
        assert (await host.manager.run(asked(session_id="s"))).status == "completed"
        assert (await stops[0]).run_ids == (await stops[1]).run_ids != ()


async def test_what_another_host_runs_is_stopped_there(tmp_path: Path) -> None:
    async with (
        stage(tmp_path / "1") as one,
        stage(tmp_path / "2", shelf=one.shelf, name="y") as two,
        asyncio.TaskGroup() as tasks,
    ):
        one.editor.choose = never
        request = asked(session_id="s", run_id="r")
        one.plays(answering("Done.", tool("fs_write", path="a", text="x"))[0])
        tasks.create_task(one.manager.run(request))
        await one.editor.until(lambda: bool(one.editor.questions))
        for which in ({"run_id": "r"}, {"session_id": "s"}):
            with pytest.raises(SessionBusy, match="another editor"):
                await two.manager.stop(**which)
        await one.manager.stop()
        for which in ({"run_id": "r"}, {"session_id": "s"}):
            assert await two.manager.stop(**which) == Stopped(())


async def test_closing_stops_everything_and_takes_nothing_more(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.editor.choose = never
        run = tasks.create_task(host.run(tool("fs_write", path="a", text="x")))
        await host.editor.until(lambda: bool(host.editor.questions))
        await host.manager.close()
        assert (await run)[0].status == "stopped"
        with pytest.raises(ShuttingDown):
            await host.manager.run(asked())


async def test_each_session_asks_on_its_own(tmp_path: Path) -> None:
    """A question that waits in one session holds up its own questions and no others."""
    answers: dict[str, asyncio.Future[str]] = {}

    async def choose(question: Question) -> Answer:
        answers[question.call_id] = asyncio.get_running_loop().create_future()
        kind = await answers[question.call_id]
        return Answer(next(each for each in question.options if each.kind == kind))

    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.editor.choose = choose
        host.plays(_both)
        runs = {
            name: tasks.create_task(host.manager.run(asked(name, session_id=name)))
            for name in ("one", "two")
        }
        await _open(host, answers, "one-a", "two-a")
        assert set(answers) == {"one-a", "two-a"}
        answers["two-a"].set_result("allowOnce")
        await _open(host, answers, "two-b")
        assert "one-b" not in answers
        answers["two-b"].set_result("deny")
        assert (await runs["two"]).output == "ok denied"
        answers["one-a"].set_result("deny")
        await _open(host, answers, "one-b")
        answers["one-b"].set_result("allowOnce")
        assert (await runs["one"]).output == "denied ok"


async def _both(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
    name = request.session_id
    async with asyncio.TaskGroup() as tasks:
        calls = [
            tasks.create_task(
                gate.call(tool("fs_write", f"{name}-{n}", path=f"{name}-{n}", text="x"))
            )
            for n in "ab"
        ]
    return RuntimeResult("completed", " ".join([call.result().status for call in calls]))


async def _open(host: Stage, answers: dict[str, asyncio.Future[str]], *names: str) -> None:
    await host.editor.until(lambda: all(name in answers for name in names))


async def test_a_run_that_the_host_ends_says_why(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.editor.choose = never
        run = tasks.create_task(host.run(tool("fs_write", path="a", text="x")))
        await host.editor.until(lambda: bool(host.editor.questions))
        host.manager.stop_soon(reason="the editor has stopped reading")
        result, _ = await run
        assert (result.status, result.reason) == ("stopped", "the editor has stopped reading")
        assert host.told()[-1] == Ended("stopped", "the editor has stopped reading")
