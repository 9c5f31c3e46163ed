"""What went wrong for people whose agent is a program, played by both kinds of programs."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_host.core.errors import AgentHostError
from agent_host.core.model import JsonObject
from tests.boundary.action_support import processes, until
from tests.boundary.claude_support import FAKE, Gate, Sink, fake, request, run
from tests.boundary.test_acp import NAME as ACP
from tests.boundary.test_acp import Hands, agent

PLAYED: tuple[tuple[str, Callable[..., Any]], ...] = (("claude-code", fake), (ACP, agent))

both = pytest.mark.parametrize(("model", "plays"), PLAYED, ids=[name for name, _ in PLAYED])


# ---- its stream ends early


@both
@pytest.mark.parametrize(
    ("behaviour", "said", "calls"),
    [
        ("ends_after_nothing", "", 0),
        ("ends_without_a_result", "That was it.", 0),
        ("ends_after_half_call", "", 0),
        ("ends_after_tool", "", 1),
    ],
)
async def test_an_end_too_early_is_no_success_and_keeps_what_was_done(
    tmp_path: Path, model: str, plays: Callable[..., Any], behaviour: str, said: str, calls: int
) -> None:
    gate = Hands()
    result, sink = await run(plays(behaviour), tmp_path, gate, model=model)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "runtime_failed"
    assert "ended with code 0 before it had finished" in result.error.message
    assert (sink.said, len(gate.calls)) == (said, calls), "nothing is tried a second time"
    called = [item for item in sink.memory if item["type"] == "function_call"]
    outputs = [item for item in sink.memory if item["type"] == "function_call_output"]
    assert [item["call_id"] for item in outputs] == [item["call_id"] for item in called]
    if behaviour == "ends_after_tool":
        assert outputs[0].get("status") != "incomplete"
    _, again = await run(plays("answers"), tmp_path, model=model, history=tuple(sink.memory))
    assert again.said.startswith("Hello")


@both
async def test_an_answer_without_an_end_is_no_success(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    result, sink = await run(plays("is_cut_short"), tmp_path, model=model)
    assert (result.status, sink.said) == ("failed", "That was")
    assert result.error is not None
    assert "ask it to go on" in result.error.message


@both
async def test_what_it_prints_in_place_of_messages_is_in_the_error(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    result, _ = await run(plays("prints_usage"), tmp_path, model=model)
    assert result.error is not None
    told = result.error.message
    assert re.search(r"ended with code 0.*it printed: Usage: .*only knows --help", told), told


# ---- keys and logins


@both
async def test_keys_that_it_echoes_are_told_to_nobody(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    environ = {"THE_KEY": "my-own-kind-of-key"}
    which = plays("echoes_keys", environ=environ, inherit=("THE_KEY",))
    result, sink = await run(which, tmp_path, model=model)
    assert isinstance(result.error, AgentHostError)
    told = f"{result.error.message} {sink.logs} {sink.said} {sink.memory}"
    assert "***" in told
    assert "secretsecret" not in told
    assert "my-own-kind" not in told


async def test_a_login_that_expires_is_told_with_the_next_step(tmp_path: Path) -> None:
    result, _ = await run(agent("login_expires"), tmp_path, model=ACP)
    assert result.error is not None
    assert result.error.code == "auth_failed"
    assert "log in" in result.error.message


# ---- going back to its own session


@both
@pytest.mark.parametrize("own", ["--help", "a b/\u00fc\u2028\"'$", "x" * 3000])
async def test_its_own_session_is_handed_back_as_it_was(
    tmp_path: Path, model: str, plays: Callable[..., Any], own: str
) -> None:
    kept: JsonObject = {"type": "runtime_session", "runtime": model, "id": own, "session": "s"}
    said = {"claude-code": "reflects", ACP: "tells_session"}[model]
    _, sink = await run(plays(said), tmp_path, model=model, history=(kept,))
    told = json.loads(sink.said)
    assert own in (told["argv"][-1] if model == "claude-code" else told).removeprefix("--resume=")


@both
async def test_a_history_that_its_vendor_refuses_is_told_anew(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    _, first = await run(plays("answers"), tmp_path, model=model, prompt="first words")
    history = tuple(first.memory)
    which = plays("history_is_refused")
    result, sink = await run(which, tmp_path, model=model, history=history)
    assert result.status == "completed"
    assert "first words" in sink.said
    assert any("can't go back to its session" in line for line in sink.logs)


@both
async def test_one_that_its_vendor_refuses_after_a_tool_is_not_begun_anew(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    _, first = await run(plays("answers"), tmp_path, model=model)
    gate, which = Hands(), plays("history_is_refused")
    changed = {"model": model, "history": tuple(first.memory), "prompt": "too late"}
    result, _ = await run(which, tmp_path, gate, **changed)
    assert result.error is not None
    assert "start a new session" in result.error.message
    assert len(gate.calls) == 1


# ---- agents within it


@both
@pytest.mark.parametrize("allowed", [True, False])
async def test_an_agent_within_it_is_judged_like_itself(
    tmp_path: Path, model: str, plays: Callable[..., Any], *, allowed: bool
) -> None:
    gate = Gate(allows=lambda _: allowed)
    which = plays("asks_nested", tools="native")
    result, sink = await run(which, tmp_path, gate, model=model)
    assert (result.status, sink.said) == ("completed", "")
    (asked,) = gate.asked
    assert asked.arguments["command"] == "echo made > made.txt"
    assert (tmp_path / "made.txt").exists() == allowed
    assert not allowed or gate.settled == [(asked.call_id, "ok")]


async def test_an_agent_within_it_that_acts_unasked_ends_it(tmp_path: Path) -> None:
    result, _ = await run(agent("acts_nested"), tmp_path, model=ACP)
    assert result.error is not None
    assert "without asking: execute: Run it" in result.error.message


# ---- its way to our tools


async def test_one_that_begins_before_it_has_reached_our_tools_is_told_of(tmp_path: Path) -> None:
    gate = Gate()
    result, sink = await run(fake("begins_early"), tmp_path, gate)
    assert (result.status, len(gate.calls)) == ("completed", 1)
    assert any("before it has reached the host's tools" in line for line in sink.logs)


async def test_one_that_never_reaches_our_tools_says_what_that_means(tmp_path: Path) -> None:
    result, sink = await run(fake("never_reaches"), tmp_path)
    assert result.status == "completed"
    (line,) = (line for line in sink.logs if "has used none of the host's tools" in line)
    assert "Run it again" in line
    _, sink = await run(fake("begins_early"), tmp_path)
    assert not any("used none" in line for line in sink.logs)


# ---- it asks around its end


async def test_what_it_asks_just_before_and_after_its_end_is_answered(tmp_path: Path) -> None:
    gate = Gate()
    result, _ = await run(agent("asks_around_end"), tmp_path, gate, model=ACP)
    assert result.status == "completed"
    assert (tmp_path / "made.txt").read_text() == "one\ntwo\n"
    assert gate.settled == [("l1", "ok"), ("l2", "ok")]


# ---- its processes


@both
async def test_stop_takes_the_whole_tree_though_it_ignores_the_signal(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    sink, which = Sink(), plays("grandchild", end_seconds=0.5)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        work = tasks.create_task(which.run(request(tmp_path, model=model), sink, Gate()))
        await until(lambda: len(list(tmp_path.glob("pid-*"))) == 2)
        await sink.spoke.wait()
        work.cancel()
    assert sink.exits == [(None, "SIGKILL")]
    pids = {int(path.name.partition("-")[2]) for path in tmp_path.glob("pid-*")}
    assert not pids & processes(lambda _: True)


@both
async def test_a_program_dies_with_the_host(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    """The host is killed, so that nothing in it can clean up."""
    code = f"""
import asyncio, sys
from pathlib import Path
from tests.boundary.claude_support import run
from {plays.__module__} import {plays.__name__} as plays
asyncio.run(run(plays("grandchild"), Path({str(tmp_path)!r}), model={model!r}))
"""
    folder = FAKE.parents[1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=folder)
    await until(lambda: len(list(tmp_path.glob("pid-*"))) == 2)
    os.kill(process.pid, 9)
    await process.wait()
    pids = {int(path.name.partition("-")[2]) for path in tmp_path.glob("pid-*")}
    await until(lambda: not pids & processes(lambda _: True))
