"""The runtime `claude-code` on a fake CLI that behaves well, and in each way that went wrong."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from agent_host.core.errors import AgentHostError, ModelNotFound, RuntimeMissing
from agent_host.core.model import Limits, Usage
from tests.boundary.claude_support import (
    SESSION,
    Gate,
    Sink,
    fake,
    request,
    run,
    runtime,
    saying,
)


async def test_a_plain_answer_with_usage_and_session(tmp_path: Path) -> None:
    which = fake("answers")
    assert which.status("s") == "idle"
    result, sink = await run(which, tmp_path)
    assert (result.status, result.output, sink.said) == ("completed", "Done.", "Hello.")
    assert result.session == SESSION
    assert sink.used == [result.usage]
    assert result.usage == Usage(1, 100, 20, cached_tokens=60, cost_usd=0.5)
    assert sink.exits == [(0, None)]
    assert sink.logs == [
        "claude-code: claude 9.9.9, model claude-opus-4-8, credential: its own login"
    ]
    assert which.status("s") == "completed"


async def test_our_tools_are_called_through_the_gate(tmp_path: Path) -> None:
    gate = Gate()
    result, sink = await run(fake("calls"), tmp_path, gate)
    assert result.status == "completed"
    assert [(c.call_id, c.name, c.arguments) for c in gate.calls] == [
        ("toolu_1", "fs_read", {"path": "a.txt"})
    ]
    assert sink.said == "It says: text of a.txt"
    _, sink = await run(fake("calls"), tmp_path, Gate(allows=lambda _: False))
    assert sink.said == "It says: The user said no."


async def test_what_it_is_told_and_what_it_may_see(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "CLAUDECODE": "1",
        "ANTHROPIC_API_KEY": "secret",
        "OPENAI_API_KEY": "secret",
        "ANTHROPIC_BASE_URL": "http://x",
        "HTTPS_PROXY": "http://proxy",
        "CLAUDE_CONFIG_DIR": "/c",
    }
    limits = Limits(max_turns=7, max_cost_usd=1.5)
    which = fake("reflects", environ=environ, env={"EXTRA": "1"})
    _, sink = await run(which, tmp_path, prompt="/clear", limits=limits, model="claude-code/-opus")
    seen = json.loads(sink.said)
    assert "secret" not in sink.said
    kept = {"HOME", "PATH", "HTTPS_PROXY", "CLAUDE_CONFIG_DIR", "EXTRA"}
    assert kept <= set(seen["env"])
    gone = {"CLAUDECODE", "ANTHROPIC_BASE_URL"}
    assert not gone & set(seen["env"])
    argv = set(seen["argv"])
    assert {"--max-turns=7", "--max-budget-usd=1.500000", "--model=-opus", "--tools="} <= argv
    assert {"--setting-sources=", "--strict-mcp-config", "--permission-mode=default"} <= argv
    assert not any("Bearer" in word or "resume" in word for word in seen["argv"])
    assert seen["prompt"] == [{"type": "text", "text": "The user says: /clear"}]
    assert (seen["system"], seen["cwd"], seen["tty"]) == ("Be brief.", str(tmp_path), False)
    which = fake("reflects", environ=environ, inherit=("ANTHROPIC_API_KEY",), pty=True)
    _, sink = await run(which, tmp_path)
    seen = json.loads(sink.said)
    assert seen["env"]["ANTHROPIC_API_KEY"] == "secret"
    assert "OPENAI_API_KEY" not in seen["env"]
    assert seen["tty"] is True


# ---- its own tools


async def test_its_own_tools_are_judged_one_by_one(tmp_path: Path) -> None:
    gate = Gate()
    result, _ = await run(fake("native", tools="native"), tmp_path, gate)
    assert result.status == "completed"
    (asked,) = gate.asked
    wanted = {"command": "echo made > made.txt", "timeout": 120, "network": True}
    assert (asked.call_id, asked.name, asked.arguments) == ("b1", "terminal_run", wanted)
    assert gate.settled == [("b1", "ok")]
    assert (tmp_path / "made.txt").read_text() == "made\n"


async def test_what_is_denied_is_not_done(tmp_path: Path) -> None:
    gate = Gate(allows=lambda _: False)
    result, _ = await run(fake("native", tools="native"), tmp_path, gate)
    assert result.status == "completed"
    assert gate.settled == [("b1", "failed")]
    assert not (tmp_path / "made.txt").exists()


async def test_a_tool_with_no_counterpart_is_denied(tmp_path: Path) -> None:
    gate = Gate()
    result, sink = await run(fake("odd_tool", tools="native"), tmp_path, gate)
    assert result.status == "completed"
    assert gate.asked == []
    assert "denied" in json.dumps(sink.memory)


async def test_it_can_ask_after_an_answer_and_from_the_background(tmp_path: Path) -> None:
    gate = Gate()
    result, _ = await run(fake("asks_late", tools="native"), tmp_path, gate)
    assert result.status == "completed"
    assert [call.call_id for call in gate.asked] == ["b1", "b2", "b3"]
    assert (tmp_path / "made.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("behaviour", ["never_asks", "ignores_denial"])
@pytest.mark.parametrize("tools", ["native", "gated"])
async def test_one_that_acts_without_being_allowed_is_ended(
    tmp_path: Path, behaviour: str, tools: str
) -> None:
    gate = Gate(allows=lambda _: False)
    result, sink = await run(fake(behaviour, tools=tools, end_seconds=0.5), tmp_path, gate)
    assert result.status == "failed"
    assert result.error is not None
    assert "has used Bash without being allowed" in result.error.message
    assert sink.exits == [(None, "SIGTERM")]


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("more_tools", "offers tools that were switched off (Bash)"),
        ("bypass", "permission mode bypassPermissions"),
        ("no_server", "connection to the host's tools is failed"),
    ],
)
async def test_one_that_cannot_be_gated_is_refused_at_its_start(
    tmp_path: Path, behaviour: str, why: str
) -> None:
    result, _ = await run(fake(behaviour, end_seconds=0.5), tmp_path)
    assert result.status == "failed"
    assert result.error is not None
    assert why in result.error.message


# ---- what is said to it meanwhile


@pytest.mark.parametrize("behaviour", ["is_steered", "is_steered_late"])
async def test_what_is_said_meanwhile_reaches_it(tmp_path: Path, behaviour: str) -> None:
    gate = Gate()
    said = saying("rather that", gate)
    result, sink = await run(fake(behaviour), tmp_path, gate, take_steering=said)
    assert (result.status, result.output) == ("completed", "Done.")
    assert sink.said == "Heard: rather that"
    users = [item["content"] for item in sink.memory if item.get("role") == "user"]
    assert "rather that" in str(users[1])


async def test_one_that_takes_nothing_ends_all_the_same(tmp_path: Path) -> None:
    gate = Gate()
    said = saying("rather that", gate)
    which = fake("never_listens", end_seconds=0.5)
    result, sink = await run(which, tmp_path, gate, take_steering=said)
    assert result.status == "completed"
    assert any("has not been taken: say it again" in line for line in sink.logs)


# ---- how it ends


@pytest.mark.parametrize(
    ("behaviour", "code", "says"),
    [
        ("silent", "runtime_failed", "did not answer within 1 s.*waiting for a terminal"),
        ("exits", "runtime_failed", "ended with code 1.*this CPU is not supported"),
        ("usage", "runtime_failed", "ended with code 2.*unknown option"),
        ("dies", "runtime_failed", "was ended by SIGKILL before it had finished"),
        ("too_long_line", "runtime_failed", "a line that is too long"),
        ("refused_key", "auth_failed", "run `claude` once in a terminal"),
        ("logged_out", "auth_failed", "Not logged in.*ANTHROPIC_API_KEY"),
        ("overloaded", "overloaded", r"claude's model is overloaded \(API Error: 529 \*\*\*\)"),
    ],
)
async def test_a_failure_says_what_to_do(
    tmp_path: Path, behaviour: str, code: str, says: str
) -> None:
    start = 1.0 if behaviour == "silent" else 30.0
    which = fake(behaviour, start_seconds=start, end_seconds=1.0)
    result, sink = await run(which, tmp_path)
    assert isinstance(result.error, AgentHostError)
    assert result.error.code == code
    assert re.search(says, result.error.message), result.error.message
    assert which.status("s") == "failed"
    assert len(sink.exits) == 1


@pytest.mark.parametrize(
    ("behaviour", "ended"),
    [
        ("turns", ("limit", "maxTurns")),
        ("money", ("limit", "maxCostUsd")),
        ("refuses", ("refused", None)),
    ],
)
async def test_other_ends(tmp_path: Path, behaviour: str, ended: tuple[str, str | None]) -> None:
    result, _ = await run(fake(behaviour), tmp_path)
    assert (result.status, result.limit) == ended


async def test_what_is_not_understood_is_logged_and_passed_over(tmp_path: Path) -> None:
    result, sink = await run(fake("chatters"), tmp_path)
    assert (result.status, sink.said) == ("completed", "Hello.")
    logs = "\n".join(sink.logs)
    for text in ("not understood: npm warn something", "not understood: [1, 2", "told on stderr"):
        assert text in logs


async def test_a_line_of_megabytes_passes(tmp_path: Path) -> None:
    _, sink = await run(fake("long_line"), tmp_path)
    assert len(sink.said) == 5_000_000


async def test_there_is_no_such_program(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path / "home")}
    with pytest.raises(
        RuntimeMissing, match=r"npm install.*Searched: .*~/\.claude/local"
    ) as missing:
        await run(runtime((), environ=environ), tmp_path)
    assert str(tmp_path / "home") not in missing.value.message
    with pytest.raises(RuntimeMissing, match=r"is no program.*runtimes\.claude-code\.command"):
        await run(runtime((str(tmp_path / "nothing"),)), tmp_path)
    with pytest.raises(ModelNotFound, match="models of Anthropic only"):
        await run(fake("answers"), tmp_path, model="claude-code/openai/gpt-5")


# ---- stop


async def stopped(behaviour: str, cwd: Path, gate: Gate, **more: object) -> Sink:
    """Stop a run once it has begun to speak, or to call."""
    sink, which = Sink(), fake(behaviour, **more)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        work = tasks.create_task(which.run(request(cwd), sink, gate))
        began = [tasks.create_task(e.wait()) for e in (sink.spoke, gate.entered)]
        await asyncio.wait(began, return_when="FIRST_COMPLETED")
        for each in began:
            each.cancel()
        work.cancel()
    assert work.cancelled()
    return sink


async def test_stop_in_mid_stream(tmp_path: Path) -> None:
    sink = await stopped("streams", tmp_path, Gate(), end_seconds=0.5)
    assert len(sink.exits) == 1
    (last,) = [item for item in sink.memory if item.get("role") == "assistant"]
    assert last["status"] == "incomplete"


async def test_stop_in_a_call(tmp_path: Path) -> None:
    gate = Gate(hang=True)
    sink = await stopped("hangs_in_call", tmp_path, gate, end_seconds=0.5)
    assert gate.inside == 0
    (kept,) = [item for item in sink.memory if item["type"] == "function_call_output"]
    assert kept["status"] == "incomplete"


# ---- going on


async def test_the_next_run_goes_on_with_its_session(tmp_path: Path) -> None:
    _, first = await run(fake("answers"), tmp_path)
    history = tuple(first.memory)
    _, sink = await run(fake("reflects"), tmp_path, history=history)
    seen = json.loads(sink.said)
    assert f"--resume={SESSION}" in seen["argv"]
    assert seen["prompt"] == [{"type": "text", "text": "Do it."}]
    _, sink = await run(fake("reflects"), tmp_path, history=history, session_id="a fork")
    assert {f"--resume={SESSION}", "--fork-session"} <= set(json.loads(sink.said)["argv"])


async def test_what_another_runtime_said_meanwhile_is_told(tmp_path: Path) -> None:
    _, first = await run(fake("answers"), tmp_path)
    meanwhile = {"type": "message", "role": "user", "content": "the word is blue"}
    _, sink = await run(fake("reflects"), tmp_path, history=(*first.memory, meanwhile))
    seen = json.loads(sink.said)
    assert f"--resume={SESSION}" in seen["argv"]
    assert "User: the word is blue" in seen["prompt"][0]["text"]
    assert "Hello." not in seen["prompt"][0]["text"]


async def test_a_session_that_it_has_lost_is_told_anew(tmp_path: Path) -> None:
    _, first = await run(fake("answers"), tmp_path)
    result, sink = await run(fake("lost"), tmp_path, history=tuple(first.memory))
    assert (result.status, sink.said) == ("completed", "Hello.")
    assert any("can't go back to its session" in line for line in sink.logs)
