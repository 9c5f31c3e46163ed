"""The life of one connection: bytes in, bytes out, and one way to end whatever ends it.

Everything the host starts lives in the one TaskGroup here; once the end is decided the process is
gone within three seconds. Not here: what messages mean (protocol.py, server.py).
"""

import asyncio
import logging
import os
import signal
import stat
import threading
from collections.abc import Callable
from typing import NoReturn

from agent_host.lsp.early import Opening, is_alive
from agent_host.lsp.framing import Framer
from agent_host.lsp.host import MakeHost
from agent_host.lsp.listen import accept_one
from agent_host.lsp.server import Server
from agent_host.lsp.watch import process_ended
from agent_host.lsp.writer import Writer

_LAST_RESORT_SECONDS = 2.8
_ANSWERS_SECONDS = 0.2
_FLUSH_SECONDS = 0.6
_CHUNK = 64 * 1024

log = logging.getLogger(__name__)


def serve(make_host: MakeHost, opening: Opening) -> NoReturn:
    """Serve one editor to the end and leave the process: code 0 after `shutdown`, else 1."""
    asyncio.run(_serve(make_host, opening))
    os._exit(1)


async def _serve(make_host: MakeHost, opening: Opening) -> None:
    connection = _Connection(make_host, opening)
    try:
        async with asyncio.TaskGroup() as tasks:
            await connection.live(tasks)
            await connection.leave()
    except* Exception as errors:
        log.critical("A part of the host failed; the host ends.", exc_info=errors)
        await connection.leave()


class _Connection:
    def __init__(self, make_host: MakeHost, opening: Opening) -> None:
        self._opening = opening
        self._framer = Framer()
        self._server = Server(make_host, on_editor=self._watch_editor, on_failure=self._end)
        self._edge = self._server.edge
        self._output: Writer | None = None
        self._ending = asyncio.Event()
        self._code = 1

    async def live(self, tasks: asyncio.TaskGroup) -> None:
        """Serve until the end is decided."""
        self._edge.tasks = tasks
        self._edge.on_exit = lambda: self._end("exit")
        try:
            self._catch_signals()
            tasks.create_task(self._connect())
            await self._ending.wait()
        finally:
            last_resort = threading.Timer(_LAST_RESORT_SECONDS, os._exit, (self._code,))
            last_resort.daemon = True
            last_resort.start()

    async def leave(self) -> NoReturn:
        """Close the host, answer what is open, flush, and leave the process."""
        await self._server.close()
        await self._edge.finish(_ANSWERS_SECONDS)
        if self._output is not None:
            await self._output.close(_FLUSH_SECONDS)
        os._exit(self._code)

    def _end(self, reason: str) -> None:
        """Decide the end; the first reason counts."""
        if self._ending.is_set():
            return
        log.info("The host ends: %s.", reason)
        self._code = 0 if self._edge.state == "over" else 1
        self._edge.state = "over"
        self._ending.set()

    # ---- what can end it

    async def _connect(self) -> None:
        opening = self._opening
        if opening.listen is not None:
            try:
                opening.source, opening.sink = await accept_one(opening.listen)
            except (OSError, ValueError) as error:
                log.error("%s", error)  # noqa: TRY400 - the sentence says it all
                self._end("it can't listen")
                return
        self._output = self._edge.output = Writer(
            opening.sink,
            on_overflow=self._server.editor_stuck,
            on_broken=lambda: self._end("the editor does not read any more"),
        )
        self._edge.answered_early = opening.answered
        self._take(opening.received)
        await _read_input(opening.source, self._take, self._input_ended)

    def _take(self, data: bytes) -> None:
        for item in self._framer.feed(data):
            self._edge.receive(item)

    def _input_ended(self) -> None:
        self._edge.editor_gone()
        self._end("the editor closed our stdin")

    def _watch_editor(self, pid: int | None) -> None:
        if not pid:
            return
        if self._opening.editor_seen or is_alive(pid):
            self._edge.tasks.create_task(self._until_gone(pid))
        else:
            # In a container the number may be one of the world outside.
            log.warning("The editor's processId %d can't be seen; it is not watched.", pid)

    async def _until_gone(self, pid: int) -> None:
        await process_ended(pid)
        self._edge.editor_gone()
        self._end("the editor's process is gone")

    def _catch_signals(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None or signal.getsignal(number) is signal.SIG_IGN:
                continue
            try:
                loop.add_signal_handler(number, self._end, name)
            except NotImplementedError:
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: object) -> None:
        self._loop.call_soon_threadsafe(self._end, f"signal {number}")


# ---- input


class _Input(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._take = take
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's interface
        self._ended()


async def _read_input(
    source: int, take: Callable[[bytes], None], ended: Callable[[], None]
) -> None:
    """Call `take` with what comes, and `ended` once no more can come; both on the loop."""
    loop = asyncio.get_running_loop()
    mode = os.fstat(source).st_mode
    # A terminal is shared with others, who would not expect it not to block.
    if os.name != "nt" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        pipe = os.fdopen(source, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: _Input(take, ended), pipe)
        return

    def read() -> None:
        while chunk := _read_some(source):
            loop.call_soon_threadsafe(take, chunk)
        loop.call_soon_threadsafe(ended)

    threading.Thread(target=read, name="stdin", daemon=True).start()


def _read_some(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK)
    except OSError:
        return b""
