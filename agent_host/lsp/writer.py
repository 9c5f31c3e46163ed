"""The editor's end of stdout, owned by a thread: an editor that doesn't read blocks nobody.

Messages go out whole and in the order of `write`, many small ones in one system call. Not here:
what is written, and merging while the editor is behind (session/deltas.py).
"""

import asyncio
import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable

MAX_BACKLOG = 256 * 1024 * 1024

_CHUNK = 64 * 1024


class Writer:
    """Writes to `fd`; its callbacks are called on the loop that it was made on. Sizes in bytes.

    `on_overflow` is called when the backlog passes `cap`, again only after it was empty; what is
    written then is still queued, up to twice the cap. `on_broken` is called once, when nobody can
    read any more or the backlog passed twice the cap; all later writes are dropped.
    """

    def __init__(
        self,
        fd: int,
        *,
        on_overflow: Callable[[], None],
        on_broken: Callable[[], None],
        cap: int = MAX_BACKLOG,
    ) -> None:
        self._fd = fd
        self._on_overflow = on_overflow
        self._on_broken = on_broken
        self._cap = cap
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._size = 0
        self._closing = self._broken = self._overflown = self._watched = False
        self._drained: list[Callable[[], None]] = []
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="stdout", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """Bytes that the editor has not taken. Who sees more than 0 is called back (on_drained)."""
        with self._changed:
            self._watched = self._size > 0
            return self._size

    def write(self, data: bytes) -> None:
        """Queue whole messages; never blocks or raises."""
        with self._changed:
            if self._broken or self._closing or not data:
                return
            self._queue.append(data)
            self._size += len(data)
            if self._size > 2 * self._cap:
                self._break()
            elif self._size > self._cap and not self._overflown:
                self._overflown = True
                self._call(self._on_overflow)
            self._changed.notify()

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on the loop once the backlog has shrunk after somebody saw it above 0."""
        self._drained.append(callback)

        def forget() -> None:
            if callback in self._drained:
                self._drained.remove(callback)

        return forget

    async def close(self, timeout: float = 1.0) -> None:
        """Write what is queued, for at most `timeout` seconds, and end. The fd stays open."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        try:
            async with asyncio.timeout(timeout):
                await self._ended.wait()
        except TimeoutError:
            with self._changed:
                self._break()
                self._changed.notify()

    # ---- on the thread

    def _run(self) -> None:
        while chunk := self._next_chunk():
            try:
                self._write_all(chunk)
            except OSError:
                with self._changed:
                    self._break()
        self._call(self._ended.set)

    def _next_chunk(self) -> bytes:
        """Wait for messages; empty when there is no more to do."""
        with self._changed:
            while not self._queue and not self._closing and not self._broken:
                self._changed.wait()
            parts: list[bytes] = []
            size = 0
            while self._queue and not self._broken and (not parts or size < _CHUNK):
                parts.append(self._queue.popleft())
                size += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest and not self._broken:
            try:
                count = os.write(self._fd, rest[:_CHUNK])
            except BlockingIOError:
                select.select([], [self._fd], [], 1.0)
                continue
            rest = rest[count:]
            self._took(count)

    def _took(self, count: int) -> None:
        with self._changed:
            if self._broken:
                return
            self._size -= count
            self._overflown = self._overflown and self._size > 0
            if self._watched and self._drained:
                self._watched = False
                self._call(self._tell_drained)

    # ---- on the loop

    def _tell_drained(self) -> None:
        for callback in tuple(self._drained):
            callback()

    def _break(self) -> None:
        """Give up; the lock is held."""
        if not self._broken:
            self._broken = True
            self._queue.clear()
            self._size = 0
            self._call(self._on_broken)

    def _call(self, callback: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(callback)
