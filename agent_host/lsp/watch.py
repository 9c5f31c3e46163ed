"""Tells when another process has ended, without being its parent."""

import asyncio
import os

from agent_host.lsp.early import is_alive

_POLL_SECONDS = 2.0


async def process_ended(pid: int, poll_seconds: float = _POLL_SECONDS) -> None:
    """Return once that process is gone: at once where the system tells, else within a poll."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        await polled_end(pid, poll_seconds)
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def polled_end(pid: int, poll_seconds: float) -> None:
    """The same where the system doesn't tell: ask again and again."""
    while is_alive(pid):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(poll_seconds)
