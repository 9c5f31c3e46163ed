"""Speaks the Model Context Protocol with one server: handshake, list of tools, calls.

What a server asks of us is answered: it may know the workspace folders and is refused all else.
Every wait has a bound. Not here: when a server is started and ended (server.py).
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from agent_host import __version__
from agent_host.core.model import JsonObject
from agent_host.core.uris import path_to_uri
from agent_host.mcp.transport import ServerGone, Transport, as_list, as_object

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the protocol that are spoken, newest first."""

MAX_PAGES = 50
LONGEST_CALL = 3600.0
"""Seconds after which a call ends although the server says that it makes progress."""

_NOTICE_SECONDS = 1.0
_NO_METHOD, _DECLINED = -32601, -1


class Refused(Exception):
    """The server answered with an error; its words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class McpClient:
    """A conversation with one server over `transport`; `tasks` owns the answers to its requests.

    `hear` must be given what the server says on its own. `changed` is called when it says that its
    tools are others now, `log` with lines that it writes for people.
    """

    def __init__(
        self,
        roots: Callable[[], Sequence[str]],
        changed: Callable[[], None],
        log: Callable[[str], None],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._roots = roots
        self._changed = changed
        self._log = log
        self._tasks = tasks
        self._count = 0
        self._progress: dict[int, Callable[[], None]] = {}
        self._transport: Transport | None = None
        self.version = ""

    async def begin(self, transport: Transport) -> None:
        """Shake hands. Raises ServerGone, Refused."""
        self._transport = transport
        wanted = {
            "protocolVersion": VERSIONS[0],
            "capabilities": {"roots": {"listChanged": False}},
            "clientInfo": {"name": "agent-host", "version": __version__},
        }
        told = await self._ask("initialize", wanted)
        version = told.get("protocolVersion")
        if version not in VERSIONS:
            known = ", ".join(VERSIONS)
            raise ServerGone(
                f"it speaks version {str(version)[:40]!r} of the protocol, and we {known}",
                "use another version of the server",
            )
        self.version = str(version)
        await self._tell("notifications/initialized")

    async def tools(self) -> list[object]:
        """All tools as the server lists them, unchecked. Raises ServerGone, Refused."""
        found: list[object] = []
        cursor: object = None
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", {"cursor": cursor} if cursor else {})
            found += as_list(page.get("tools"))
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                return found
        raise ServerGone(f"its list of tools has more than {MAX_PAGES} pages")

    async def call(self, tool: str, arguments: JsonObject, seconds: float) -> JsonObject:
        """The result of a call. Raises Refused, ServerGone, and TimeoutError after so many seconds
        without a result or a sign of progress. A call that is cancelled is withdrawn.
        """
        self._count += 1
        number = self._count
        loop = asyncio.get_running_loop()
        end = loop.time() + max(LONGEST_CALL, seconds)
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": number}}
        try:
            async with asyncio.timeout(seconds) as limit:
                self._progress[number] = lambda: limit.reschedule(min(loop.time() + seconds, end))
                return await self._ask("tools/call", params, number)
        except (asyncio.CancelledError, TimeoutError):
            self._withdraw(number)
            raise
        finally:
            self._progress.pop(number, None)

    def hear(self, message: JsonObject) -> None:
        """Take what the server says on its own."""
        method, identity = str(message.get("method")), message.get("id")
        if isinstance(identity, str | int):
            self._tasks.create_task(self._respond(identity, method))
            return
        params = as_object(message.get("params"))
        match method:
            case "notifications/progress":
                token = params.get("progressToken")
                lives = self._progress.get(token) if isinstance(token, int) else None
                if lives is not None:
                    lives()
            case "notifications/tools/list_changed":
                self._changed()
            case "notifications/message":
                self._log(f"{params.get('level', 'log')}: {params.get('data', '')}")
            case _:
                pass  # others concern what we never asked for

    # ---- what the server asks

    async def _respond(self, identity: str | int, method: str) -> None:
        answer: JsonObject
        match method:
            case "ping":
                answer = {"result": {}}
            case "roots/list":
                roots = [{"uri": path_to_uri(root)} for root in self._roots()]
                answer = {"result": {"roots": roots}}
            case "elicitation/create":
                self._log("It wanted to ask the user something, which was declined.")
                answer = {"result": {"action": "decline"}}
            case "sampling/createMessage":
                self._log("It wanted to use the model, which was refused.")
                answer = _error(_DECLINED, "This host lets no server use its model.")
            case _:
                answer = _error(_NO_METHOD, f"There is no method {method[:100]!r} here.")
        await self._send_soon({"jsonrpc": "2.0", "id": identity, **answer})

    # ---- sending

    async def _ask(self, method: str, params: JsonObject, number: int | None = None) -> JsonObject:
        assert self._transport is not None  # noqa: S101 - `begin` comes first
        if number is None:
            self._count += 1
            number = self._count
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        answer = await self._transport.request(message)
        if "error" in answer:
            error = as_object(answer["error"])
            code = error.get("code")
            raise Refused(code if isinstance(code, int) else 0, str(error.get("message", "")))
        return as_object(answer.get("result"))

    async def _tell(self, method: str, params: JsonObject | None = None) -> None:
        assert self._transport is not None  # noqa: S101 - `begin` comes first
        given = {"params": params} if params is not None else {}
        await self._transport.notify({"jsonrpc": "2.0", "method": method, **given})

    def _withdraw(self, number: int) -> None:
        params = {"requestId": number, "reason": "The call was given up."}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        with contextlib.suppress(RuntimeError):  # the connection is being ended as well
            self._tasks.create_task(self._send_soon(message))

    async def _send_soon(self, message: JsonObject) -> None:
        """Send what nobody waits for; a server that does not read it misses it."""
        assert self._transport is not None  # noqa: S101 - `begin` comes first
        with contextlib.suppress(ServerGone, TimeoutError):
            async with asyncio.timeout(_NOTICE_SECONDS):
                await self._transport.notify(message)


def _error(code: int, message: str) -> JsonObject:
    return {"error": {"code": code, "message": message}}
