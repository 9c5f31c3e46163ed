"""A child process that speaks lines on its pipes, supervised: framing, stderr, a sure end.

Each has a session (process group) of its own; `close` ends its whole tree, daemonised
grandchildren included. Knows nothing of what the lines say. POSIX only.
"""

import asyncio
import contextlib
import os
import secrets
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_host.action_wire import Lines, WireError
from agent_host.process.guard import guarded as below_guard
from agent_host.process.terminal import open_terminal
from agent_host.process.tree import TREE_VARIABLE, tree

_TAIL = 16 * 1024
_STDERR_LINE = 64 * 1024
_BACKLOG = 8 * 1024 * 1024
_DRAIN_SECONDS = 0.5
_KILL_SECONDS = 5.0
_KILL_ROUNDS = 20


class ChildGone(Exception):
    """The child has ended or closed its input."""


@dataclass(frozen=True, slots=True)
class ChildExit:
    """`code` is None when a signal ended it, `signal` then names it; both None: never reaped."""

    code: int | None
    signal: str | None


class ChildProcess:
    """One running child; make it with `start`."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, protocol: "_Protocol", mark: str
    ) -> None:
        self._transport = transport
        self._protocol = protocol
        self._mark = mark
        self._finished = False
        self.pid: int = transport.get_pid()

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        max_line: int = 100 * 1024 * 1024,
        on_stderr: Callable[[str], None] | None = None,
        guarded: bool = False,
        pty: bool = False,
    ) -> "ChildProcess":
        """Start `argv` with exactly `env`. Raises OSError when it can't be started.

        `guarded`: all of it dies with this process, too, however that ends (Linux). `pty`: its
        stdout is a terminal; its stdin and stderr are pipes all the same.
        """
        mark = secrets.token_hex(8)
        loop = asyncio.get_running_loop()
        ours, theirs = open_terminal() if pty else (None, None)
        try:
            transport, protocol = await loop.subprocess_exec(
                lambda: _Protocol(loop, max_line, on_stderr),
                *(below_guard(argv, env.get("PATH")) if guarded else argv),
                stdout=asyncio.subprocess.PIPE if theirs is None else theirs,
                env={**env, TREE_VARIABLE: mark},
                cwd=cwd,
                start_new_session=True,
            )
        except BaseException:
            if ours is not None:
                ours.close()
            raise
        finally:
            if theirs is not None:
                theirs.close()
        if ours is not None:
            await loop.connect_read_pipe(lambda: _Terminal(protocol), ours)
        return cls(transport, protocol, mark)

    @property
    def received(self) -> int:
        """Bytes that came from its stdout so far."""
        return self._protocol.received

    @property
    def ended(self) -> bool:
        """Whether the child itself has ended."""
        return self._protocol.exited.done()

    @property
    def stderr_tail(self) -> str:
        """The last 16 KiB that it wrote to stderr."""
        return self._protocol.stderr_tail()

    async def send(self, line: bytes) -> None:
        """Write bytes (their newline included) and wait until the pipe has taken them."""
        pipe = self._transport.get_pipe_transport(0)
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing():
            raise ChildGone("its input is closed")
        pipe.write(line)
        await self._protocol.drained()

    async def lines(self) -> AsyncIterator[bytes]:
        """Its stdout, line by line, until it ends. Raises WireError for an over-long line."""
        while (line := await self._protocol.next_line()) is not None:
            yield line

    async def wait(self) -> ChildExit:
        """Wait until the child itself has ended; what it left behind may still run."""
        await asyncio.shield(self._protocol.exited)
        return self._exit()

    async def close(self, *, grace: float = 5.0, eof_grace: float = 0.0) -> ChildExit:
        """Close its input, wait `eof_grace` s, TERM the tree, wait `grace` s, KILL the tree.

        Nothing of the tree is left when this returns, even if it is cancelled meanwhile.
        """
        if self._finished:
            return self._exit()
        try:
            self.close_input()
            if not await self._ended_within(eof_grace):
                self._signal(signal.SIGTERM)
                await self._ended_within(grace)
        finally:
            # No await before all are killed: this must also hold for a cancelled task.
            for _ in range(_KILL_ROUNDS):
                if not self._signal(signal.SIGKILL):
                    break
            self._finished = True
            try:
                await self._ended_within(_KILL_SECONDS)
            finally:
                self._protocol.close_output()
                self._transport.close()
        return self._exit()

    def close_input(self) -> None:
        """Close its stdin, which tells well-behaved children to end."""
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    async def _ended_within(self, seconds: float) -> bool:
        if not self._protocol.exited.done() and seconds > 0:
            await asyncio.wait([self._protocol.exited], timeout=seconds)
        return self._protocol.exited.done()

    def _signal(self, number: signal.Signals) -> int:
        pids = tree(self.pid, self._mark)
        if not self._protocol.exited.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return len(pids)

    def _exit(self) -> ChildExit:
        code = self._transport.get_returncode()
        if code is not None and code < 0:
            return ChildExit(None, signal.Signals(-code).name)
        return ChildExit(code, None)


class _Protocol(asyncio.SubprocessProtocol):
    # `Process.wait()` of some Python versions waits for the pipes too, so a daemon that holds
    # them would hang it; `process_exited` never does.
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        max_line: int,
        on_stderr: Callable[[str], None] | None,
    ) -> None:
        self.exited: asyncio.Future[None] = loop.create_future()
        self.received = 0
        self._loop = loop
        self._framing = Lines(max_line)
        self._stderr = _Stderr(on_stderr)
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._paused = False
        self._error: WireError | None = None
        self._stdout: asyncio.ReadTransport | None = None
        self._news = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    async def next_line(self) -> bytes | None:
        while not self._lines:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._size -= len(line)
        if self._size < _BACKLOG:
            self._pause(paused=False)
        return line

    async def drained(self) -> None:
        await self._writable.wait()
        if self.exited.done():
            raise ChildGone("it has ended")

    def stderr_tail(self) -> str:
        return self._stderr.tail()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101
        stdout = transport.get_pipe_transport(1)
        if stdout is not None:  # else it is a terminal, which comes later
            self.take_output(stdout)

    def take_output(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)  # noqa: S101
        self._stdout = transport

    def close_output(self) -> None:
        if self._stdout is not None:
            self._stdout.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr.feed(data)
            return
        self.received += len(data)
        if self._ended:
            return
        try:
            lines = self._framing.feed(data)
        except WireError as error:
            self._error, self._ended = error, True
            self._news.set()
            return
        self._lines.extend(lines)
        self._size += sum(map(len, lines))
        self._news.set()
        if self._size >= _BACKLOG:
            self._pause(paused=True)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd == 0:
            self._writable.set()
        elif fd == 1:
            self._end_lines()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)
        self._writable.set()
        self._loop.call_later(_DRAIN_SECONDS, self._give_up_on_pipes, self.received)

    def _give_up_on_pipes(self, received: int) -> None:
        # A daemon may hold the pipe open for ever; a reader that lags must get everything.
        closed = self._stdout is None or self._stdout.is_closing()
        if not closed and (self._paused or received != self.received):
            self._loop.call_later(_DRAIN_SECONDS, self._give_up_on_pipes, self.received)
        else:
            self._end_lines()

    def _pause(self, *, paused: bool) -> None:
        pipe = self._stdout
        if pipe is None or pipe.is_closing() or paused == self._paused:
            return
        self._paused = paused
        (pipe.pause_reading if paused else pipe.resume_reading)()

    def _end_lines(self) -> None:
        if not self._ended:
            self._ended = True
            if rest := self._framing.rest():
                self._lines.append(rest)
                self._size += len(rest)
        self._news.set()


class _Terminal(asyncio.Protocol):
    # The child's end of a terminal that closes is an input/output error at ours: the end.
    def __init__(self, child: _Protocol) -> None:
        self._child = child

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._child.take_output(transport)

    def data_received(self, data: bytes) -> None:
        self._child.pipe_data_received(1, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._child.pipe_connection_lost(1, None)


class _Stderr:
    def __init__(self, on_line: Callable[[str], None] | None) -> None:
        self._on_line = on_line
        self._tail = b""
        self._framing = Lines(_STDERR_LINE)

    def tail(self) -> str:
        return self._tail.decode("utf-8", "replace")

    def feed(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL:]
        if self._on_line is None:
            return
        try:
            lines = self._framing.feed(data)
        except WireError:
            self._framing, lines = Lines(_STDERR_LINE), [data]
        for line in lines:
            self._on_line(line.decode("utf-8", "replace"))
