"""MCP servers for tests: how they are configured, and the host's side of them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent_host.actions.environment import scrubbed
from agent_host.core.actions import CallExternal
from agent_host.core.external import ExternalTool, ServerConfig, ServerStatus
from agent_host.core.model import Role, ToolResult
from agent_host.mcp.connect import Surroundings
from agent_host.mcp.servers import McpServers

TESTS = Path(__file__).parents[1]
ROLE = Role("r", "", "", "", "0", skills=frozenset({"mcp"}))


def real(name: str = "real", **fields: object) -> ServerConfig:
    """The server that is written with the `mcp` package."""
    command = (sys.executable, str(TESTS / "mcp_server.py"), "stdio")
    return ServerConfig(name, "c.yaml:1", command, **fields)  # type: ignore[arg-type]


def bad(kind: str, *more: str, **fields: object) -> ServerConfig:
    """A server that misbehaves in one way."""
    command = (sys.executable, "-S", str(TESTS / "bad_mcp_server.py"), kind, *more)
    return ServerConfig("bad", "c.yaml:1", command, **fields)  # type: ignore[arg-type]


@dataclass
class Servers:
    """The host's side. Change `configs` at any time."""

    configs: list[ServerConfig]
    tasks: asyncio.TaskGroup
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: str = str(TESTS)
    logged: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        around = Surroundings(
            self.environment,
            partial(scrubbed, self.environment),
            lambda: ("/w/a b",),
            lambda: self.cwd,
        )
        self.all = McpServers(lambda: self.configs, lambda: (), around, self.tasks)

    async def tools(self, role: Role = ROLE) -> dict[str, ExternalTool]:
        offer = await self.all.offered(role)
        return {tool.name: tool for tool in offer.tools}

    async def notes(self) -> str:
        return "\n".join((await self.all.offered(ROLE)).notes)

    async def call(self, name: str, **arguments: object) -> ToolResult:
        return await self.all.call(
            CallExternal((await self.tools())[name], arguments), self.logged.append
        )

    @property
    def status(self) -> ServerStatus:
        return self.all.status()[0]


@asynccontextmanager
async def servers(*configs: ServerConfig, **fields: object) -> AsyncIterator[Servers]:
    """Servers that are all gone in the end."""
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        made = Servers(list(configs), tasks, **fields)  # type: ignore[arg-type]
        try:
            yield made
        finally:
            await made.all.close()
            assert [each.pid for each in made.all.status() if each.pid] == []


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """All descendants of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for each in (task / "children").read_text().split():
            found += [int(each), *children(int(each))]
    return found
