"""A session is this host's while it has a run here, and any host's otherwise.

Whoever takes it has its conversation as it is by then, whichever host went on with it last. Not
here: how hosts are told apart and which of them lives (the store).
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent_host.core.errors import (
    InvalidRequest,
    RunNotFound,
    SessionBusy,
    SessionNotFound,
    StoreFailed,
)
from agent_host.core.model import RunResult
from agent_host.core.records import RunRecord, SessionStore
from agent_host.session.session import Session

SETTLE_SECONDS = 1.0
"""How long the answer of a run waits until the run is stored and its session free."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """Takes sessions and lets them go."""

    store: SessionStore

    async def take(self, session: Session, *, create: bool = False) -> bool:
        """Own it, as it is by now; True if it was read from the store for that.

        `create`: one that there is not begins. Raises SessionNotFound, SessionBusy, StoreFailed.
        """
        try:
            unchanged = await self.store.acquire(session.session_id)
        except StoreFailed:
            if session.known or create:
                return False  # that it is not kept is told; what is known of it here goes on
            raise
        except SessionNotFound:
            if session.known and not session.kept(self.store):
                return False  # it began while the store could not be used
            if not create:
                raise SessionNotFound(
                    "There is no session of that id; agent/session/list shows those there are. "
                    "With `create` one of that id begins.",
                    sessionId=session.session_id,
                ) from None
            session.begin_anew()
            return False
        if session.known and unchanged:
            return False
        record = await self.store.session(session.session_id)
        session.history[:] = await self.store.history(session.session_id)
        session.role, session.model, session.runtime = record.role, record.model, record.runtime
        session.record = record
        session.known = True
        return True

    async def ended_before(self, run_id: str | None) -> RunResult | None:
        """The result of a run that an earlier host ended, for a client that asks by its id again.

        Raises SessionBusy while it goes on elsewhere, InvalidRequest if it was cut off.
        """
        if run_id is None:
            return None
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                run = await self.store.run(run_id)
        except (RunNotFound, StoreFailed, TimeoutError):
            return None
        if run.status == "running":
            raise SessionBusy(
                "That run is going on in another editor; agent/session/attach shows it here.",
                sessionId=run.session_id,
                runId=run_id,
                elsewhere=True,
            )
        if (result := run.result) is None:
            raise InvalidRequest(
                "`runId`: that run was cut off when its host ended. Go on with another runId.",
                field="runId",
                sessionId=run.session_id,
            )
        return result

    async def over(self, run_id: str) -> None:
        """Raises unless that run, which is none of this host's, has ended: RunNotFound for one
        that nobody knows, SessionBusy for one that goes on elsewhere.
        """
        try:
            run = await self.store.run(run_id)
        except (RunNotFound, StoreFailed):
            raise RunNotFound(f"There is no run {run_id!r}; it was never started.") from None
        _refuse_going_on((run,))

    async def idle(self, session_id: str) -> None:
        """The same for all runs of a session that is none of this host's."""
        try:
            runs = await self.store.runs(session_id)
        except (SessionNotFound, StoreFailed):
            raise SessionNotFound(f"There is no session {session_id!r}.") from None
        _refuse_going_on(runs)

    async def kept(self) -> None:
        """Returns once all that was queued is stored, or after a moment."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self.store.flush()

    async def let_go(self, session_id: str) -> None:
        """Let other hosts have it; returns once they can, or after a moment."""
        self.store.release(session_id)
        await self.kept()

    @asynccontextmanager
    async def held(self, session_id: str) -> AsyncGenerator[None]:
        """Own a session for something other than a run. Raises as `take` does."""
        await self.store.acquire(session_id)
        try:
            yield
        finally:
            await self.let_go(session_id)


def _refuse_going_on(runs: Sequence[RunRecord]) -> None:
    for run in runs:
        if run.status == "running":
            raise SessionBusy(
                "It runs in another editor: stop it there.",
                sessionId=run.session_id,
                runId=run.run_id,
                elsewhere=True,
            )
