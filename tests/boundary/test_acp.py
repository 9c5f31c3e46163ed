"""The runtimes `acp:NAME` on an agent of the protocol's own package, well and badly behaved."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_host.actions.environment import scrubbed
from agent_host.core.errors import ModelNotFound, RuntimeMissing
from agent_host.core.model import (
    Limits,
    RawResult,
    RuntimeOptions,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from agent_host.runtimes.acp import AcpRuntime
from agent_host.runtimes.acp_agents import names, program_of
from agent_host.runtimes.mcp_tools import of_servers
from agent_host.tools import CATALOGUE
from tests.boundary.action_support import processes, until
from tests.boundary.claude_support import TOOLS, Gate, Sink, request, run

NAME = "acp:test"
AGENT = Path(__file__).parents[1] / "acp_agent.py"


def agent(
    behaviour: str, *, name: str = NAME, environ: dict[str, str] | None = None, **more: Any
) -> AcpRuntime:
    times = {name: more.pop(name) for name in ("start_seconds", "end_seconds") if name in more}
    command = (sys.executable, str(AGENT), behaviour)
    options = RuntimeOptions(**{"command": command, **more})
    host = {"PATH": os.environ["PATH"], **(environ or {})}
    return AcpRuntime(name, lambda also: scrubbed(host, also), lambda: options, **times)


class Hands(Gate):
    """A gate whose calls answer with something raw."""

    async def call(self, call: ToolCall) -> ToolResult:
        result = await super().call(
            ToolCall(call.call_id, call.name, {"path": "", **call.arguments})
        )
        self.calls[-1] = call
        if result.status != "ok":
            return result
        return ToolResult("ok", "1\tseen", "Done", RawResult("seen\n", 3))


async def ran(which: AcpRuntime, cwd: Path, gate: Gate | None = None, **more: Any) -> Any:
    return await run(which, cwd, gate, model=NAME, **more)


async def test_an_answer_with_thoughts_plan_usage_and_session(tmp_path: Path) -> None:
    which = agent("answers")
    assert which.status("s") == "idle"
    result, sink = await ran(which, tmp_path)
    used = Usage(1, 110, 20, 60, 10, 5, context_tokens=500, context_window=1000)
    assert (result.status, result.output, result.session) == ("completed", "Hello, you.", "1")
    assert (result.usage, sink.used) == (used, [used])
    assert (sink.said, sink.thought) == ("Hello, you.", "Hm.")
    assert sink.plans == [[("Look", "completed"), ("Do", "inProgress")]]
    assert sink.exits == [(0, None)]
    assert which.status("s") == "completed"


async def test_it_goes_back_to_its_own_session(tmp_path: Path) -> None:
    _, first = await ran(agent("repeats"), tmp_path)
    assert json.loads(first.said) == ["Your instructions:\n\nBe brief.\n\n---\n", "Do it."]
    _, again = await ran(agent("repeats"), tmp_path, history=tuple(first.memory), prompt="More.")
    assert json.loads(again.said) == ["More."]


async def test_what_is_replayed_after_the_session_was_loaded_is_not_of_this_run(
    tmp_path: Path,
) -> None:
    _, first = await ran(agent("answers"), tmp_path)
    which = agent("replays_late")
    result, again = await ran(which, tmp_path, history=tuple(first.memory), prompt="More.")
    assert (result.error, again.said) == (None, '["More."]')


@pytest.mark.parametrize("behaviour", ["forgets", "lost"])
async def test_one_that_cannot_go_back_is_told_what_was_said(
    tmp_path: Path, behaviour: str
) -> None:
    _, first = await ran(agent("answers"), tmp_path)
    history = tuple(first.memory)
    result, again = await ran(agent(behaviour), tmp_path, history=history, prompt="More.")
    assert result.status == "completed"
    _, told, prompt = json.loads(again.said)
    assert "User: Do it." in told
    assert "Assistant: Hello, you." in told
    assert prompt == "More."
    assert len(again.exits) == 1
    assert any("can't go back" in line for line in again.logs)


async def test_it_sees_no_key_unless_the_user_wants_it(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "secret", "CLAUDECODE": "1", "HOME": "/h", "HTTPS_PROXY": "p"}
    _, sink = await ran(agent("reflects", environ=environ, env={"EXTRA": "1"}), tmp_path)
    seen = json.loads(sink.said)
    assert seen["cwd"] == str(tmp_path)
    assert {"HOME", "HTTPS_PROXY", "EXTRA"} <= set(seen["env"])
    assert not {"OPENAI_API_KEY", "CLAUDECODE"} & set(seen["env"])
    wanted = agent("reflects", environ=environ, inherit=("OPENAI_API_KEY",))
    _, sink = await ran(wanted, tmp_path)
    assert json.loads(sink.said)["env"]["OPENAI_API_KEY"] == "secret"


# ---- its wishes


async def test_it_reads_through_the_gate(tmp_path: Path) -> None:
    gate = Hands()
    _, sink = await ran(agent("reads"), tmp_path, gate)
    assert sink.said == "seen\n"
    assert [(c.name, c.arguments) for c in gate.calls] == [
        ("fs_read", {"path": str(tmp_path / "a.txt")})
    ]
    result, sink = await ran(agent("reads"), tmp_path, Hands(allows=lambda _: False))
    assert (result.status, sink.said) == ("failed", "")


async def test_it_writes_through_the_gate(tmp_path: Path) -> None:
    gate = Hands()
    result, _ = await ran(agent("writes"), tmp_path, gate)
    assert result.status == "completed"
    (call,) = gate.calls
    wanted = {"path": str(tmp_path / "a.txt"), "text": "new\n"}
    assert (call.name, call.arguments) == ("fs_write", wanted)


async def test_its_terminal_is_a_command_of_ours(tmp_path: Path) -> None:
    gate = Hands()
    _, sink = await ran(agent("terminal"), tmp_path, gate)
    assert sink.said == "3 seen\n"
    assert gate.calls[0].arguments["command"] == "sh -c 'echo out; exit 3'"
    _, sink = await ran(agent("terminal"), tmp_path, Hands(allows=lambda _: False))
    assert sink.said == "126 The user said no."


async def test_its_terminal_can_be_killed(tmp_path: Path) -> None:
    gate = Hands(hang=True)
    _, sink = await ran(agent("kills"), tmp_path, gate)
    assert sink.said == "None SIGTERM"
    assert gate.inside == 0


async def test_its_own_command_is_judged(tmp_path: Path) -> None:
    gate = Gate()
    result, _ = await ran(agent("asks"), tmp_path, gate)
    assert result.status == "completed"
    (asked,) = gate.asked
    wanted = {"command": "echo made > made.txt", "network": True}
    assert (asked.call_id, asked.name, asked.arguments) == ("c1", "terminal_run", wanted)
    assert gate.settled == [("c1", "ok")]
    assert (tmp_path / "made.txt").read_text() == "made\n"


async def test_what_is_denied_is_not_done(tmp_path: Path) -> None:
    gate = Gate(allows=lambda _: False)
    result, sink = await ran(agent("asks"), tmp_path, gate)
    assert result.status == "completed"
    assert len(gate.asked) == 1
    assert not (tmp_path / "made.txt").exists()
    assert any("as the test wants it" in line for line in sink.logs)


async def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    gate = Gate()
    _, sink = await ran(agent("asks_oddly"), tmp_path, gate)
    assert (sink.said, gate.asked) == ("allowed: False", [])


async def test_a_permission_holds_once(tmp_path: Path) -> None:
    gate = Gate()
    _, sink = await ran(agent("asks_twice"), tmp_path, gate)
    assert (sink.said, len(gate.asked)) == ("True False", 1)


@pytest.mark.parametrize("behaviour", ["never_asks", "ignores_denial"])
async def test_one_that_acts_without_being_allowed_is_ended(tmp_path: Path, behaviour: str) -> None:
    gate = Gate(allows=lambda _: False)
    result, sink = await ran(agent(behaviour), tmp_path, gate)
    assert result.status == "failed"
    assert "without asking: execute: Run it; it was ended" in result.error.message
    assert len(sink.exits) == 1


async def test_one_may_act_by_itself_if_the_user_wants_it(tmp_path: Path) -> None:
    which = agent("asks", tools="native")
    result, _ = await ran(which, tmp_path, Gate(allows=lambda _: False))
    assert result.status == "completed"
    sink, gate = Sink(), Gate()
    which = agent("never_asks", tools="native")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(which.run(request(tmp_path, model=NAME), sink, gate))
        await until(lambda: any("without asking" in line for line in sink.logs))
        task.cancel()
    assert (tmp_path / "made.txt").exists()


# ---- what is known of some


async def test_one_is_set_to_the_mode_in_which_it_asks(tmp_path: Path) -> None:
    which = agent("acts_in_auto", name="acp:claude")
    result, sink = await run(which, tmp_path, model="acp:claude")
    assert sink.said == "default"
    assert result.error is not None, "it has left that mode again"
    assert "has left the mode in which it asks (auto); it was ended" in result.error.message
    result, sink = await run(
        agent("stays_in_auto", name="acp:claude"), tmp_path, model="acp:claude"
    )
    assert result.error is not None
    assert "is in the mode auto, and can't be set to default" in result.error.message
    assert sink.said == ""


async def test_one_is_told_of_limits_and_to_read_no_settings(tmp_path: Path) -> None:
    which, limits = agent("reflects_begin", name="acp:claude"), Limits(3, 1.5)
    _, sink = await run(which, tmp_path, model="acp:claude", limits=limits)
    given = json.loads(sink.said)["claudeCode"]["options"]
    assert (given["settingSources"], given["maxTurns"], given["maxBudgetUsd"]) == ([], 3, 1.5)
    _, sink = await ran(agent("reflects_begin"), tmp_path, limits=limits)
    assert "claudeCode" not in sink.said


@pytest.mark.parametrize(("name", "status"), [("acp:codex", "completed"), (NAME, "failed")])
async def test_what_is_run_in_a_sandbox_to_read_only_is_no_act(
    tmp_path: Path, name: str, status: str
) -> None:
    result, sink = await run(agent("confined", name=name), tmp_path, model=name)
    assert result.status == status
    in_log = any("in its own sandbox, to read only: Run it" in line for line in sink.logs)
    assert in_log == (status == "completed")


@pytest.mark.parametrize(("name", "said"), [("acp:gemini", "True False"), (NAME, "False False")])
async def test_a_command_may_be_in_the_title_only(tmp_path: Path, name: str, said: str) -> None:
    gate = Gate()
    _, sink = await run(agent("titled", name=name), tmp_path, gate, model=name)
    assert sink.said == said
    wanted = {"command": "echo a > b", "network": True, "cwd": str(tmp_path)}
    assert [dict(call.arguments) for call in gate.asked] == [wanted][: said.count("True")]


@pytest.mark.parametrize(("name", "said"), [("acp:gemini", "''"), (NAME, "-32002")])
async def test_a_missing_file_is_told_as_each_understands_it(
    tmp_path: Path, name: str, said: str
) -> None:
    class Empty(Gate):
        async def call(self, call: ToolCall) -> ToolResult:
            return ToolResult("failed", "There is none.", "None", code="not_found")

    _, sink = await run(agent("missing", name=name), tmp_path, Empty(), model=name)
    assert sink.said == said


async def test_one_that_goes_no_further_when_denied_has_not_failed(tmp_path: Path) -> None:
    result, _ = await ran(agent("stops_when_denied"), tmp_path, Gate(allows=lambda _: False))
    assert (result.status, result.error) == ("completed", None)
    result, _ = await ran(agent("stops_when_denied"), tmp_path)
    assert result.error is not None, "nobody has denied anything"


async def test_what_it_tells_of_tokens_and_money(tmp_path: Path) -> None:
    result, _ = await ran(agent("quota"), tmp_path)
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 3)
    result, first = await ran(agent("costs"), tmp_path)
    assert (result.usage.requests, result.usage.cost_usd) == (5, 1.0)
    # It counts for the whole of its session.
    history = [*first.memory]
    history[-1] = {**history[-1], "spent": 0.5}
    result, again = await ran(agent("costs"), tmp_path, history=tuple(history))
    assert result.usage.cost_usd == 0.5
    assert again.memory[-1]["spent"] == 1.0


# ---- how it ends


@pytest.mark.parametrize(
    ("behaviour", "status", "says"),
    [
        ("dies", "failed", "ended with code 3 before it had finished (it ended). It said: someth"),
        ("is_killed", "failed", "was ended by SIGKILL"),
        ("usage", "failed", "It said: usage: acp_agent.py BEHAVIOUR"),
        ("wants_login", "failed", "is not logged in. It offers: Log in with a browser."),
        ("other_version", "failed", "speaks version 7"),
        ("fails", "failed", "acp:test failed (the model is overloaded): try again."),
        ("retries", "failed", "its key was refused (Who is it?). Run it once in a terminal"),
        ("refuses", "refused", ""),
        ("turns", "limit", ""),
    ],
)
async def test_each_end_has_its_reason(
    tmp_path: Path, behaviour: str, status: str, says: str
) -> None:
    which = agent(behaviour)
    result, sink = await ran(which, tmp_path)
    assert result.status == status
    assert says in (result.error.message if result.error else "")
    assert len(sink.exits) == 1
    assert sink.retries == (["Once more."] if behaviour == "retries" else [])
    assert which.status("s") == ("failed" if status == "failed" else "completed")


async def test_one_that_stays_silent_is_ended(tmp_path: Path) -> None:
    result, sink = await ran(agent("silent", start_seconds=6.0), tmp_path)
    assert "did not answer within 6 s" in result.error.message
    assert "waiting for nothing" in result.error.message
    assert sink.exits == [(None, "SIGTERM")]


async def test_long_lines_and_what_is_no_message(tmp_path: Path) -> None:
    _, sink = await ran(agent("long_line"), tmp_path)
    assert len(sink.said) == 5 * 1024 * 1024
    result, sink = await ran(agent("prints"), tmp_path)
    assert (result.status, sink.said) == ("completed", "fine")
    assert f"{NAME}: not understood: a note on stdout" in sink.logs
    assert f"{NAME}: a note on stderr" in sink.logs


async def test_a_stop_ends_all_of_it(tmp_path: Path) -> None:
    sink = Sink()
    which = agent("hangs")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(which.run(request(tmp_path, model=NAME), sink, Gate()))
        await asyncio.wait_for(sink.spoke.wait(), 30)
        child = int((tmp_path / "child").read_text())
        assert child in processes(lambda _: True)
        task.cancel()
    assert (tmp_path / "cancelled").exists()
    assert len(sink.exits) == 1
    assert child not in processes(lambda _: True)
    assert sink.memory[-2]["status"] == "incomplete"


async def test_a_stop_answers_what_it_has_asked(tmp_path: Path) -> None:
    class Waits(Gate):
        async def permit(self, call: ToolCall) -> Any:
            self.entered.set()
            await asyncio.Event().wait()

    gate = Waits()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(ran(agent("waits_for_permission"), tmp_path, gate))
        await asyncio.wait_for(gate.entered.wait(), 30)
        task.cancel()
    assert (tmp_path / "answered-False").exists()


# ---- which there are


def test_the_known_ones_and_those_of_the_settings() -> None:
    known = ("acp:claude", "acp:codex", "acp:gemini", "acp:opencode")
    assert names(["claude-code", "acp:gemini", "acp:mine"]) == tuple(sorted((*known, "acp:mine")))


def test_a_missing_one_says_what_was_searched(tmp_path: Path) -> None:
    with pytest.raises(RuntimeMissing) as missing:
        program_of("acp:gemini", RuntimeOptions(), {"PATH": str(tmp_path)})
    assert "npm install -g @google/gemini-cli" in missing.value.message
    assert str(tmp_path) in missing.value.message
    with pytest.raises(RuntimeMissing, match="name its program"):
        program_of("acp:mine", RuntimeOptions(), {})


async def test_a_model_is_its_own_affair(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="chooses its own model"):
        await run(agent("answers"), tmp_path, model=f"{NAME}/big")


def test_no_tool_of_ours_is_called_as_those_of_mcp_servers_are() -> None:
    assert of_servers(ToolSpec(tool.name, "", {}) for tool in CATALOGUE) == ()


EXTERNAL = (ToolSpec("docs__find", "Find it.", {"type": "object"}),)


async def test_an_agent_that_reaches_servers_by_http_calls_tools_of_mcp_servers_through_the_gate(
    tmp_path: Path,
) -> None:
    gate = Gate()
    result, sink = await ran(agent("calls_tool"), tmp_path, gate, tools=(*TOOLS, *EXTERNAL))
    assert result.status == "completed"
    allowed, other, answer, names = json.loads(sink.said)
    assert (allowed, other, names) == (True, False, ["docs__find"])
    assert [(call.name, call.arguments) for call in gate.calls] == [("docs__find", {"path": "x"})]
    assert answer == "text of x"
    denied = Gate(allows=lambda _: False)
    result, sink = await ran(agent("calls_tool"), tmp_path, denied, tools=(*TOOLS, *EXTERNAL))
    assert json.loads(sink.said)[2] == "The user said no."


async def test_an_agent_that_reaches_none_is_told_of_in_the_log(tmp_path: Path) -> None:
    result, sink = await ran(agent("answers"), tmp_path, tools=(*TOOLS, *EXTERNAL))
    assert result.status == "completed"
    assert "reaches no server by HTTP: docs__find" in str(sink.logs)
