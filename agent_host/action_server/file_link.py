"""The action server's end of the file worker: passes lines through and fails what it loses."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

from agent_host.action_wire import Failed, Lines, Start, encode, head

_SECONDS = 60.0


class FileLink(asyncio.SubprocessProtocol):
    """One file worker. A new one is made when it has ended, or when the roots change."""

    def __init__(self, start: Start, forward: Callable[[bytes], None]) -> None:
        """`forward` gets whole lines for the host."""
        self._loop = asyncio.get_running_loop()
        self._forward = forward
        self._framing = Lines()
        self._waiting: dict[int, asyncio.TimerHandle] = {}
        self._queue: list[bytes] = [encode(start)]
        self._transport: asyncio.SubprocessTransport | None = None
        self._retired = False
        self.ended: asyncio.Future[None] = self._loop.create_future()

    async def open(self, argv: Sequence[str]) -> None:
        """Start the worker; calls may be submitted before."""
        # Its stderr is the action server's, so the host hears of its faults.
        await self._loop.subprocess_exec(lambda: self, *argv, stderr=None)

    def submit(self, call_id: int, line: bytes) -> None:
        """Pass a call on; exactly one answer with that id goes to the host."""
        self._waiting[call_id] = self._loop.call_later(_SECONDS, self._hung, call_id)
        self.pass_on(line)

    def pass_on(self, line: bytes) -> None:
        """Send a line that wants no answer."""
        if self._transport is None:
            self._queue.append(line)
        elif isinstance(pipe := self._transport.get_pipe_transport(0), asyncio.WriteTransport):
            pipe.write(line)

    def retire(self) -> None:
        """Take no more calls and end once those at work have been answered."""
        self._retired = True
        self._retire_if_idle()

    def kill(self) -> None:
        if self._transport is not None:
            with suppress(ProcessLookupError):
                self._transport.send_signal(signal.SIGKILL)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101
        self._transport = transport
        queue, self._queue = self._queue, []
        for line in queue:
            self.pass_on(line)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002
        for line in self._framing.feed(data):
            call_id = head(line).id
            if call_id is not None and (timer := self._waiting.pop(call_id, None)):
                timer.cancel()
                self._forward(line + b"\n")
        self._retire_if_idle()

    def process_exited(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for call_id, timer in waiting.items():
            timer.cancel()
            reason = "the file worker crashed; the outcome of the action is unknown"
            self._forward(encode(Failed(call_id, "crashed", reason)))
        if self._transport is not None:
            self._transport.close()
        if not self.ended.done():
            self.ended.set_result(None)

    def _hung(self, call_id: int) -> None:
        self._waiting.pop(call_id, None)
        reason = f"no answer within {_SECONDS:.0f} s; the outcome of the action is unknown"
        self._forward(encode(Failed(call_id, "timeout", reason)))
        self.kill()

    def _retire_if_idle(self) -> None:
        if self._retired and not self._waiting and self._transport is not None:
            pipe = self._transport.get_pipe_transport(0)
            if pipe is not None:
                pipe.close()
