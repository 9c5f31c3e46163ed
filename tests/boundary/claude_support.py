"""Runs of the runtime `claude-code` on a CLI that is really executed, with a sink and a gate."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_host.actions.environment import scrubbed
from agent_host.core.events import PlanEntry
from agent_host.core.model import (
    JsonObject,
    Limits,
    RuntimeOptions,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
)
from agent_host.core.permission import Decision
from agent_host.core.ports import RuntimeRequest, RuntimeResult
from agent_host.runtimes.claude_cli import ClaudeRuntime
from tests.vendors.runs import ROLE, TOOLS

SESSION = "11111111-2222-3333-4444-555555555555"
"""What the fake calls its session."""
FAKE = Path(__file__).parents[1] / "fake_claude.py"


@dataclass
class Sink:
    """Keeps all that is told."""

    said: str = ""
    thought: str = ""
    used: list[Usage] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    retries: list[str] = field(default_factory=list)
    memory: list[JsonObject] = field(default_factory=list)
    exits: list[tuple[int | None, str | None]] = field(default_factory=list)
    plans: list[list[tuple[str, str]]] = field(default_factory=list)
    spoke: asyncio.Event = field(default_factory=asyncio.Event)

    def text(self, text: str) -> None:
        self.said += text
        self.spoke.set()

    def reasoning(self, text: str) -> None:
        self.thought += text

    def total(self, usage: Usage) -> None:
        self.used = [usage]

    def usage(self, usage: Usage) -> None:
        self.used.append(usage)

    def log(self, source: str, text: str) -> None:
        self.logs.append(f"{source}: {text}")

    def plan(self, entries: Sequence[PlanEntry]) -> None:
        self.plans.append([(each.text, each.status) for each in entries])

    def retry(self, reason: str, wait_seconds: float) -> None:
        self.retries.append(reason)

    def remember(self, items: Sequence[JsonObject]) -> None:
        self.memory += items

    def compacted(self, how: object, items: Sequence[JsonObject]) -> None:
        raise AssertionError("the CLI does that itself")

    def alive(self) -> None:
        """Nothing to keep."""

    def exited(self, exit_code: int | None, signal: str | None) -> None:
        self.exits.append((exit_code, signal))


@dataclass
class Gate:
    """Lets through what `allows` says; a call that is let through answers with its arguments."""

    allows: Callable[[ToolCall], bool] = lambda _: True
    hang: bool = False
    calls: list[ToolCall] = field(default_factory=list)
    asked: list[ToolCall] = field(default_factory=list)
    settled: list[tuple[str, str]] = field(default_factory=list)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    inside: int = 0

    async def permit(self, call: ToolCall) -> Decision:
        self.asked.append(call)
        await asyncio.sleep(0)
        return Decision("allow" if self.allows(call) else "deny", "test", "as the test wants it")

    def settle(self, call_id: str, result: ToolResult) -> None:
        self.settled.append((call_id, result.status))

    async def call(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        self.inside += 1
        self.entered.set()
        try:
            if self.hang:
                await asyncio.Event().wait()
            if not self.allows(call):
                return ToolResult("denied", "The user said no.", "Denied")
            return ToolResult("ok", f"text of {call.arguments['path']}", "Read")
        finally:
            self.inside -= 1


def saying(text: str, gate: Gate) -> Callable[[], tuple[TextPart, ...]]:
    """What a person says once something has been called, to be taken once."""
    said = [TextPart(text)]
    return lambda: (said.pop(),) if said and gate.calls else ()


def runtime(
    command: Sequence[str], *, environ: dict[str, str] | None = None, **more: Any
) -> ClaudeRuntime:
    """A runtime on that command; `more` are RuntimeOptions, or the runtime's own times."""
    times = {name: more.pop(name) for name in ("start_seconds", "end_seconds") if name in more}
    options = RuntimeOptions(command=tuple(command), **more)
    host = {"PATH": os.environ["PATH"], **(environ or {})}
    return ClaudeRuntime(
        lambda also: scrubbed(host, also), lambda: options, price=lambda *_: None, **times
    )


def fake(behaviour: str, **more: Any) -> ClaudeRuntime:
    return runtime((sys.executable, str(FAKE), behaviour), **more)


def request(cwd: Path, prompt: Any = "Do it.", **changed: Any) -> RuntimeRequest:
    fields: dict[str, Any] = {
        "session_id": "s",
        "run_id": "r",
        "role": ROLE,
        "model": "claude-code",
        "instructions": "Be brief.",
        "prompt": (TextPart(prompt),) if isinstance(prompt, str) else prompt,
        "tools": TOOLS,
        "history": (),
        "limits": Limits(),
        "cwd": str(cwd),
    }
    return RuntimeRequest(**{**fields, **changed})


async def run(
    which: ClaudeRuntime, cwd: Path, gate: Gate | None = None, **changed: Any
) -> tuple[RuntimeResult, Sink]:
    sink = Sink()
    async with asyncio.timeout(60):
        result = await which.run(request(cwd, **changed), sink, gate or Gate())
    return result, sink
