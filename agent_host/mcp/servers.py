"""All MCP servers of one host: none runs before an agent that may use it is at work.

They are shared by all sessions. A server whose configuration has changed is ended, and another one
started in its place. Not here: who may use which tool (permissions).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agent_host.core.actions import CallExternal
from agent_host.core.errors import ActionFailed
from agent_host.core.external import ExternalTool, Offer, ServerConfig, ServerStatus
from agent_host.core.model import Role, ToolResult
from agent_host.mcp.catalogue import cleaned, told_apart
from agent_host.mcp.client import Refused
from agent_host.mcp.connect import Surroundings
from agent_host.mcp.results import tool_result
from agent_host.mcp.server import Server
from agent_host.mcp.transport import ServerGone

WAIT_SECONDS = 15.0
"""So long an agent waits for its servers before it begins without those that are not ready."""

_UNKNOWN = "Whether the call had an effect is not known."
_LONGEST_ERROR = 2000


class McpServers:
    """See core.ports.ToolServers. `configs` gives the servers that may be used as things are now,
    `unused` those that are known but may not. `check` says what is wrong with what people wrote
    about tools that are known.
    """

    def __init__(
        self,
        configs: Callable[[], Sequence[ServerConfig]],
        unused: Callable[[], Sequence[ServerStatus]],
        around: Surroundings,
        tasks: asyncio.TaskGroup,
        check: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._configs = configs
        self._unused = unused
        self._around = around
        self._tasks = tasks
        self._check = check
        self._servers: dict[str, Server] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    async def offered(self, role: Role) -> Offer:
        """Start what the role may use and wait a while; the tools of those that are ready."""
        self.follow()
        servers = [
            server for name, server in self._servers.items() if {"mcp", f"mcp:{name}"} & role.skills
        ]
        if not servers or self._closed:
            return Offer()
        for server in servers:
            server.start()
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as waiting:
                for server in servers:
                    waiting.create_task(server.settled())
        notes: list[str] = []
        for server in servers:
            notes += _notes(server.status)
        notes += await asyncio.to_thread(self._check)
        ready = [tool for server in servers if server.ready for tool in server.tools]
        return Offer(told_apart(ready), tuple(notes))

    async def call(self, action: CallExternal, tell: Callable[[str], None]) -> ToolResult:
        """Have a tool called; `tell` gets what its server logs meanwhile. Raises ActionFailed."""
        tool = action.tool
        server = await self._server_of(tool)
        try:
            result = await server.call(tool.name, action.arguments, tell)
        except Refused as refused:
            said = cleaned(refused.message, _LONGEST_ERROR) or f"error {refused.code}"
            return ToolResult("failed", f"{tool.title} failed: {said}", f"{tool.title} failed")
        except ServerGone as gone:
            raise _failed(tool, f"{gone.reason}. {_UNKNOWN}") from None
        except TimeoutError:
            seconds = f"{server.config.timeout:g} s"
            raise ActionFailed(
                "timeout", f"{tool.title} gave no sign of life for {seconds}. {_UNKNOWN}"
            ) from None
        return tool_result(tool, result)

    def status(self) -> tuple[ServerStatus, ...]:
        """How each is doing."""
        known = [
            server.status
            if (server := self._servers.get(config.name)) and server.config == config
            else ServerStatus(config.name, "idle", config.how, config.where)
            for config in self._configs()
        ]
        return (*known, *self._unused())

    def follow(self) -> None:
        """Take the configuration as it is now: what is gone or changed is ended at once."""
        wanted = {config.name: config for config in self._configs()}
        for name, server in tuple(self._servers.items()):
            if wanted.get(name) != server.config:
                del self._servers[name]
                self._end(server)
        if not self._closed:
            # In the order of the configuration, so that models see tools in a stable order.
            self._servers = {
                name: self._servers.get(name) or Server(config, self._around, self._tasks)
                for name, config in wanted.items()
            }

    def known_tools(self) -> Mapping[str, tuple[str, ...]]:
        """The tools of each server that is ready, as the server calls them."""
        return {each.name: each.tools for each in self.status() if each.state == "ready"}

    async def close(self) -> None:
        """End all of them; nothing is left when this returns."""
        self._closed = True
        for server in self._servers.values():
            self._end(server)
        while self._ending:
            await asyncio.wait(tuple(self._ending))

    async def _server_of(self, tool: ExternalTool) -> Server:
        """The server, ready, that still has the very tool that was offered."""
        self.follow()
        server = self._servers.get(tool.server)
        if server is None or self._closed:
            raise _failed(tool, "it is not configured any more")
        server.start()
        await server.settled()
        if not server.ready:
            raise _failed(tool, server.status.reason or "it is not ready")
        now = next((each for each in server.tools if each.name == tool.name), None)
        if now is None:
            raise _failed(tool, f"it has no tool {tool.name} any more")
        if now.digest != tool.digest:
            changed = f"what it says of {tool.name} has changed since it was offered"
            raise _failed(tool, f"{changed}; a new run gets it as it is now")
        return server

    def _end(self, server: Server) -> None:
        task = self._tasks.create_task(server.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _notes(status: ServerStatus) -> list[str]:
    name = status.name
    if status.state == "ready":
        return [f"MCP server {name}: {note}" for note in status.notes]
    if status.state == "starting":
        return [f"MCP server {name} is still starting; this run goes on without its tools"]
    remedy = f" To have it: {status.remedy}." if status.remedy else ""
    return [f"MCP server {name} can't be used: {status.reason}.{remedy}"]


def _failed(tool: ExternalTool, reason: str) -> ActionFailed:
    return ActionFailed(
        "unavailable", f"The MCP server {tool.server} failed: {reason.rstrip('.')}."
    )
