"""What each real ACP agent is put through, whichever it is."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_host.core.model import (
    ImagePart,
    Limits,
    RawResult,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tests.boundary.action_support import processes, until
from tests.boundary.claude_support import Gate, Sink, request, run
from tests.boundary.real_agents import Real
from tests.vendors.runs import PATHS
from tests.vendors.turns import Call, Turn

SEARCH = ToolSpec("docs__search", "Searches.", PATHS)
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
"""A PNG of one pixel."""


class Disk(Gate):
    """A gate that really reads and writes."""

    async def call(self, call: ToolCall) -> ToolResult:
        if call.name not in ("fs_read", "fs_write"):
            return await super().call(call)
        self.calls.append(call)
        path = Path(str(call.arguments["path"]))
        if not self.allows(call):
            return ToolResult("denied", "The user said no.", "Denied")
        if call.name == "fs_write":
            path.write_text(str(call.arguments["text"]))
        elif not path.exists():
            return ToolResult("failed", "There is none.", "None", code="not_found")
        text = path.read_text()
        return ToolResult("ok", text, "Done", RawResult(text))


@dataclass
class Place:
    """An empty home and an empty workspace."""

    home: Path
    cwd: Path


def place(folder: Path) -> Place:
    made = Place(folder / "home", folder / "ws")
    made.home.mkdir()
    made.cwd.mkdir()
    return made


async def stopped(
    which: Real, at: Any, cwd: Path, history: Any, when: Callable[[Sink], Awaitable[object]]
) -> Sink:
    """Stop a run at that point."""
    sink = Sink()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        wish = request(cwd, "go on", history=history, model=which.name)
        work = tasks.create_task(at.run(wish, sink, Gate()))
        await when(sink)
        work.cancel()
    assert work.cancelled()
    assert len(sink.exits) == 1
    return sink


async def stops_and_resumes(which: Real, folder: Path) -> None:
    """A command allowed and denied; stops in mid-stream and in mid-command; going on after that.

    Each run is a new process.
    """
    at = place(folder)
    cwd = at.cwd
    long = "tail -f /dev/null & echo $$ $! > pids; wait; true"
    turns = [
        Turn("I make it.", calls=(which.shell("echo made > made.txt"),)),
        Turn("And now.", calls=(which.shell("touch denied.txt"),)),
        *([] if which.quits else [Turn(" A pity.")]),
        Turn("I was about to", hang="text"),
        Turn("It takes long.", calls=(which.shell(long),)),
        Turn("Here again."),
    ]
    async with which.vendor(*turns) as vendor:
        runtime = which.runtime(vendor, at.home)
        gate = Gate(allows=lambda call: "made" in str(call.arguments["command"]))
        result, first = await run(runtime, cwd, gate, prompt="the first words", model=which.name)
        assert (result.error, result.status) == (None, "completed")
        assert first.said == "I make it.And now." + ("" if which.quits else " A pity.")
        assert [call.name for call in gate.asked] == ["terminal_run"] * 2
        lines = [call.arguments["command"] for call in gate.asked]
        assert lines == ["echo made > made.txt", "touch denied.txt"]
        assert [status for _, status in gate.settled] == ["ok"]
        assert (cwd / "made.txt").read_text() == "made\n"
        assert not (cwd / "denied.txt").exists()
        assert result.usage is not None
        assert result.usage.requests == (2 if which.quits else 3)
        assert result.usage.input_tokens
        called = [json.loads(item["arguments"]) for item in first.memory if "arguments" in item]
        assert [each["command"] for each in called] == lines

        history = tuple(first.memory)
        sink = await stopped(which, runtime, cwd, history, lambda sink: sink.spoke.wait())
        history += tuple(sink.memory)
        pids = cwd / "pids"
        sink = await stopped(
            which,
            runtime,
            cwd,
            history,
            lambda _: until(lambda: pids.exists() and pids.read_text(), seconds=50),
        )
        assert not {int(pid) for pid in pids.read_text().split()} & set(processes(lambda _: True))
        history += tuple(sink.memory)

        again, last = await run(runtime, cwd, history=history, prompt="last", model=which.name)
        assert (again.status, last.said) == ("completed", "Here again.")
        told = json.dumps(vendor.bodies[-1])
        assert all(words in told for words in ("the first words", "go on", "last"))
        assert "not for it" not in told
        assert len(vendor.bodies) == len(turns), "it has called its model for something else"


async def asks_for_each(which: Real, folder: Path) -> None:
    """A harmless command, a new file, a tool of an MCP server: each is judged, and once only."""
    at = place(folder)
    turns = (
        Turn("Looking.", calls=(which.shell("echo harmless"),)),
        Turn("Writing.", calls=(which.writes(at.cwd),)),
        Turn("Searching.", calls=(Call(which.tool, {"path": "q"}),)),
        Turn("Done."),
    )
    prompt = (TextPart("look"), ImagePart("image/png", DOT))
    async with which.vendor(*turns) as vendor:
        gate = Disk()
        result, sink = await run(
            which.runtime(vendor, at.home),
            *(at.cwd, gate),
            prompt=prompt,
            model=which.name,
            tools=(SEARCH,),
            limits=Limits(max_turns=10),
        )
        assert (result.error, result.status) == (None, "completed")
        assert sink.said == "Looking.Writing.Searching.Done."
        assert (at.cwd / "made.txt").read_text() == "new\n"
        assert [call.name for call in gate.calls].count("docs__search") == 1
        # Not the last of them: Codex may ask for a title meanwhile.
        assert any("text of q" in json.dumps(body) for body in vendor.bodies)
        asked = [(call.name, *call.arguments.values()) for call in gate.asked]
        command = [] if which.reads else [("terminal_run", "echo harmless")]
        assert [each[:2] for each in asked] == [
            *command,
            ("fs_write", str(at.cwd / "made.txt")),
        ]
        assert DOT[:40] in json.dumps(vendor.bodies[0])


async def says_what_fails(which: Real, folder: Path) -> None:
    """A key that is refused."""
    at = place(folder)
    async with which.vendor() as vendor:
        runtime = which.runtime(vendor, at.home, key="wrong")
        result, sink = await run(runtime, at.cwd, model=which.name)
        assert (result.status, result.error.code) == ("failed", "auth_failed")
        assert f'`runtimes: {{"{which.name}": {{inherit:' in result.error.message
        assert sink.said == ""
