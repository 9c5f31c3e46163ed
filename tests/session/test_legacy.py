"""What a host that was killed has left: who takes it up, and what becomes of it if nobody can."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.errors import ModelNotFound, SessionBusy
from agent_host.core.events import Asked
from agent_host.core.model import Limits, RunRequest, TextPart
from agent_host.core.permission import Question
from agent_host.core.records import RunRecord
from tests.session.stage import Stage, asked, stage
from tests.session.test_compact import compacting, library
from tests.session.test_steer import Turns, begun

CALL = {"type": "function_call", "call_id": "c1", "name": "fs_list", "arguments": "{}"}


def killed_while_asking(host: Stage, *, runtime: str = "sdk", cwd: str = "/w") -> None:
    """As an earlier host has left the session `s`."""
    prompt = (TextPart("do it"),)
    run = RunRecord("r", "s", prompt, "coder", "scripted/x", runtime, 0.0, cwd, Limits())
    host.store.start_run(run)
    host.store.remember("s", "r", [CALL])
    host.store.ask(Question("s", "r", "c1", "May it?", "", ()))
    host.store.release("s")
    # Its runs are that host's, which is gone.
    host.shelf.runners["r"] = "gone"
    host.shelf.leases.pop("s", None)
    host.shelf.bury(0.0)


async def words(host: Stage) -> str:
    prompt = host.runtime.requests[-1].prompt
    return "\n".join(part.text for part in prompt if isinstance(part, TextPart))


async def test_the_runtime_is_told_which_calls_to_wish_once_more(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        killed_while_asking(host)
        await host.manager.run(asked("go on", session_id="s"))
        assert host.runtime.requests[-1].unanswered == ("c1",)
        assert await words(host) == "go on"
        assert await host.store.questions("s") == ()
        await host.manager.run(asked("more", session_id="s"))
        assert host.runtime.requests[-1].unanswered == ()


async def test_a_run_that_could_not_begin_leaves_it_to_the_next(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        killed_while_asking(host)
        with pytest.raises(ModelNotFound):
            await host.manager.run(asked(session_id="s", model="openai/any"))
        assert len(await host.store.questions("s")) == 1
        await host.manager.run(asked(session_id="s"))
        assert host.runtime.requests[-1].unanswered == ("c1",)


@pytest.mark.parametrize(
    ("left", "request_"),
    [
        ({"runtime": "other"}, {}),
        ({"runtime": "sdk"}, {"runtime": "other"}),
        ({"cwd": "/w/elsewhere"}, {"cwd": "/w"}),
    ],
)
async def test_what_cannot_be_put_is_withdrawn_in_words(
    tmp_path: Path, left: dict[str, str], request_: dict[str, str]
) -> None:
    async with stage(tmp_path, more_runtimes=("other",)) as host:
        killed_while_asking(host, **left)
        await host.manager.run(asked("go on", session_id="s", **request_))
        assert host.runtime.requests[-1].unanswered == ()
        assert "nothing was done:\n- May it?" in await words(host)
        assert await host.store.questions("s") == ()
        assert not any(isinstance(delta, Asked) for delta in host.told())


async def test_a_compaction_withdraws_it_too(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        killed_while_asking(host)
        host.plays(compacting)
        await library(host).compact("s", "")
        assert await host.store.questions("s") == ()
        assert host.runtime.requests[-1].unanswered == ()


async def test_a_session_stays_in_its_folder_unless_told(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        for cwd in ("/w/deep", None, "/w", None):
            await host.manager.run(asked(session_id="s", cwd=cwd))
        assert [each.cwd for each in host.runtime.requests] == ["/w/deep"] * 2 + ["/w"] * 2
    async with stage(tmp_path, shelf=host.shelf, name="n") as later:
        killed_while_asking(later, cwd="/w/deep")
        await later.manager.run(asked(session_id="s"))
        assert later.runtime.requests[-1].cwd == "/w/deep"


async def test_a_session_begins_under_the_editors_own_id(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        turns = Turns()
        host.plays(turns)
        mine = RunRequest((TextPart("one"),), "mine", "r1", create=True)
        first, same = (tasks.create_task(host.manager.run(mine)) for _ in range(2))
        await begun(host, 1)
        with pytest.raises(SessionBusy):
            await host.manager.run(RunRequest((TextPart("two"),), "mine", create=True))
        turns.go.put_nowait("end")
        assert await first == await same
        turns.go.put_nowait("end")
        await host.manager.run(RunRequest((TextPart("two"),), "mine", create=True))
        assert len(await host.store.runs("mine")) == 2
        assert len({each.session_id for each in host.manager.status()}) == 1


async def test_one_that_was_deleted_begins_anew_without_its_past(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        mine = RunRequest((TextPart("one"),), "mine", create=True)
        await host.run(session_id="mine", create=True)
        await host.store.delete("mine")
        await host.manager.run(mine)
        assert host.runtime.requests[-1].history == ()
        assert len(await host.store.runs("mine")) == 1
