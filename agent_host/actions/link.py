"""One running action server and the calls that wait for its answers.

Lives from the start of the process to its end; client.py makes a new one after a crash.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from agent_host.action_wire import (
    BEAT_SECONDS,
    MAX_LINE,
    SILENCE_SECONDS,
    Beat,
    Call,
    Cancel,
    Done,
    Failed,
    FileCall,
    Output,
    Ready,
    Result,
    Run,
    Start,
    WireError,
    decode_to_host,
    encode,
)
from agent_host.core.actions import OutputStream
from agent_host.core.errors import ActionFailed
from agent_host.process import ChildGone, ChildProcess

CRASHED = "the action server crashed or hung in the middle of it; the outcome is unknown"

_TICK = 1.0
_SETTLE_SECONDS = 20.0


@dataclass(slots=True)
class _Waiting:
    answer: asyncio.Future[Result]
    on_output: Callable[[OutputStream, str], None] | None


class Link:
    """`up` is set once the action server has answered for the first time."""

    def __init__(self, process: ChildProcess, up: asyncio.Event) -> None:
        self._process = process
        self._up = up
        self.pid = process.pid
        self._waiting: dict[int, _Waiting] = {}
        self._next_id = 0
        self._lost = False
        self.usable = False

    async def serve(self, start: Start) -> str:
        """Take answers until the process ends, falls silent or talks nonsense; says which."""
        reason = "it ended"
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch_silence())
                try:
                    await self.send_start(start)
                    async for line in self._process.lines():
                        self._take(line)
                except ChildGone:
                    pass
                watch.cancel()
        except* WireError as errors:
            reason = f"it broke the protocol: {errors.exceptions[0]}"
        except* _Silent:
            reason = f"it was silent for {SILENCE_SECONDS:.0f} s"
        finally:
            self._lose_all()
        return reason

    async def send_start(self, start: Start) -> None:
        """Tell the roots and folders; also later, when they change."""
        await self._process.send(encode(start))

    async def call(
        self,
        call: FileCall | Run,
        on_output: Callable[[OutputStream, str], None] | None = None,
        *,
        settle: bool,
    ) -> Result:
        """Have it done. Cancelling cancels it there; with `settle` its end is waited for.

        Raises ActionFailed.
        """
        self._next_id += 1
        call_id = self._next_id
        answer = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = _Waiting(answer, on_output)
        try:
            if self._lost:
                raise ActionFailed("crashed", CRASHED)
            line = encode(Call(call_id, call))
            if len(line) > MAX_LINE:
                raise ActionFailed("too_large", "this is more than the action server takes at once")
            await self._process.send(line)
            # Not awaited itself: cancelling this task would cancel the answer.
            await asyncio.wait([answer])
            return answer.result()
        except ChildGone:
            raise ActionFailed("crashed", CRASHED) from None
        except asyncio.CancelledError:
            self._waiting[call_id].on_output = None
            await self._cancel(call_id, answer, settle=settle)
            raise
        finally:
            self._waiting.pop(call_id, None)

    async def _cancel(self, call_id: int, answer: asyncio.Future[Result], *, settle: bool) -> None:
        try:
            await self._process.send(encode(Cancel(call_id)))
            if settle and not answer.done():
                await asyncio.wait([answer], timeout=_SETTLE_SECONDS)
                if answer.done():
                    answer.exception()
        except ChildGone:
            return

    def _take(self, line: bytes) -> None:
        match decode_to_host(line):
            case Beat():
                pass
            case Ready(pid=pid):
                self.pid = pid
                self.usable = True
                self._up.set()
            case Output(id=call_id, stream=stream, text=text):
                waiting = self._waiting.get(call_id)
                if waiting is not None and waiting.on_output is not None:
                    waiting.on_output(stream, text)
            case Done(id=call_id, result=result):
                if (waiting := self._waiting.get(call_id)) and not waiting.answer.done():
                    waiting.answer.set_result(result)
            case Failed(id=call_id, code=code, reason=reason):
                if (waiting := self._waiting.get(call_id)) and not waiting.answer.done():
                    waiting.answer.set_exception(ActionFailed(code, reason))

    async def _watch_silence(self) -> None:
        # Silence is counted in turns of this loop, so that a host that was itself held up (a
        # suspended machine, a long import) takes nobody for dead.
        silent, before = 0, -1
        loop = asyncio.get_running_loop()
        while silent < SILENCE_SECONDS / _TICK:
            due = loop.time() + _TICK
            await asyncio.sleep(_TICK)
            if self._process.received != before:
                silent, before = 0, self._process.received
            elif loop.time() - due < BEAT_SECONDS / 2:
                silent += 1
        raise _Silent

    def _lose_all(self) -> None:
        self._lost = True
        self.usable = False
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(ActionFailed("crashed", CRASHED))


class _Silent(Exception):
    """No beat for too long."""
