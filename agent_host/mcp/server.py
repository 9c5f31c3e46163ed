"""One server: started when it is needed, restarted with growing pauses, ended for sure.

Its state is always one of core.external.ServerState, and a failed one says why and what to do. A
call that was on its way when the server ended is never made again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from agent_host.core.external import ExternalTool, ServerConfig, ServerState, ServerStatus
from agent_host.core.model import JsonObject
from agent_host.mcp.catalogue import cleaned, tools_of
from agent_host.mcp.client import McpClient, Refused
from agent_host.mcp.connect import Surroundings, connect
from agent_host.mcp.transport import ServerGone

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
STEADY_SECONDS = 60.0
"""A server that was ready for so long has not failed in a row."""

MOST_LINES = 50
"""Lines of a server's log that are told of one call."""
_LINE = 2000

log = logging.getLogger(__name__)


class Server:
    """One configured server; `tasks` owns its life."""

    def __init__(
        self, config: ServerConfig, around: Surroundings, tasks: asyncio.TaskGroup
    ) -> None:
        self.config = config
        self.tools: tuple[ExternalTool, ...] = ()
        self._around = around
        self._tasks = tasks
        self._state: ServerState = "idle"
        self._reason: str | None = None
        self._remedy: str | None = None
        self._notes: tuple[str, ...] = ()
        self._client: McpClient | None = None
        self._pid: int | None = None
        self._life: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._listeners: list[Callable[[str], None]] = []
        self._tail: deque[str] = deque(maxlen=5)
        self._in_a_row = 0
        self._starts = 0
        self._not_before = 0.0
        self._stale = False
        self._since: float | None = None

    @property
    def status(self) -> ServerStatus:
        """How it is doing right now."""
        config = self.config
        return ServerStatus(
            config.name,
            self._state,
            config.how,
            config.where,
            tuple(tool.name for tool in self.tools),
            self._reason,
            self._remedy,
            self._notes,
            self._pid,
            max(0, self._starts - 1),
        )

    @property
    def ready(self) -> bool:
        """Whether it takes calls."""
        return self._state == "ready"

    def start(self) -> None:
        """Have it started, unless it is, or has failed a moment ago."""
        is_on = self._life is not None and not self._life.done()
        if is_on or asyncio.get_running_loop().time() < self._not_before:
            return
        self._settled.clear()
        self._state, self._reason, self._remedy = "starting", None, None
        self._starts += 1
        self._life = self._tasks.create_task(self._live())

    async def settled(self) -> None:
        """Wait until it is ready or has failed; bounded by the limit for its start."""
        if self._state == "starting":
            await self._settled.wait()
        if self.ready and self._stale and self._client is not None:
            self._stale = False
            try:
                async with asyncio.timeout(self.config.start_timeout):
                    await self._read_tools(self._client)
            except (ServerGone, Refused, TimeoutError):
                self._stale = True  # what was known before counts until it answers

    async def call(
        self, tool: str, arguments: JsonObject, tell: Callable[[str], None]
    ) -> JsonObject:
        """The result of a call; `tell` gets what the server logs meanwhile.

        Raises ServerGone, Refused, TimeoutError.
        """
        if self._client is None or not self.ready:
            raise ServerGone(self._reason or "it is not ready", self._remedy)
        lines = _Limited(tell)
        self._listeners.append(lines.tell)
        try:
            return await self._client.call(tool, arguments, self.config.timeout)
        finally:
            self._listeners.remove(lines.tell)
            lines.end()

    async def close(self) -> None:
        """End it; nothing of it is left when this returns."""
        life = self._life
        if life is not None and not life.done():
            if not life.cancelling():  # a second time, it would be disturbed as it cleans up
                life.cancel()
            await asyncio.wait((life,))
        if self._state != "failed":
            self._become("stopped" if self._starts else "idle")

    # ---- its life

    async def _live(self) -> None:
        """Be there until the server ends, fails or is ended; never raises but CancelledError."""
        loop = asyncio.get_running_loop()
        self._since = None
        try:
            async with asyncio.TaskGroup() as tasks:
                try:
                    self._explain(await self._serve(tasks))
                except Exception as error:  # noqa: BLE001 - told as the server's state
                    self._explain(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours in what it told
            self._explain(error)
        finally:
            self._client, self._pid = None, None
            steady = self._since is not None and loop.time() - self._since >= STEADY_SECONDS
            self._in_a_row = 1 if steady else self._in_a_row + 1
            pause = min(FIRST_PAUSE * 2 ** (self._in_a_row - 1), LONGEST_PAUSE)
            if self._state == "failed":
                self._not_before = loop.time() + pause
            else:
                self._become("stopped")

    async def _serve(self, tasks: asyncio.TaskGroup) -> ServerGone:
        """Start it, shake hands, and wait until it has ended; why it did."""
        client = McpClient(self._around.roots, self._list_changed, self._hear, tasks)
        async with asyncio.timeout(self.config.start_timeout) as limit:
            async with connect(
                self.config, self._around, client.hear, self._hear, tasks
            ) as transport:
                self._pid = transport.pid
                await client.begin(transport)
                await self._read_tools(client)
                limit.reschedule(None)
                self._client, self._since = client, asyncio.get_running_loop().time()
                self._become("ready")
                return await transport.ended()

    def _explain(self, error: Exception) -> None:
        match error:
            case ServerGone():
                self._failed(error.reason, error.remedy)
            case Refused():
                self._failed(f"it refused to begin: {cleaned(error.message, 300)}", None)
            case TimeoutError():
                said = f"; it logged: {self._tail[-1]}" if self._tail else ""
                seconds = f"{self.config.start_timeout:g} s"
                self._failed(
                    f"it did not answer within {seconds} of its start{said}",
                    "raise `startTimeout`, or try its command by hand",
                )
            case _:
                log.error("MCP server %s broke", self.config.name, exc_info=error)
                self._failed("the host broke; its log says where", None)

    async def _read_tools(self, client: McpClient) -> None:
        listed = await client.tools()
        self.tools, self._notes = tools_of(listed, self.config)

    def _list_changed(self) -> None:
        self._stale = True

    def _failed(self, reason: str, remedy: str | None) -> None:
        self._become("failed", reason, remedy)
        log.warning("MCP server %s: %s", self.config.name, reason)

    def _become(
        self, state: ServerState, reason: str | None = None, remedy: str | None = None
    ) -> None:
        self._state, self._reason, self._remedy = state, reason, remedy
        self._settled.set()

    def _hear(self, line: str) -> None:
        line = cleaned(line, _LINE)
        self._tail.append(line)
        for tell in self._listeners:
            tell(line)


class _Limited:
    """Passes on so many lines and then counts."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._count = 0

    def tell(self, line: str) -> None:
        self._count += 1
        if self._count <= MOST_LINES:
            self._tell(line)

    def end(self) -> None:
        if self._count > MOST_LINES:
            self._tell(f"[{self._count - MOST_LINES} more lines are left out]")
