"""JSON-RPC 2.0 by lines with a child process, both ways.

Notifications and answers are taken in the order in which they come; requests of the peer are tasks
that may take long. Not here: what the methods mean (acp_talk.py).
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import cast

from agent_host.action_wire import WireError
from agent_host.core.model import JsonObject
from agent_host.process import ChildGone, ChildProcess

LAST_WORD_SECONDS = 0.5
MOST_LATE = 100
"""So many messages after the end of its turn are waited for."""

PERMISSION = "session/request_permission"
INVALID_PARAMS, NO_METHOD, INTERNAL, CANCELLED = -32602, -32601, -32603, -32800
MISSING = -32002
"""There is no such file."""

Serve = Callable[[str, JsonObject], Awaitable[object]]
Hear = Callable[[str, JsonObject], None]


class RpcError(Exception):
    """An error that a request was, or is to be, answered with."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Peer:
    """The other side. `serve` answers its requests, or raises RpcError; `hear` never raises."""

    def __init__(
        self,
        child: ChildProcess,
        serve: Serve,
        hear: Hear,
        strange: Callable[[str], None],
        alive: Callable[[], None],
    ) -> None:
        self._child = child
        self._serve = serve
        self._hear = hear
        self._strange = strange
        self._alive = alive
        self._count = 0
        self._waiting: dict[int, asyncio.Future[object]] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._gone: ChildGone | None = None
        self._heard = asyncio.Event()

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Its answer. Raises RpcError, and ChildGone when there will be none."""
        if self._gone is not None:
            raise self._gone
        self._count += 1
        number = self._count
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            value = await answer
        finally:
            del self._waiting[number]
        return as_object(value)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Tell it something. Raises ChildGone."""
        await self._send({"method": method, "params": params})

    async def listen(self, tasks: asyncio.TaskGroup) -> None:
        """Take what it says until it ends; whoever waits for an answer then gets ChildGone."""
        gone = ChildGone("it ended")
        try:
            async for line in self._child.lines():
                self._alive()
                self._heard.set()
                if line.strip():
                    self._take(line, tasks)
        except WireError:
            gone = ChildGone("it sent a line that is too long")
        finally:
            self._gone = gone
            self.drop_requests()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(gone)

    async def quiet(self, seconds: float) -> None:
        """Wait until it has said nothing for so long, from now on."""
        while await self._hears(seconds):
            pass

    async def settled(self, seconds: float) -> None:
        """Wait until none of its requests is being served and it says nothing for so long.

        It may not go on for ever: MOST_LATE messages are waited for.
        """
        for _ in range(MOST_LATE):
            while self._serving:
                await asyncio.wait(tuple(self._serving.values()))
            if not await self._hears(seconds):
                return

    async def _hears(self, seconds: float) -> bool:
        """Whether it says something within so long."""
        if self._gone is not None:
            return False
        self._heard.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return False
        return True

    def drop_requests(self) -> None:
        """Stop serving what it has asked."""
        for task in self._serving.values():
            task.cancel()

    def _take(self, line: bytes, tasks: asyncio.TaskGroup) -> None:
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self._strange(line[:2000].decode("utf-8", "replace"))
            return
        message = cast("JsonObject", value)
        method, identity = message.get("method"), message.get("id")
        params = as_object(message.get("params"))
        if not isinstance(method, str):
            self._answered(message)
        elif isinstance(identity, str | int):
            work = self._respond(identity, method, params)
            key = json.dumps(identity)
            self._serving[key] = task = tasks.create_task(work)
            task.add_done_callback(lambda done: self._served(key, done))
        elif method == "$/cancel_request":
            if task := self._serving.get(json.dumps(params.get("requestId"))):
                task.cancel()
        else:
            self._hear(method, params)

    def _served(self, key: str, task: asyncio.Task[None]) -> None:
        if self._serving.get(key) is task:
            del self._serving[key]

    def _answered(self, message: JsonObject) -> None:
        number = message.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        if "error" not in message:
            answer.set_result(message.get("result"))
            return
        error = as_object(message.get("error"))
        code = error.get("code")
        detail = as_object(error.get("data")).get("details") or as_object(error.get("data"))
        text = str(error.get("message", "")) + (f": {detail}" if isinstance(detail, str) else "")
        answer.set_exception(RpcError(code if isinstance(code, int) else 0, text))

    async def _respond(self, identity: str | int, method: str, params: JsonObject) -> None:
        try:
            answer: JsonObject = {"result": await self._serve(method, params)}
        except RpcError as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        except asyncio.CancelledError:
            # It is served no longer, but must not wait for ever.
            with contextlib.suppress(ChildGone, TimeoutError):
                async with asyncio.timeout(LAST_WORD_SECONDS):
                    await self._send({"id": identity, **_cancelled(method)})
            raise
        with contextlib.suppress(ChildGone):
            await self._send({"id": identity, **answer})

    async def _send(self, message: JsonObject) -> None:
        await self._child.send(_line(message))


def as_object(value: object) -> JsonObject:
    """The value, or an empty object where it is none."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def objects(value: object) -> list[JsonObject]:
    """The objects of a list."""
    if not isinstance(value, list):
        return []
    entries = cast("list[object]", value)
    return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]


def _cancelled(method: str) -> JsonObject:
    if method == PERMISSION:
        return {"result": {"outcome": {"outcome": "cancelled"}}}
    return {"error": {"code": CANCELLED, "message": "It was cancelled."}}


def _line(message: JsonObject) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
