"""The terminals of an ACP agent: each is one command that passes the gate and ends there.

A command's output is known to the agent once it has ended; people see it as it comes. One that was
denied ends with 126 and the reason.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from agent_host.core.model import JsonObject, RawResult, ToolCall, ToolResult
from agent_host.core.ports import ToolGate
from agent_host.runtimes.acp_peer import INVALID_PARAMS, RpcError
from agent_host.runtimes.acp_wishes import command_line

MOST_TERMINALS = 100
"""So many may be there at once; an agent is to release them."""
MOST_OUTPUT = 1024 * 1024
_SECONDS = 600
_DENIED = 126


@dataclass(slots=True)
class _Terminal:
    task: asyncio.Task[ToolResult]
    limit: int


class Terminals:
    """The terminals of one run."""

    def __init__(self, gate: ToolGate, tasks: asyncio.TaskGroup) -> None:
        self._gate = gate
        self._tasks = tasks
        self._open: dict[str, _Terminal] = {}
        self._count = 0

    def create(self, params: JsonObject) -> JsonObject:
        """Ask for a command; the terminal is there at once. Raises RpcError."""
        if len(self._open) >= MOST_TERMINALS:
            told = f"{MOST_TERMINALS} terminals are open; release those that are over."
            raise RpcError(INVALID_PARAMS, told)
        self._count += 1
        name = f"terminal-{self._count}"
        given: dict[str, object] = {"command": command_line(params), "timeout": _SECONDS}
        if isinstance(params.get("cwd"), str):
            given["cwd"] = params["cwd"]
        limit = params.get("outputByteLimit")
        most = min(limit, MOST_OUTPUT) if isinstance(limit, int) and limit >= 0 else MOST_OUTPUT
        call = ToolCall(f"acp-{name}", "terminal_run", given)
        self._open[name] = _Terminal(self._tasks.create_task(self._carried_out(call)), most)
        return {"terminalId": name}

    def output(self, params: JsonObject) -> JsonObject:
        """What it has printed, if it is over. Raises RpcError."""
        terminal = self._named(params)
        raw = _ended(terminal)
        if raw is None:
            return {"output": "", "truncated": False}
        text, truncated = _last(raw.text, terminal.limit)
        return {"output": text, "truncated": truncated, "exitStatus": _status(raw)}

    async def wait(self, params: JsonObject) -> JsonObject:
        """How it ended. Raises RpcError."""
        terminal = self._named(params)
        await asyncio.wait([terminal.task])
        raw = _ended(terminal)
        return _status(raw) if raw else {}

    async def kill(self, params: JsonObject) -> JsonObject:
        """End its command; what it printed is lost. Raises RpcError."""
        await _end(self._named(params))
        return {}

    async def release(self, params: JsonObject) -> JsonObject:
        """End its command and forget it. Raises RpcError."""
        await _end(self._named(params))
        self._open.pop(str(params.get("terminalId")), None)
        return {}

    async def close(self) -> None:
        """End all of them."""
        for terminal in self._open.values():
            terminal.task.cancel()
        if self._open:
            await asyncio.wait([terminal.task for terminal in self._open.values()])

    async def _carried_out(self, call: ToolCall) -> ToolResult:
        return await self._gate.call(call)

    def _named(self, params: JsonObject) -> _Terminal:
        name = str(params.get("terminalId"))
        if name not in self._open:
            raise RpcError(INVALID_PARAMS, f"There is no terminal {name!r}.")
        return self._open[name]


def _status(raw: RawResult) -> JsonObject:
    return {"exitCode": raw.exit_code, "signal": raw.signal}


async def _end(terminal: _Terminal) -> None:
    if not terminal.task.done():
        terminal.task.cancel()
        await asyncio.wait([terminal.task])


def _ended(terminal: _Terminal) -> RawResult | None:
    if not terminal.task.done():
        return None
    with contextlib.suppress(asyncio.CancelledError):
        result = terminal.task.result()
        return result.raw or RawResult(result.text, _DENIED)
    return RawResult("", signal="SIGTERM")


def _last(text: str, limit: int) -> tuple[str, bool]:
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text, False
    return data[len(data) - limit :].decode("utf-8", "ignore"), True
