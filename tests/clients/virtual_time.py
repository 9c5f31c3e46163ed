"""An event loop whose clock jumps to the next timer as soon as there is nothing else to do.

A test that waits for an editor's half second takes no time and always goes the same way.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

_THREAD_SECONDS = 20.0
_Result = TypeVar("_Result")


def run(main: Coroutine[object, object, _Result]) -> _Result:
    """Run to the end in virtual time."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.now


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self, loop: _VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None):
        if timeout is None:
            # Only a thread can still end the waiting.
            events = super().select(_THREAD_SECONDS)
            if not events:
                raise RuntimeError("everybody waits and no timer is set")
            return events
        events = super().select(0)
        if not events:
            self._loop.now += max(0.0, timeout)
        return events
