"""Follows a run to its end, with Ctrl-C as Stop, and says which exit code that end is."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from agent_host.client import Delta, HostError, HostGone, Run, RunResult

EXIT_CODES = {"completed": 0, "failed": 1, "limit": 3, "refused": 4, "stopped": 130}


async def follow(run: Run, show: Callable[[Delta], None]) -> RunResult:
    """Show each delta; returns the result. Raises HostError or HostGone."""
    async with _stopping(run):
        async for delta in run.deltas:
            show(delta)
        return await run.result()


def exit_code(result: RunResult) -> int:
    """The exit code for how a run ended."""
    return EXIT_CODES.get(result.status, 1)


@asynccontextmanager
async def _stopping(run: Run) -> AsyncGenerator[None]:
    """Ctrl-C stops the run; the next one is an ordinary interrupt."""
    loop = asyncio.get_running_loop()
    pressed = asyncio.Event()

    before = signal.getsignal(signal.SIGINT)

    def press() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        pressed.set()

    async def stop() -> None:
        await pressed.wait()
        with contextlib.suppress(HostError, HostGone):  # it ended by itself meanwhile
            await run.stop()

    try:
        loop.add_signal_handler(signal.SIGINT, press)
    except (NotImplementedError, RuntimeError):
        yield  # this platform or thread has no such handlers: Ctrl-C ends at once
        return
    try:
        async with asyncio.TaskGroup() as tasks:
            stopper = tasks.create_task(stop())
            yield
            stopper.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        if loop.remove_signal_handler(signal.SIGINT):
            signal.signal(signal.SIGINT, before)
