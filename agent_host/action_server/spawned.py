"""A command's process as the loop sees it: output kept and told, and four moments to wait for.

`exited`: its first process has ended. `flooded`: it printed too much. `closed`: both of its
pipes have ended. `gone`: so has everything in its pid namespace, where it has one.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from typing import Literal, cast

from agent_host.action_server.output import Kept, Live

Stream = Literal["stdout", "stderr"]
Emit = Callable[[Stream, str], None]

_LIVE_BYTES = 1024 * 1024


class Spawned(asyncio.SubprocessProtocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, emit: Emit) -> None:
        self.exited: asyncio.Future[None] = loop.create_future()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self.kept = Kept()
        self.init: int | None = None
        self._loop = loop
        self._emit = emit
        self._live: dict[Stream, Live] = {"stdout": Live(), "stderr": Live()}
        self._open = {1, 2}
        self._paused = False
        self._told = b""
        self._told_from: int | None = None
        self._transport: asyncio.SubprocessTransport | None = None

    @property
    def pid(self) -> int:
        return self._transport.get_pid() if self._transport is not None else 0

    @property
    def code(self) -> int | None:
        """As the operating system tells it: below 0 for a signal."""
        return self._transport.get_returncode() if self._transport is not None else None

    @property
    def told(self) -> dict[str, object]:
        """The JSON object that came through the descriptor of `listen`; empty if none did."""
        try:
            found, _ = json.JSONDecoder().raw_decode(self._told.decode())
        except ValueError:
            return {}
        return cast("dict[str, object]", found) if isinstance(found, dict) else {}

    def listen(self, descriptor: int, *, namespaced: bool) -> None:
        """Read what bubblewrap or the launcher tells; the descriptor belongs to this object."""
        os.set_blocking(descriptor, False)
        self._told_from = descriptor
        self._loop.add_reader(descriptor, self._hear, descriptor, namespaced)

    def pause(self, *, paused: bool) -> None:
        """Stop or go on reading its output."""
        if paused == self._paused or self._transport is None:
            return
        self._paused = paused
        for fd in self._open:
            pipe = self._transport.get_pipe_transport(fd)
            if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
                (pipe.pause_reading if paused else pipe.resume_reading)()

    def close(self) -> None:
        """Give the pipes up; the process must have ended."""
        if self._told_from is not None:
            self._stop_listening(self._told_from)
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self.flooded.done():
            return
        quiet = self.kept.total > _LIVE_BYTES
        self.kept.add(data)
        stream: Stream = "stdout" if fd == 1 else "stderr"
        if not quiet:
            self._tell(stream, self._live[stream].feed(data))
            if self.kept.total > _LIVE_BYTES:
                self._tell(stream, "\n[... the rest is not shown while it runs ...]\n")
        if self.kept.too_much:
            _finish(self.flooded)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        stream: Stream = "stdout" if fd == 1 else "stderr"
        if self.kept.total <= _LIVE_BYTES:
            self._tell(stream, self._live[stream].feed(b"", last=True))
        self._open.discard(fd)
        if not self._open:
            _finish(self.closed)

    def process_exited(self) -> None:
        _finish(self.exited)
        if self.init is None:
            _finish(self.gone)

    def _tell(self, stream: Stream, text: str) -> None:
        if text:
            self._emit(stream, text)

    def _hear(self, descriptor: int, namespaced: bool) -> None:  # noqa: FBT001 - a callback
        with contextlib.suppress(BlockingIOError):
            data = os.read(descriptor, 4096)
            self._told += data
            init = self.told.get("child-pid")
            if namespaced and isinstance(init, int) and self.init is None:
                self._watch_init(init)
            if not data:
                self._stop_listening(descriptor)

    def _stop_listening(self, descriptor: int) -> None:
        self._told_from = None
        self._loop.remove_reader(descriptor)
        os.close(descriptor)

    def _watch_init(self, pid: int) -> None:
        # The kernel reports the init's end only after it has ended everything else in there.
        self.init = pid
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            _finish(self.gone)
            return
        self._loop.add_reader(handle, self._init_ended, handle)

    def _init_ended(self, handle: int) -> None:
        self._loop.remove_reader(handle)
        os.close(handle)
        _finish(self.gone)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
