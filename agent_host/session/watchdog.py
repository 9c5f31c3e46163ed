"""Ends a run that takes too long, or whose runtime has fallen silent.

A person may think about a question for as long as they like: while one is open no time counts.
Commands have time limits of their own, so that of silence only the runtime's counts, once it has
shown a sign of life.
"""

import asyncio
from collections.abc import Callable

from agent_host.core.model import LimitName, Limits
from agent_host.session.clock import Clock

START_SECONDS = 60.0
"""How long a runtime may take to its first sign of life: SDKs and CLIs load in that time."""

_LOOK_SECONDS = 0.25


class Watchdog:
    """The timers of one run. `busy` says that something else than the runtime is at work, `asked`
    for how many seconds questions have been open so far.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Clock,
        *,
        busy: Callable[[], bool],
        asked: Callable[[], float],
        at_limit: Callable[[LimitName, str], None],
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._busy = busy
        self._asked = asked
        self._ends_at = 0.0
        self._at_limit = at_limit
        self._active_at = clock.monotonic()
        self._alive = False
        self._wall: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to count."""
        seconds = self._limits.wall_seconds
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._ends_at = loop.time() + seconds - self._asked()
            self._wall = loop.call_later(seconds, self._check_wall, seconds)
        self._listen()

    def active(self) -> None:
        """The runtime has shown a sign of life."""
        self._active_at = self._clock.monotonic()
        if not self._alive:
            self._alive = True
            self._listen()  # the timer that is set was for the start, and longer

    def cancel(self) -> None:
        """Count no more."""
        for handle in (self._wall, self._silence):
            if handle is not None:
                handle.cancel()

    def _check_wall(self, allowed: float) -> None:
        loop = asyncio.get_running_loop()
        left = self._ends_at + self._asked() - loop.time()
        if left <= 0:
            self._at_limit("wallSeconds", f"the run took longer than {allowed:g} s")
        else:
            # While a question is open what is left stays the same, however little it is.
            self._wall = loop.call_later(max(left, _LOOK_SECONDS), self._check_wall, allowed)

    def _listen(self) -> None:
        allowed = self._limits.inactivity_seconds
        if allowed is None:
            return
        if not self._alive:
            allowed = max(allowed, START_SECONDS)
        if self._silence is not None:
            self._silence.cancel()
        loop = asyncio.get_running_loop()
        self._silence = loop.call_later(self._left(allowed), self._check, allowed)

    def _check(self, allowed: float) -> None:
        if self._busy():
            self._active_at = self._clock.monotonic()
        if self._left(allowed) <= 0:
            self._at_limit("inactivitySeconds", f"the runtime was silent for {allowed:g} s")
        else:
            self._listen()

    def _left(self, allowed: float) -> float:
        return self._active_at + allowed - self._clock.monotonic()
