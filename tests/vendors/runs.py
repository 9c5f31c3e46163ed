"""Runs of the runtime `sdk` against a vendor's server, with a sink and a gate that keep records."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_host.core.events import Compacted
from agent_host.core.model import (
    JsonObject,
    Limits,
    PromptPart,
    Role,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from agent_host.core.permission import Decision
from agent_host.core.ports import RuntimeRequest, RuntimeResult
from agent_host.runtimes import ProviderConfig, RuntimeSettings
from agent_host.runtimes.sdk import SdkRuntime
from tests.vendors.server import VendorServer

PATHS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolSpec("fs_read", "Reads a file.", PATHS), ToolSpec("fs_list", "Lists.", PATHS))
ROLE = Role("coder", "", "", "", "")


@dataclass
class Sink:
    """Keeps all that is told; `memory` is what a store would keep."""

    said: str = ""
    thought: str = ""
    used: list[Usage] = field(default_factory=list)
    retries: list[tuple[str, float]] = field(default_factory=list)
    memory: list[JsonObject] = field(default_factory=list)
    compactions: list[Compacted] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    spoke: asyncio.Event = field(default_factory=asyncio.Event)

    def text(self, text: str) -> None:
        self.said += text
        self.spoke.set()

    def reasoning(self, text: str) -> None:
        self.thought += text

    def total(self, usage: Usage) -> None:
        raise AssertionError("this runtime tells of each call")

    def usage(self, usage: Usage) -> None:
        self.used.append(usage)

    def log(self, source: str, text: str) -> None:
        assert source == "context", "nothing else is logged by this runtime"
        self.logs.append(text)

    def plan(self, entries: object) -> None:
        """Nothing to keep."""

    def retry(self, reason: str, wait_seconds: float) -> None:
        self.retries.append((reason, wait_seconds))

    def compacted(self, how: Compacted, items: Sequence[JsonObject]) -> None:
        self.compactions.append(how)
        self.memory[:] = items

    def remember(self, items: Sequence[JsonObject]) -> None:
        self.memory += items

    def alive(self) -> None:
        raise AssertionError("this runtime always has something to tell")

    def exited(self, exit_code: int | None, signal: str | None) -> None:
        raise AssertionError("this runtime has no process of its own")


class Gate:
    """Answers each call with its name and path; with `hang`, never."""

    def __init__(
        self,
        answer: Callable[[ToolCall], Awaitable[ToolResult]] | None = None,
        *,
        hang: bool = False,
    ) -> None:
        self.calls: list[ToolCall] = []
        self.inside = 0
        self.most_inside = 0
        self.entered = asyncio.Event()
        self._answer = answer
        self._hang = hang

    async def permit(self, call: ToolCall) -> Decision:
        raise AssertionError("this runtime does nothing by itself")

    def settle(self, call_id: str, result: ToolResult) -> None:
        raise AssertionError("this runtime does nothing by itself")

    async def call(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.entered.set()
        try:
            if self._hang:
                await asyncio.Event().wait()
            if self._answer is not None:
                return await self._answer(call)
            await asyncio.sleep(0)
            if call.problem is not None:
                return ToolResult("failed", f"The arguments are {call.problem}", "failed")
            return ToolResult("ok", f"{call.name} of {call.arguments.get('path')}", "done")
        finally:
            self.inside -= 1


class Pauses:
    """In place of waiting: keeps how long it would have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def runtime(*servers: VendorServer, key: str | None = VendorServer.KEY, **more: Any) -> SdkRuntime:
    """A runtime that knows these servers and no other, and waits for nothing."""
    providers = {
        server.vendor: ProviderConfig(key, "KEY_OF_THE_TEST" if key else None, server.url)
        for server in servers
    }
    return SdkRuntime(RuntimeSettings(providers), **({"pause": Pauses()} | more))


def request(model: str, *prompt: PromptPart | str, **more: Any) -> RuntimeRequest:
    """A request with the test's tools."""
    parts = tuple(TextPart(part) if isinstance(part, str) else part for part in prompt)
    fields: dict[str, Any] = {
        "session_id": "session",
        "run_id": "run",
        "role": ROLE,
        "model": model,
        "instructions": "You are careful.",
        "prompt": parts or (TextPart("go"),),
        "tools": TOOLS,
        "history": (),
        "limits": Limits(max_turns=30),
        "cwd": "/",
    }
    return RuntimeRequest(**(fields | more))


async def run(
    server: VendorServer,
    *prompt: PromptPart | str,
    gate: Gate | None = None,
    pauses: Pauses | None = None,
    **more: Any,
) -> tuple[RuntimeResult, Sink]:
    """One run on one server from start to end."""
    sink = Sink()
    sdk = runtime(server, pause=pauses or Pauses())
    try:
        wish = request(f"{server.vendor}/test-model", *prompt, **more)
        return await sdk.run(wish, sink, gate or Gate()), sink
    finally:
        await sdk.close()
