"""The runtime `claude-code` on the real CLI, in a clean home, against a vendor on loopback."""

import asyncio
import json
import platform
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_host.core.model import Limits, RuntimeOptions
from agent_host.runtimes.claude_cli import ClaudeRuntime
from agent_host.runtimes.claude_info import claude_info
from tests.boundary.claude_support import Gate, Sink, request, run, runtime, saying
from tests.vendors.anthropic import AnthropicVendor
from tests.vendors.server import Refused, need
from tests.vendors.turns import Call, Turn

MODULES = Path(__file__).parents[1] / "clis" / "node_modules" / "@anthropic-ai"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
CLAUDE = MODULES / f"claude-code-linux-{MACHINE}" / "claude"
READ = Call("mcp__agent-host__fs_read", {"path": "a.txt"})


class ClaudeVendor(AnthropicVendor):
    """Takes what the CLI sends beside what our own client does."""

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        if not path.startswith("/v1/messages?"):
            raise Refused("not here", 404)
        if headers.get("x-api-key") != self.KEY:
            raise Refused("invalid x-api-key", 401)
        need(body.get("messages"), "messages: at least one message is required")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Path]:
    made = tmp_path / "home"
    made.mkdir()
    (tmp_path / "ws").mkdir()
    yield tmp_path
    shutil.rmtree(made)


def real(server: ClaudeVendor, home: Path, **more: Any) -> ClaudeRuntime:
    environ = {"HOME": str(home / "home"), "ANTHROPIC_API_KEY": ClaudeVendor.KEY}
    env = {
        "ANTHROPIC_BASE_URL": server.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }
    fields = {"inherit": ("ANTHROPIC_API_KEY",), "environ": environ, "env": env}
    return runtime((str(CLAUDE),), **{**fields, **more})


def texts(body: Any) -> str:
    return json.dumps(body["messages"])


async def test_prompt_tool_allowed_denied_and_resume(home: Path) -> None:
    turns = (
        Turn("Let me see.", thinking="Hm.", calls=(READ,)),
        Turn("It was read."),
        Turn("Once more.", calls=(READ,)),
        Turn("It was denied."),
    )
    async with ClaudeVendor(*turns) as server:
        which = real(server, home)
        gate = Gate()
        result, sink = await run(which, home / "ws", gate, limits=Limits(max_turns=5))
        assert result.error is None
        assert (result.status, result.output) == ("completed", "It was read.")
        assert (sink.said, sink.thought) == ("Let me see.It was read.", "Hm.")
        assert [(call.name, dict(call.arguments)) for call in gate.calls] == [
            ("fs_read", {"path": "a.txt"})
        ]
        assert "text of a.txt" in texts(server.bodies[1])
        first = server.bodies[0]
        assert {tool["name"] for tool in first["tools"]} == {
            "mcp__agent-host__fs_read",
            "mcp__agent-host__fs_list",
        }
        assert "Be brief." in json.dumps(first["system"])
        assert result.usage is not None
        assert (result.usage.requests, result.usage.input_tokens) == (2, 200)
        assert (result.usage.cached_tokens, result.usage.reasoning_tokens) == (120, 10)
        assert result.usage.cost_usd
        assert sink.exits == [(0, None)]
        assert "credential: ANTHROPIC_API_KEY" in sink.logs[0]

        gate = Gate(allows=lambda _: False)
        again, sink = await run(which, home / "ws", gate, history=tuple(sink.memory))
        assert (again.status, again.output) == ("completed", "It was denied.")
        assert again.session == result.session
        assert "It was read." in texts(server.bodies[2])
        assert "The user said no." in texts(server.bodies[3])


async def test_what_is_said_meanwhile_is_in_its_next_call_of_the_model(home: Path) -> None:
    turns = (Turn("Look.", calls=(READ,)), *[Turn("As you like.")] * 2)
    async with ClaudeVendor(*turns) as server:
        gate = Gate()
        said = saying("rather that", gate)
        result, sink = await run(real(server, home), home / "ws", gate, take_steering=said)
        assert (result.status, result.output) == ("completed", "As you like.")
        # It may come in by a hair too late, and is then a turn of its own.
        assert "rather that" in texts(server.bodies[-1])
        assert not any("has not been taken" in line for line in sink.logs)


async def test_stop_in_mid_stream_and_in_a_call_then_go_on(home: Path) -> None:
    turns = (
        Turn("I was about to", hang="text"),
        Turn("Trying.", calls=(READ,)),
        Turn("Here again."),
    )
    async with ClaudeVendor(*turns) as server:
        which, history = real(server, home), ()
        for number in (1, 2):
            sink, gate = Sink(), Gate(hang=True)
            async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
                wish = request(home / "ws", f"number {number}", history=history)
                work = tasks.create_task(which.run(wish, sink, gate))
                await (sink.spoke if number == 1 else gate.entered).wait()
                work.cancel()
            assert work.cancelled()
            assert gate.inside == 0
            assert len(sink.exits) == 1
            history = (*history, *sink.memory)
        result, _ = await run(which, home / "ws", history=history)
        assert (result.status, result.output) == ("completed", "Here again.")
        assert "number 1" in texts(server.bodies[-1])
        assert "number 2" in texts(server.bodies[-1])


async def test_its_own_tools_ask_whatever_the_projects_settings_allow(home: Path) -> None:
    settings = home / "ws" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"allow": ["Bash(*)", "Write", "Read"]}}))
    turns = (
        Turn("Go.", calls=(Call("Bash", {"command": "touch made.txt", "description": "d"}),)),
        Turn("No? Then look.", calls=(Call("Read", {"file_path": str(settings)}),)),
        Turn("Seen."),
    )
    async with ClaudeVendor(*turns) as server:
        gate = Gate(allows=lambda call: call.name == "fs_read")
        result, _ = await run(real(server, home, tools="native"), home / "ws", gate)
        assert (result.status, result.output) == ("completed", "Seen.")
        assert [call.name for call in gate.asked] == ["terminal_run", "fs_read"]
        assert [status for _, status in gate.settled] == ["failed", "ok"]
        assert not (home / "ws" / "made.txt").exists()
        names = {tool["name"] for tool in server.bodies[0]["tools"]}
        assert names <= {"Bash", "Edit", "Glob", "Grep", "Read", "Write"}


async def test_a_key_that_is_refused_and_none_at_all(home: Path) -> None:
    async with ClaudeVendor() as server:
        wrong = {"HOME": str(home / "home"), "ANTHROPIC_API_KEY": "wrong"}
        result, _ = await run(real(server, home, environ=wrong), home / "ws")
        assert result.error is not None
        assert result.error.code == "auth_failed"
        # A key that nobody configured is not used, though the host has it.
        result, _ = await run(real(server, home, inherit=()), home / "ws")
        assert result.error is not None
        assert "Not logged in" in result.error.message
        assert server.bodies == []


async def test_limits_end_it_with_their_reason(home: Path) -> None:
    async with ClaudeVendor(*[Turn("On.", calls=(READ,))] * 6) as server:
        result, sink = await run(real(server, home), home / "ws", limits=Limits(max_turns=2))
        assert (result.status, result.limit, sink.said) == ("limit", "maxTurns", "On.On.")
        result, _ = await run(real(server, home), home / "ws", limits=Limits(max_cost_usd=0.0001))
        assert (result.status, result.limit) == ("limit", "maxCostUsd")


async def test_a_lost_session_is_told_anew(home: Path) -> None:
    async with ClaudeVendor(Turn("One."), Turn("Two.")) as server:
        which = real(server, home)
        _, sink = await run(which, home / "ws", prompt="first words")
        shutil.rmtree(home / "home")
        (home / "home").mkdir()
        result, _ = await run(which, home / "ws", history=tuple(sink.memory))
        assert result.output == "Two."
        assert "first words" in texts(server.bodies[-1])


def test_it_is_listed_with_its_version(home: Path) -> None:
    found = claude_info({"HOME": str(home)}, RuntimeOptions(command=(str(CLAUDE),)))
    assert found.usable
    assert found.source is not None
    assert "(Claude Code), its own login" in found.source
