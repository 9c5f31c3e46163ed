"""What a session has said since a place in it, and then what it says, whichever host runs it.

All of it comes from the store, so there is no gap and no double between past and present. A run
whose host is gone ends as `interrupted`. Not here: whom it is told (follows.py).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from agent_host.core.errors import StoreFailed
from agent_host.core.events import Ended
from agent_host.core.model import Origin
from agent_host.core.records import DeltaPage, SessionStore, StoredDelta

PAGE = 500
LOOK_SECONDS = 3.0
"""How often to look without having been told of a change: nobody tells that a host is gone."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Some deltas in order. `all`: there are no more right now; `run_id` then goes on."""

    deltas: tuple[StoredDelta, ...]
    all: bool
    run_id: str | None


@dataclass(frozen=True, slots=True)
class _Open:
    """A run that was not told to have ended, and its last delta."""

    run_id: str
    through: int


class Trail:
    """One session from a place on: after the delta `after` (a run's id and a number), else from
    `cursor`, else from its beginning. `cursor` moves on as it is followed.
    """

    def __init__(
        self,
        store: SessionStore,
        session_id: str,
        *,
        cursor: str | None = None,
        after: tuple[str, int] | None = None,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self.cursor = cursor
        self._after = after
        self._store = store
        self._session_id = session_id
        self._look_seconds = look_seconds
        self._open: _Open | None = None

    async def follow(self) -> AsyncGenerator[Heard]:
        """Everything there is, then whatever comes, for ever.

        Raises SessionNotFound, also once it is deleted; RunNotFound, InvalidRequest and StoreFailed
        in the beginning only.
        """
        begun = False
        async with self._store.watch() as changes:
            while True:
                try:
                    if not begun:
                        await self._begin()
                    heard = await self._next()
                except StoreFailed:
                    if not begun:
                        raise
                else:
                    begun = True
                    yield heard
                    if not heard.all:
                        continue
                await self._change(changes)

    async def _begin(self) -> None:
        """Find the place, and the run that goes on there although it may say nothing more."""
        if self._after is not None:
            run_id, seq = self._after
            self.cursor = await self._store.place(self._session_id, run_id, seq)
            status = (await self._store.run(run_id)).status
            through = await self._through(run_id)
            if status in ("running", "interrupted") and seq <= through:
                self._open = _Open(run_id, through)
        elif self.cursor is not None:
            runs = await self._store.runs(self._session_id)
            # A cursor does not say whether an end was told that nobody stored: rather twice.
            if runs and runs[-1].status in ("running", "interrupted"):
                self._open = _Open(runs[-1].run_id, await self._through(runs[-1].run_id))

    async def _through(self, run_id: str) -> int:
        """The number of a run's last delta."""
        cursor = await self._store.place(self._session_id, run_id, 0)
        through, more = 0, True
        while more:
            page = await self._store.load(self._session_id, cursor=cursor, limit=PAGE)
            cursor, more = page.cursor, page.more
            mine = [delta.through for delta in page.deltas if delta.run_id == run_id]
            through = max([through, *mine])
            more = more and bool(mine)
        return through

    async def _next(self) -> Heard:
        page = await self._store.load(self._session_id, cursor=self.cursor, limit=PAGE)
        deltas: list[StoredDelta] = []
        open_run = self._open
        for delta in page.deltas:
            if open_run is not None and open_run.run_id != delta.run_id:
                deltas += await self._ending(open_run)
            deltas.append(delta)
            ended = isinstance(delta.delta, Ended)
            open_run = None if ended else _Open(delta.run_id, delta.through)
        if not page.more and open_run is not None and (end := await self._ending(open_run)):
            deltas += end
            open_run = None
        self.cursor, self._open = page.cursor, open_run
        going = open_run.run_id if open_run is not None else _begun(page)
        return Heard(tuple(deltas), not page.more, going)

    async def _ending(self, run: _Open) -> list[StoredDelta]:
        """The end of a run that has ended without its last delta."""
        record = await self._store.run(run.run_id)
        if record.status == "running":
            return []
        gone = "the host that ran it is gone" if record.status == "interrupted" else None
        return [
            StoredDelta(
                session_id=record.session_id,
                run_id=run.run_id,
                seq=run.through + 1,
                through=run.through + 1,
                origin=Origin("system"),
                delta=Ended(record.status, record.reason or gone),
                at=record.ended or record.started,
            )
        ]

    async def _change(self, changes: AsyncIterator[str]) -> None:
        """Wait until the session may have changed."""
        try:
            async with asyncio.timeout(self._look_seconds):
                async for session_id in changes:
                    if session_id == self._session_id:
                        return
        except TimeoutError:
            return


def _begun(page: DeltaPage) -> str | None:
    """A run that goes on and has said nothing yet."""
    if page.runs and page.runs[-1].status == "running":
        return page.runs[-1].run_id
    return None
