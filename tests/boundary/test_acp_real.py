"""The runtime `acp:opencode` on the real agent, in a clean home, against a vendor on loopback."""

import asyncio
import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest

from agent_host.actions.environment import scrubbed
from agent_host.core.model import RuntimeOptions
from agent_host.runtimes.acp import AcpRuntime
from tests.boundary.action_support import processes, until
from tests.boundary.claude_support import Gate, Sink, request, run
from tests.vendors.chat import ChatVendor
from tests.vendors.server import Refused
from tests.vendors.turns import Call, Turn

NAME = "acp:opencode"
MODULES = Path(__file__).parents[1] / "clis" / "node_modules"
MACHINE = {"x86_64": "x64-baseline", "aarch64": "arm64"}[platform.machine()]
OPENCODE = MODULES / f"opencode-linux-{MACHINE}" / "bin" / "opencode"


class OpencodeVendor(ChatVendor):
    """Takes what opencode sends beside what our own client does."""

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        if path != "/v1/chat/completions":
            raise Refused("not here", 404)
        if headers.get("authorization") != f"Bearer {self.KEY}":
            raise Refused("invalid api key", 401)

    def aside(self, body: dict[str, Any]) -> Turn | None:
        return None if body.get("tools") else Turn("A title")


def opencode(vendor: OpencodeVendor, home: Path) -> AcpRuntime:
    """In that home; it has our key only because the settings let it have that variable."""
    models = {"m": {"name": "M", "tool_call": True, "limit": {"context": 9000, "output": 900}}}
    options = {"baseURL": vendor.url, "apiKey": "{env:KEY_OF_THE_TEST}"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    config = {
        "provider": {"loop": provider},
        "enabled_providers": ["loop"],
        "model": "loop/m",
        "small_model": "loop/m",
        "autoupdate": False,
        "share": "disabled",
    }
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    chosen = RuntimeOptions(command=(str(OPENCODE), "acp"), env=env, inherit=("KEY_OF_THE_TEST",))
    host = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "KEY_OF_THE_TEST": vendor.KEY,
        "OPENAI_API_KEY": "not for it",
    }
    return AcpRuntime(NAME, lambda also: scrubbed(host, also), lambda: chosen)


def bash(line: str) -> Call:
    return Call("bash", {"command": line, "description": "d"})


async def stopped(which: AcpRuntime, cwd: Path, prompt: str, history: Any, when: Any) -> Sink:
    """Stop a run at that point."""
    sink = Sink()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        wish = request(cwd, prompt, history=history, model=NAME)
        work = tasks.create_task(which.run(wish, sink, Gate()))
        await when(sink)
        work.cancel()
    assert work.cancelled()
    assert len(sink.exits) == 1
    return sink


@pytest.mark.timeout(300)  # five starts of a large program
async def test_allowed_denied_stopped_and_resumed(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "ws"
    home.mkdir()
    cwd.mkdir()
    turns = (
        Turn("I make it.", calls=(bash("echo made > made.txt"),)),
        Turn("And now.", calls=(bash("touch denied.txt"),)),
        Turn("I was about to", hang="text"),
        Turn("It takes long.", calls=(bash("echo $$ > pid; sleep 600; true"),)),
        Turn("Here again."),
    )
    async with OpencodeVendor(*turns) as vendor:
        which = opencode(vendor, home)
        gate = Gate(allows=lambda call: "made" in str(call.arguments["command"]))
        result, first = await run(which, cwd, gate, prompt="the first words", model=NAME)
        assert (result.error, result.status) == (None, "completed")
        assert [call.name for call in gate.asked] == ["terminal_run"] * 2
        assert gate.settled == [("call_1", "ok")]
        assert (cwd / "made.txt").read_text() == "made\n"
        assert not (cwd / "denied.txt").exists()
        assert first.said == "I make it.And now."
        assert result.usage is not None
        assert (result.usage.requests, result.usage.context_window) == (2, 9000)
        assert result.usage.cost_usd is None, "it does not know the price"
        assert "acp:opencode: agent: OpenCode" in first.logs[0]

        history = tuple(first.memory)
        sink = await stopped(which, cwd, "and more", history, lambda sink: sink.spoke.wait())
        history += tuple(sink.memory)
        pid = cwd / "pid"
        sink = await stopped(
            which, cwd, "and on", history, lambda _: until(lambda: pid.exists() and pid.read_text())
        )
        assert int(pid.read_text()) not in processes(lambda _: True)
        history += tuple(sink.memory)

        again, _ = await run(which, cwd, history=history, prompt="last", model=NAME)
        assert (again.status, again.output) == ("completed", "Here again.")
        assert again.session == result.session
        told = json.dumps(vendor.bodies[-1])
        assert all(words in told for words in ("the first words", "and more", "and on", "last"))
        assert "not for it" not in told
