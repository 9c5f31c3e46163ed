"""Titles made by a model: after the first run only, beside everything, and never in the way."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.session.titles import title_model
from agent_host.settings import Settings
from tests.session.stage import Stage, asked, stage

NAMED = Settings(model="scripted/x", title_model="scripted/titles")


class Namer:
    """Answers runs with "ok" and wishes for a title with `title`; `named` once that is over."""

    def __init__(self, on: Stage, title: str = '"Fix the  tests."\nmore') -> None:
        self.title = title
        self.wishes: list[RuntimeRequest] = []
        self.begun = asyncio.Event()
        self.named = asyncio.Event()
        self.hang = False
        on.plays(self.story)

    async def story(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        del gate
        if not request.session_id.endswith(".title"):
            return RuntimeResult("completed", "ok")
        self.wishes.append(request)
        self.begun.set()
        sink.text(self.title)
        try:
            if self.hang:
                await asyncio.Event().wait()
        finally:
            asyncio.get_running_loop().call_later(0, self.named.set)
        return RuntimeResult("completed", self.title)


async def title_of(on: Stage, session_id: str, was: str) -> str:
    """The title, once it is another than it was (or at once if it never changes)."""
    async with asyncio.timeout(5):
        while (title := (await on.store.session(session_id)).title) == was:
            await asyncio.sleep(0)
    return title


async def test_a_new_session_is_named_by_a_model_after_its_first_run(tmp_path: Path) -> None:
    async with stage(tmp_path, settings=NAMED) as on:
        namer = Namer(on)
        result = await on.manager.run(asked("Please fix them."))
        assert await title_of(on, result.session_id, "Please fix them.") == "Fix the tests"
        (wish,) = namer.wishes
        assert (wish.model, wish.tools, wish.limits.max_turns) == ("scripted/titles", (), 1)
        assert "Please fix them." in str(wish.prompt)
        await on.manager.run(asked(session_id=result.session_id))
        assert len(namer.wishes) == 1
        assert all(not each.session_id.endswith(".title") for each in on.editor.deltas)


async def test_a_title_of_the_user_stays(tmp_path: Path) -> None:
    async with stage(tmp_path, settings=NAMED) as on:
        namer = Namer(on)
        result = await on.manager.run(asked("Please fix them."))
        await on.store.rename(result.session_id, "Mine")
        await namer.named.wait()
        assert (await on.store.session(result.session_id)).title == "Mine"


async def test_a_title_that_hangs_keeps_neither_runs_nor_the_end_waiting(tmp_path: Path) -> None:
    async with stage(tmp_path, settings=NAMED) as on:
        namer = Namer(on)
        namer.hang = True
        result = await on.manager.run(asked("Please fix them."))
        await namer.begun.wait()
        again = await on.manager.run(asked(session_id=result.session_id))
        assert again.status == "completed"
        await on.manager.close()
        assert (await on.store.session(result.session_id)).title == "Please fix them."


@pytest.mark.parametrize(
    ("chosen", "model", "made_by"),
    [
        (None, "openai/x", "openai/x"),
        (None, "scripted/x", None),
        ("none", "openai/x", None),
        ("openai/small", "scripted/x", "openai/small"),
    ],
)
def test_who_makes_titles(chosen: str | None, model: str, made_by: str | None) -> None:
    assert title_model(chosen, model) == made_by
