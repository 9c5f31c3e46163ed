"""Keeps one action server running: starts it, hears of its end, starts it again with back-off.

Owns the process. Not here: what is said to it (link.py) and what for (client.py).
"""

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import agent_host
from agent_host.action_wire import (
    MAX_LINE,
    Content,
    Entries,
    Facts,
    FileCall,
    Found,
    Name,
    Ran,
    Run,
    Start,
    Watchlist,
)
from agent_host.actions.link import Link
from agent_host.core.actions import OutputStream
from agent_host.core.errors import ActionFailed
from agent_host.process import ChildGone, ChildProcess

_START_SECONDS = 15.0
_EOF_SECONDS = 3.0
_GUARD_SECONDS = 3.0
_RESTARTS = 5
_WINDOW_SECONDS = 60.0
_BACK_OFF = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)

_Kind = TypeVar("_Kind", Facts, Content, Entries, Found, Name, Watchlist, Ran)


class Supervisor:
    """`start` gives the message that each action server begins with; `prepare` runs once before."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        prepare: Callable[[], Awaitable[None]],
        start: Callable[[], Start],
        clock: Callable[[], float],
        log: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._prepare = prepare
        self._start = start
        self._clock = clock
        self._log = log
        self._link: Link | None = None
        self._starts: deque[float] = deque()
        self._resting_until = float("-inf")
        self._wanted = asyncio.Event()
        self._up = asyncio.Event()
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()
        self._running = False
        self.restarts = 0

    @property
    def pid(self) -> int | None:
        """That of the running action server."""
        return self._link.pid if self._link is not None else None

    async def run(self) -> None:
        """From the first use to `close`. Cancelling it ends the action server at once."""
        self._running = True
        try:
            await self._wanted.wait()
            if not self._closing.is_set():
                await self._prepare()
            while not self._closing.is_set():
                await self._back_off()
                if not self._closing.is_set():
                    await self._serve_one()
        finally:
            self._closing.set()
            self._up.set()
            self._closed.set()

    async def link(self) -> Link:
        """A link that is ready; starts the action server if need be. Raises ActionFailed."""
        self._wanted.set()
        try:
            async with asyncio.timeout(_START_SECONDS):
                while not self._closing.is_set():
                    self._refuse_while_resting()
                    await self._up.wait()
                    if self._link is not None and self._link.usable:
                        return self._link
                    self._up.clear()
        except TimeoutError:
            raise ActionFailed("unavailable", "the action server did not start in time") from None
        raise ActionFailed("unavailable", "the action server has been shut down")

    async def call(
        self,
        call: FileCall | Run,
        kind: type[_Kind],
        *,
        settle: bool = False,
        on_output: Callable[[OutputStream, str], None] | None = None,
    ) -> _Kind:
        """Have it done and answered with a `kind`; see Link.call. Raises ActionFailed."""
        link = await self.link()
        result = await link.call(call, on_output, settle=settle)
        if not isinstance(result, kind):
            raise ActionFailed("io", f"the action server answered {type(result).__name__}")
        return result

    async def restate(self) -> None:
        """Tell the running action server what `start` says by now."""
        if self._link is not None:
            with contextlib.suppress(ChildGone):
                await self._link.send_start(self._start())

    async def close(self) -> None:
        """End it; returns when nothing of it is left."""
        self._closing.set()
        self._wanted.set()
        self._up.set()
        if self._running:
            await self._closed.wait()

    def _refuse_while_resting(self) -> None:
        left = self._resting_until - self._clock()
        if left > 0:
            reason = f"the action server keeps failing; it is started again in {left:.0f} s"
            raise ActionFailed("unavailable", reason)

    async def _back_off(self) -> None:
        now = self._clock()
        while self._starts and now - self._starts[0] > _WINDOW_SECONDS:
            self._starts.popleft()
        wait = _BACK_OFF[min(len(self._starts), len(_BACK_OFF) - 1)]
        if len(self._starts) > _RESTARTS:
            wait = _WINDOW_SECONDS - (now - self._starts[0])
            self._resting_until = now + wait
            # Those who wait for the next one hear that it takes longer.
            self._up.set()
            self._log(f"action server: it keeps failing; next start in {wait:.0f} s")
        if wait > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._closing.wait()
        self._starts.append(self._clock())

    async def _serve_one(self) -> None:
        try:
            process = await ChildProcess.start(
                _argv(), env=self._environment, max_line=MAX_LINE, on_stderr=self._hear
            )
        except OSError as error:
            self._log(f"action server: it can't be started: {error}")
            return
        link = self._link = Link(process, self._up)
        reason = ""
        try:
            async with asyncio.TaskGroup() as group:
                ender = group.create_task(self._end_when_closing(process))
                reason = await link.serve(self._start())
                if not self._closing.is_set():
                    ender.cancel()
        finally:
            self._up.clear()
            self._link = None
            # Whatever is left now is stuck; its guard gets the time to end it.
            ended = await process.close(grace=_GUARD_SECONDS)
        if not self._closing.is_set():
            self.restarts += 1
            self._log(f"action server: {reason} ({ended.signal or ended.code}); it is restarted")

    async def _end_when_closing(self, process: ChildProcess) -> None:
        await self._closing.wait()
        await process.close(eof_grace=_EOF_SECONDS, grace=_GUARD_SECONDS)

    def _hear(self, line: str) -> None:
        self._log(f"action server: {line}")


def _argv() -> tuple[str, ...]:
    program = Path(agent_host.__file__).absolute().parent / "action_server" / "__main__.py"
    return (
        sys.executable,
        *("-I", "-S", "-X", "utf8"),
        str(program),
        "serve",
        str(os.getpid()),
    )
