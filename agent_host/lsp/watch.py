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
        while is_alive(pid):  # noqa: ASYNC110 - nobody tells, so it has to be asked
            await asyncio.sleep(poll_seconds)
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
