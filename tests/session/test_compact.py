"""Compaction as a session sees it: what is remembered, told and asked for."""

from pathlib import Path

import pytest

from agent_host.core.errors import SessionBusy, SessionNotFound
from agent_host.core.events import Compacted
from agent_host.core.model import JsonObject, TextPart
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.session.library import Library
from agent_host.session.present import Present
from agent_host.session.settling import Settler
from tests.fakes import answering
from tests.session.stage import Stage, asked, stage, tool

HOW = Compacted("asked", 900, 100, "All of it.")
SUMMARY: JsonObject = {"type": "message", "role": "user", "content": "All of it."}


async def compacting(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
    del gate
    sink.remember([{"n": len(request.history)}])
    sink.compacted(HOW, [SUMMARY])
    sink.remember([{"n": "after"}])
    return RuntimeResult("completed", "ok")


async def remembering(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
    del request, gate
    sink.remember([{"n": 1}, {"n": 2}])
    return RuntimeResult("completed", "ok")


async def _forgotten(session_id: str) -> None:
    del session_id


def library(on: Stage) -> Library:
    return Library(
        on.store,
        on.manager,
        None,  # type: ignore[arg-type]
        Settler(Present(on.editor, on.actions), on.store),
        lambda: "id",
        lambda: "w",
        _forgotten,
        None,  # type: ignore[arg-type]
    )


async def test_after_a_compaction_the_model_is_given_the_summary_and_what_came_since(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as on:
        on.plays(remembering)
        await on.manager.run(asked(session_id="s"))
        on.plays(compacting)
        result = await on.manager.run(asked(session_id="s"))
        assert HOW in on.told(result.run_id)
        await on.manager.run(asked(session_id="s"))
        assert list(on.runtime.requests[-1].history) == [SUMMARY, {"n": "after"}]
        # As a new process would have it.
        assert list(await on.store.history("s")) == [SUMMARY, {"n": "after"}]
        # What was said is all there still.
        runs = await on.store.runs("s")
        assert len(runs) == 3


@pytest.mark.parametrize(("said", "focus"), [("/compact", ""), ("/compact the tests", "the tests")])
async def test_a_prompt_can_ask_for_it(tmp_path: Path, said: str, focus: str) -> None:
    async with stage(tmp_path) as on:
        on.plays(compacting)
        result = await on.manager.run(asked(said, session_id="s"))
        (request,) = on.runtime.requests
        assert (request.purpose, request.prompt) == ("compact", (TextPart(focus),))
        assert (await on.store.run(result.run_id)).prompt == (TextPart(said),)


async def test_a_request_asks_for_it_as_a_run(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.plays(compacting)
        result = await library(on).compact("s", "the tests")
        assert result.status == "completed"
        assert on.runtime.requests[0].purpose == "compact"
        with pytest.raises(SessionNotFound):
            await library(on).compact("none", "")


async def test_a_busy_session_is_not_compacted(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        refused: list[str] = []

        async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
            del sink, gate
            with pytest.raises(SessionBusy) as caught:
                await library(on).compact(request.session_id, "")
            refused.append(caught.value.code)
            return RuntimeResult("completed", "ok")

        on.plays(story)
        await on.manager.run(asked(session_id="s"))
        assert refused == ["session_busy"]


async def test_instructions_of_folders_are_told_again_after_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.actions.files["/w/a/x"] = b"x\n"
        on.guidance.nested["/w/a"] = "Only here."
        story, first = answering("ok", tool("fs_read", path="a/x"))
        on.plays(story)
        await on.manager.run(asked(session_id="s"))
        on.plays(compacting)
        await on.manager.run(asked(session_id="s"))
        story, again = answering("ok", tool("fs_read", path="a/x"))
        on.plays(story)
        await on.manager.run(asked(session_id="s"))
        assert "Only here." in first[0].text
        assert "Only here." in again[0].text
