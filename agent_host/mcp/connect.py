"""Opens the connection to a server as its configuration says, and ends it in any case."""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent_host.core.external import VARIABLE, ServerConfig
from agent_host.mcp.http import CONNECT_SECONDS, HttpTransport
from agent_host.mcp.stdio import StdioTransport
from agent_host.mcp.transport import Hear, ServerGone, Transport


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What servers run in: `environment` is the host's own, which they never see whole.

    `scrubbed` gives what of it a child may see, by the further names that the user wants. `cwd` is
    the folder that they are started in, `roots` are what they may know of the workspace.
    """

    environment: Mapping[str, str]
    scrubbed: Callable[[Sequence[str]], dict[str, str]]
    roots: Callable[[], Sequence[str]]
    cwd: Callable[[], str]


@asynccontextmanager
async def connect(
    config: ServerConfig,
    around: Surroundings,
    hear: Hear,
    log: Callable[[str], None],
    tasks: asyncio.TaskGroup,
) -> AsyncGenerator[Transport]:
    """A connection, as long as it is open. Raises ServerGone."""
    transport = await _opened(config, around, hear, log, tasks)
    try:
        yield transport
    finally:
        await transport.close()


async def _opened(
    config: ServerConfig,
    around: Surroundings,
    hear: Hear,
    log: Callable[[str], None],
    tasks: asyncio.TaskGroup,
) -> Transport:
    if config.url is None:
        env = {**around.scrubbed(config.inherit), **_filled(config, config.env, around)}
        cwd = config.root or around.cwd()
        return await StdioTransport.start(config, env, cwd, hear=hear, log=log, tasks=tasks)
    headers = _filled(config, config.headers, around)
    # It takes a while to import, and to read the certificates.
    httpx2 = await asyncio.to_thread(importlib.import_module, "httpx2")
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    make = lambda: httpx2.AsyncClient(headers=headers, timeout=timeout)  # noqa: E731
    http = await asyncio.to_thread(make)
    return HttpTransport(http, config.url, hear, tasks)


def _filled(config: ServerConfig, texts: Mapping[str, str], around: Surroundings) -> dict[str, str]:
    """The texts with the variables of the host that the user's own settings name."""
    if config.root is not None:
        return dict(texts)
    found = {name for text in texts.values() for name in VARIABLE.findall(text)}
    missing = sorted(name for name in found if not around.environment.get(name))
    if missing:
        raise ServerGone(
            f"the variable {missing[0]}, which its settings name, is not set",
            "set it in the environment of the host",
        )
    return {
        key: VARIABLE.sub(lambda found: around.environment[found[1]], text)
        for key, text in texts.items()
    }
