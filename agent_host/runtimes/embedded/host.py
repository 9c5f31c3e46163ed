"""Keeps the child process of `local/embedded` while it is used, and asks it like a local server.

The child is started by the first turn and again after a crash; `close` ends it. Not here: the
model's file (model.py), the protocol (providers/local.py).
"""

import asyncio
import contextlib
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx2

import agent_host
from agent_host.action_wire import WireError
from agent_host.core.errors import RuntimeFailed, RuntimeMissing
from agent_host.process import ChildProcess
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.embedded.model import ModelFile
from agent_host.runtimes.embedded.server import TOKEN_VARIABLE
from agent_host.runtimes.provider import Emit, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.providers.local import LocalProvider

_START_SECONDS = 120.0
"""Large files are read from a disk first."""
_SERVER = Path(agent_host.__file__).parent / "runtimes" / "embedded" / "server.py"


class EmbeddedProvider:
    """A provider for one model file; `environment` is what the child may see of ours."""

    def __init__(
        self, file: ModelFile, environment: Mapping[str, str], http: httpx2.AsyncClient
    ) -> None:
        self._file = file
        self._environment = environment
        self._http = http
        self._starting = asyncio.Lock()
        self._child: ChildProcess | None = None
        self._asks: LocalProvider | None = None

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Answer one turn; see Provider."""
        async with self._starting:
            if self._asks is None or self._child is None or self._child.ended:
                self._asks = await self._started()
        return await self._asks.answer(ask, emit)

    async def names(self) -> list[str]:
        """The one that it is; see Provider."""
        return []

    async def close(self) -> None:
        """End the child."""
        child, self._child, self._asks = self._child, None, None
        if child is not None:
            await child.close(grace=1.0, eof_grace=1.0)

    async def _started(self) -> LocalProvider:
        await self.close()
        try:
            path = self._file.require()
        except RuntimeMissing as error:
            raise Trouble(error) from error
        token = secrets.token_urlsafe(24)
        try:
            self._child = await ChildProcess.start(
                [sys.executable, "-I", str(_SERVER), str(path)],
                env={**self._environment, TOKEN_VARIABLE: token},
            )
        except OSError as error:
            raise Trouble(RuntimeFailed(f"The embedded model can't be started: {error}")) from error
        address = await self._address(self._child)
        return LocalProvider(ProviderConfig(token, "the embedded model", address), self._http)

    async def _address(self, child: ChildProcess) -> str:
        """What the child says first. Raises Trouble with what it last wrote to stderr."""
        line = b""
        with contextlib.suppress(TimeoutError, WireError):
            async with asyncio.timeout(_START_SECONDS):
                line = await anext(aiter(child.lines()), b"")
        if not line:
            tail = child.stderr_tail.strip().splitlines()
            await self.close()
            why = tail[-1] if tail else "it said nothing"
            advice = self._file.when_broken
            raise Trouble(RuntimeFailed(f"The embedded model did not start ({why}): {advice}."))
        return line.decode().strip()
