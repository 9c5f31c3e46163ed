"""The action server's two pipes to the host, line by line and without blocking the loop."""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from agent_host.action_wire import Lines


class LineReader(asyncio.Protocol):
    """Lines from a pipe; a broken or ended pipe ends them."""

    def __init__(self) -> None:
        self._framing = Lines()
        self._lines: deque[bytes] = deque()
        self._ended = False
        self._news = asyncio.Event()

    @classmethod
    async def open(cls, descriptor: int) -> "LineReader":
        loop = asyncio.get_running_loop()
        _, reader = await loop.connect_read_pipe(cls, os.fdopen(descriptor, "rb", 0))
        return reader

    async def next(self) -> bytes | None:
        """The next line; None at the end."""
        while not self._lines:
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        return self._lines.popleft()

    def end(self) -> None:
        """Make `next` return None once what came so far was taken."""
        self._ended = True
        self._news.set()

    def data_received(self, data: bytes) -> None:
        self._lines.extend(self._framing.feed(data))
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.end()


class LineWriter(asyncio.BaseProtocol):
    """Lines to a pipe. `send` never blocks; `on_pause` hears when the host lags."""

    def __init__(self) -> None:
        self.on_pause: Callable[[bool], None] = lambda _: None
        self.on_lost: Callable[[], None] = lambda: None
        self._transport: asyncio.WriteTransport | None = None

    @classmethod
    async def open(cls, descriptor: int) -> "LineWriter":
        loop = asyncio.get_running_loop()
        _, writer = await loop.connect_write_pipe(cls, os.fdopen(descriptor, "wb", 0))
        return writer

    def send(self, line: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.set_write_buffer_limits(high=1024 * 1024)
            self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.on_lost()

    def pause_writing(self) -> None:
        self.on_pause(True)  # noqa: FBT003

    def resume_writing(self) -> None:
        self.on_pause(False)  # noqa: FBT003
