"""A run that was asked for, from before it exists until after it has ended."""

import asyncio
from dataclasses import dataclass, field

from agent_host.core.model import RunResult
from agent_host.session.run import Run

BY_USER = "stopped by the user"


def _future() -> asyncio.Future[RunResult]:
    future: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
    # Nobody may be waiting any more when it fails; that is no fault of its own.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


@dataclass(slots=True)
class Ticket:
    """`outcome` is the run's result, or the error for which it never started."""

    run_id: str
    session_id: str
    outcome: asyncio.Future[RunResult] = field(default_factory=_future)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    run: Run | None = None
    reason: str = BY_USER
    _stopping: bool = False

    @property
    def over(self) -> bool:
        """Whether the run has ended, and nothing of it is left."""
        return self.outcome.done()

    @property
    def stopping(self) -> bool:
        """Whether it is to end early."""
        return self._stopping or (self.run is not None and self.run.stopping)

    @property
    def ended(self) -> bool:
        """Whether its last delta is told; it may still hold its session for a moment."""
        return self.run is not None and self.run.ended

    @property
    def steers(self) -> bool:
        """Whether its run takes what is said meanwhile; one that has not begun yet may."""
        return self.run is None or self.run.steers

    def began(self, run: Run) -> None:
        """The run exists now; it is stopped at once if that was asked for meanwhile."""
        self.run = run
        self.begun.set()
        if self._stopping:
            run.stop(self.reason)

    async def begins(self) -> None:
        """Wait until there is a run; raises the error for which there is none."""
        self.outcome.add_done_callback(lambda _: self.begun.set())
        await self.begun.wait()
        if self.run is None and not self.outcome.cancelled():
            self.outcome.result()

    def stop(self, reason: str = BY_USER) -> bool:
        """Have it end early, for this reason; False if it was over already."""
        if self.over:
            return False
        if not self._stopping:
            self._stopping, self.reason = True, reason
        if self.run is not None:
            self.run.stop(self.reason)
        return True
