"""The sessions that an editor follows while other hosts run them.

Runs of this host are told as they happen, so they are left out here: nothing is told twice.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from agent_host.core.errors import AgentHostError, InvalidRequest
from agent_host.core.records import SessionStore, StoredDelta
from agent_host.session.trail import Trail

FULL = 1024 * 1024
"""Bytes that the editor has not read above which no more is loaded."""

MOST = 32
"""How many sessions one editor can follow; each takes a connection to the store."""


class Outlet(Protocol):
    """The editor, as what is followed is told to it."""

    def tell(self, stored: StoredDelta) -> None:
        """Queue a delta; never blocks."""

    def left(self, session_id: str, reason: str) -> None:
        """Say that a session is not followed any more."""

    def is_told(self, run_id: str) -> bool:
        """Whether the editor is told of that run already, as it happens."""
        ...

    def backlog(self) -> int:
        """Bytes queued that the editor has not read yet."""
        ...

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once the backlog has shrunk; returns how to unsubscribe."""
        ...


@dataclass(frozen=True, slots=True)
class Attached:
    """Everything before `cursor` was told; `run_id` goes on elsewhere."""

    cursor: str
    run_id: str | None


@dataclass(slots=True)
class Follows:
    """`tasks` owns the following; it ends with the connection."""

    store: SessionStore
    tasks: asyncio.TaskGroup
    outlet: Outlet
    _followed: dict[str, asyncio.Task[None]] = field(
        default_factory=dict[str, asyncio.Task[None]], init=False
    )

    async def attach(
        self, session_id: str, cursor: str | None, after: tuple[str, int] | None
    ) -> Attached:
        """Tell all that came since a cursor or after a run's delta, then whatever comes.

        Returns once it is told. Raises SessionNotFound, RunNotFound, InvalidRequest, StoreFailed.
        """
        self.detach(session_id)
        if len(self._followed) >= MOST:
            raise InvalidRequest(f"{MOST} sessions are followed; agent/session/detach one first.")
        trail = Trail(self.store, session_id, cursor=cursor, after=after)
        caught: asyncio.Future[Attached] = asyncio.get_running_loop().create_future()
        task = self.tasks.create_task(self._follow(session_id, trail, caught))
        self._followed[session_id] = task
        task.add_done_callback(lambda _: self._gone(session_id, task))
        try:
            return await caught
        except asyncio.CancelledError:
            task.cancel()
            raise

    def detach(self, session_id: str) -> bool:
        """Follow it no longer; False if it was not followed."""
        task = self._followed.pop(session_id, None)
        return task is not None and task.cancel()

    def close(self) -> None:
        """Follow nothing any more."""
        for session_id in list(self._followed):
            self.detach(session_id)

    async def _follow(
        self, session_id: str, trail: Trail, caught: "asyncio.Future[Attached]"
    ) -> None:
        try:
            async with aclosing(trail.follow()) as hearing:
                async for heard in hearing:
                    for stored in heard.deltas:
                        if not self.outlet.is_told(stored.run_id):
                            self.outlet.tell(stored)
                    if heard.all and not caught.done():
                        caught.set_result(Attached(trail.cursor or "", heard.run_id))
                    await self._room()
        except AgentHostError as error:
            if caught.done():
                self.outlet.left(session_id, error.message)
            else:
                caught.set_exception(error)
        finally:
            if not caught.done():
                caught.set_exception(InvalidRequest("It was detached meanwhile."))

    async def _room(self) -> None:
        """Wait until the editor keeps up."""
        while self.outlet.backlog() > FULL:
            drained = asyncio.Event()
            unsubscribe = self.outlet.on_drained(drained.set)
            try:
                await drained.wait()
            finally:
                unsubscribe()

    def _gone(self, session_id: str, task: "asyncio.Task[None]") -> None:
        if self._followed.get(session_id) is task:
            del self._followed[session_id]
