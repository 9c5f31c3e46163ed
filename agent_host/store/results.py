"""Long results of tools, whole, in files of the state folder: for the model to read on in them.

Bounded in total and for each session, the oldest go first; readable by the user only. They belong
to one session and go with it.
"""

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from agent_host.core.errors import ActionFailed

MOST_OF_SESSION = 32 * 1024 * 1024
MOST = 512 * 1024 * 1024
"""Bytes."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ResultFiles:
    """See KeepResults in session/long_results.py."""

    def __init__(self, state: Path, new_id: Callable[[], str]) -> None:
        self._folder = state / "results"
        self._new_id = new_id

    async def keep(self, session_id: str, text: str) -> str | None:
        """Keep a text; returns its id, None if it could not be kept."""
        return await asyncio.to_thread(self._keep, session_id, text)

    async def read(self, session_id: str, result_id: str) -> str:
        """A text that was kept. Raises ActionFailed."""
        return await asyncio.to_thread(self._read, session_id, result_id)

    async def forget(self, session_id: str) -> None:
        """Remove what was kept for a session."""
        await asyncio.to_thread(self.forget_now, session_id)

    def forget_now(self, session_id: str) -> None:
        """As `forget`, for who has no event loop."""
        folder = self._of(session_id)
        for file in _files(folder):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()

    def _keep(self, session_id: str, text: str) -> str | None:
        folder, result_id = self._of(session_id), self._new_id()
        data = text.encode("utf-8", "replace")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(folder / result_id, flags, 0o600), "wb") as file:
                file.write(data)
            _shrink(_files(folder), MOST_OF_SESSION)
            everything = [file for each in self._folder.iterdir() for file in _files(each)]
            _shrink(everything, MOST)
        except OSError:
            return None
        return result_id if (folder / result_id).exists() else None

    def _read(self, session_id: str, result_id: str) -> str:
        gone = ActionFailed("not_found", "That result is not kept (any more); get it again.")
        if not _ID.fullmatch(result_id):
            raise gone
        try:
            return (self._of(session_id) / result_id).read_text("utf-8")
        except OSError as error:
            raise gone from error

    def _of(self, session_id: str) -> Path:
        # A session's id may be any text that is no name of a folder.
        return self._folder / hashlib.sha256(session_id.encode()).hexdigest()[:32]


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _shrink(files: list[Path], most: int) -> None:
    """Remove the oldest until the rest has at most so many bytes."""
    found = sorted(((f.stat().st_mtime_ns, f.stat().st_size, f) for f in files), reverse=True)
    total = 0
    for _, size, file in found:
        total += size
        if total > most:
            file.unlink(missing_ok=True)
