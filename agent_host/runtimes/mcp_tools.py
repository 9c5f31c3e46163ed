"""Offers a run's tools to a runtime process by MCP (streamable HTTP): every call ends in the gate.

Stateless, tools only. A call is answered as a stream of events with signs of life, because a
person may take minutes to answer the question that it leads to. Not here: HTTP (loopback.py).
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import cast

from agent_host import __version__
from agent_host.core.model import ImagePart, JsonObject, ToolCall, ToolResult, ToolSpec
from agent_host.runtimes.loopback import Address, Reply, loopback

SERVER_NAME = "agent-host"
"""How the server is called in a runtime's configuration."""

PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""The versions of the protocol that are spoken, newest first."""

LIFE_SECONDS = 10.0
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _BAD_PARAMS = -32700, -32600, -32601, -32602

CallTool = Callable[[ToolCall], Awaitable[ToolResult]]


def of_servers(tools: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Those that are tools of MCP servers: `<server>__<tool>`, as no tool of ours is called."""
    return tuple(tool for tool in tools if "__" in tool.name)


@asynccontextmanager
async def offered(tools: Sequence[ToolSpec], call: CallTool) -> AsyncGenerator[Address]:
    """Offer these tools as long as it is open; `call` carries a call out and never raises.

    A call that names its id in `_meta` (as the claude CLI does) keeps it.
    """
    server = _Server(tools, call)
    async with loopback(server.answer) as address:
        yield address


class _Server:
    def __init__(self, tools: Sequence[ToolSpec], call: CallTool) -> None:
        self._tools = tools
        self._call = call
        self._calls = 0
        self._running: dict[str, asyncio.Task[ToolResult]] = {}

    async def answer(self, body: bytes, reply: Reply) -> None:
        try:
            message: object = json.loads(body)
        except (ValueError, RecursionError):
            await reply.whole(400, _error(None, _PARSE_ERROR, "The body is not JSON."))
            return
        if not isinstance(message, dict) or "jsonrpc" not in message:
            await reply.whole(400, _error(None, _INVALID_REQUEST, "One JSON-RPC message, please."))
            return
        fields = cast("JsonObject", message)
        method, request_id = fields.get("method"), fields.get("id")
        if not isinstance(method, str) or not isinstance(request_id, str | int):
            self._hear(fields)
            await reply.whole(202)
        elif method == "tools/call":
            await self._carry_out(request_id, _object(fields.get("params")), reply)
        else:
            await reply.whole(200, self._respond(request_id, method, _object(fields.get("params"))))

    def _respond(self, request_id: str | int, method: str, params: JsonObject) -> bytes:
        match method:
            case "initialize":
                wished = params.get("protocolVersion")
                return _result(
                    request_id,
                    {
                        "protocolVersion": wished if wished in PROTOCOLS else PROTOCOLS[0],
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": SERVER_NAME, "version": __version__},
                    },
                )
            case "tools/list":
                return _result(request_id, {"tools": [_described(tool) for tool in self._tools]})
            case "ping":
                return _result(request_id, {})
            case _:
                return _error(request_id, _NO_METHOD, f"There is no method {method!r} here.")

    def _hear(self, message: JsonObject) -> None:
        """Notifications; the only one that matters withdraws a call."""
        if message.get("method") == "notifications/cancelled":
            key = json.dumps(_object(message.get("params")).get("requestId"))
            if key in self._running:
                self._running[key].cancel()

    # ---- a call

    async def _carry_out(self, request_id: str | int, params: JsonObject, reply: Reply) -> None:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            await reply.whole(200, _error(request_id, _BAD_PARAMS, "The call has no name."))
            return
        meta = _object(params.get("_meta"))
        call = self._wish(name, arguments, meta)
        await reply.begin_events()
        key = json.dumps(request_id)
        try:
            async with asyncio.TaskGroup() as tasks:
                work = self._running[key] = tasks.create_task(self._result_of(call))
                life = tasks.create_task(_show_life(reply, meta.get("progressToken")))
                await asyncio.wait((work,))
                life.cancel()
        finally:
            self._running.pop(key, None)
        result = ToolResult("stopped", "Withdrawn.", "") if work.cancelled() else work.result()
        content = [{"type": "text", "text": result.text}, *map(_shown, result.images)]
        told = {"content": content, "isError": result.status != "ok"}
        await reply.event(_result(request_id, told))
        await reply.end_events()

    def _wish(self, name: str, arguments: object, meta: JsonObject) -> ToolCall:
        self._calls += 1
        given = meta.get("claudecode/toolUseId")
        call_id = given if isinstance(given, str) and given else f"mcp-{self._calls}"
        if isinstance(arguments, dict):
            return ToolCall(call_id, name, cast("JsonObject", arguments))
        return ToolCall(call_id, name, {}, problem="not a JSON object")

    async def _result_of(self, call: ToolCall) -> ToolResult:
        return await self._call(call)


async def _show_life(reply: Reply, token: object) -> None:
    """Clients give up on a call that is silent, and most know no other sign than progress."""
    if token is None:
        return
    progress = 0
    with contextlib.suppress(ConnectionError):
        while True:
            await asyncio.sleep(LIFE_SECONDS)
            progress += 1
            params = {"progressToken": token, "progress": progress}
            await reply.event(
                _encoded({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            )


def _described(tool: ToolSpec) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}


def _shown(part: ImagePart) -> JsonObject:
    if part.media_type.startswith("image/"):
        return {"type": "image", "data": part.data, "mimeType": part.media_type}
    document = {"uri": "result:document", "mimeType": part.media_type, "blob": part.data}
    return {"type": "resource", "resource": document}


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def _result(request_id: str | int, result: JsonObject) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": request_id, "result": result})


def _error(request_id: str | int | None, code: int, message: str) -> bytes:
    error = {"code": code, "message": message}
    return _encoded({"jsonrpc": "2.0", "id": request_id, "error": error})


def _encoded(message: JsonObject) -> bytes:
    return json.dumps(message).encode()
