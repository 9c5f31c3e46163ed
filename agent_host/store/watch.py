"""A watch on what other processes change: a thread that waits and an iterator on the event loop.

Not here: how a database tells (sources.py).
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol

from agent_host.store.failure import DatabaseFailed

_REOPEN_SECONDS = 1.0


class Source(Protocol):
    """Where changes are learned from; used by one thread. Raises DatabaseFailed."""

    def wait(self, stop: threading.Event) -> frozenset[str]:
        """The sessions that others changed; waits a fraction of a second for some."""
        ...

    def close(self) -> None:
        """Give the connection up."""


class Watcher:
    """The thread of one watch; `deliver` is called on it."""

    def __init__(
        self, source: Source, reopen: Callable[[], Source], deliver: Callable[[str], None]
    ) -> None:
        self._source: Source | None = source
        self._reopen = reopen
        self._deliver = deliver
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._main, name="store-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stop.set()

    def join(self) -> None:
        """Wait for it, off the event loop: it takes a fraction of a second."""
        self._thread.join(timeout=5.0)

    def _main(self) -> None:
        while not self._stop.is_set():
            try:
                if self._source is None:
                    self._source = self._reopen()
                for session_id in self._source.wait(self._stop):
                    self._deliver(session_id)
            except DatabaseFailed:
                self._leave()
                self._stop.wait(_REOPEN_SECONDS)
        self._leave()

    def _leave(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.close()


class Changed:
    """The ids that were delivered and not yet taken, each once; an iterator that never ends.

    Lives on the event loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ids: dict[str, None] = {}
        self._some = asyncio.Event()

    def deliver(self, session_id: str) -> None:
        """From any thread."""
        try:
            self._loop.call_soon_threadsafe(self._add, session_id)
        except RuntimeError:
            # The loop has ended, so nobody waits.
            return

    def __aiter__(self) -> "Changed":
        return self

    async def __anext__(self) -> str:
        await self._some.wait()
        session_id = next(iter(self._ids))
        del self._ids[session_id]
        if not self._ids:
            self._some.clear()
        return session_id

    def _add(self, session_id: str) -> None:
        self._ids[session_id] = None
        self._some.set()
