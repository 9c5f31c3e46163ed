"""The thread that owns stdout: order, backlog, caps, and an end that is bounded."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from agent_host.lsp.writer import Writer

WAIT = 20.0


class Calls:
    """What the writer called back, to be waited for."""

    def __init__(self) -> None:
        self.overflown = 0
        self.broken = asyncio.Event()
        self.drained = asyncio.Event()

    def overflow(self) -> None:
        self.overflown += 1


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    source, sink = os.pipe()
    try:
        yield source, sink
    finally:
        for fd in (source, sink):
            try:
                os.close(fd)
            except OSError:
                continue


@asynccontextmanager
async def writing(sink: int, cap: int = 10**9) -> AsyncIterator[tuple[Writer, Calls]]:
    calls = Calls()
    writer = Writer(sink, on_overflow=calls.overflow, on_broken=calls.broken.set, cap=cap)
    writer.on_drained(calls.drained.set)
    async with asyncio.timeout(WAIT):
        yield writer, calls
        await writer.close(0)


async def test_messages_go_out_whole_and_in_order() -> None:
    messages = [b"%d;" % number * (number % 50 + 1) for number in range(5000)]
    with pipe() as (source, sink):
        async with writing(sink) as (writer, _):
            got = bytearray()

            def read() -> None:
                while len(got) < len(b"".join(messages)):
                    got.extend(os.read(source, 1000))

            reading = threading.Thread(target=read)
            reading.start()
            for message in messages:
                writer.write(message)
            await writer.close(WAIT)
            reading.join()
        assert got == b"".join(messages)


async def test_a_backlog_is_seen_and_its_end_is_told() -> None:
    with pipe() as (source, sink):
        async with writing(sink) as (writer, calls):
            assert writer.backlog == 0
            writer.write(b"x" * 1_000_000)
            assert writer.backlog > 0
            while writer.backlog:
                calls.drained.clear()
                assert writer.backlog >= 0
                await asyncio.to_thread(os.read, source, 1 << 20)
                if writer.backlog:
                    await calls.drained.wait()
            assert writer.backlog == 0


async def test_who_unsubscribed_is_not_called() -> None:
    with pipe() as (source, sink):
        async with writing(sink) as (writer, calls):
            forget = writer.on_drained(calls.overflow)
            forget()
            forget()
            writer.write(b"x")
            if writer.backlog:
                await calls.drained.wait()
            assert calls.overflown == 0
            assert os.read(source, 10) == b"x"


async def test_over_the_cap_it_is_told_once_and_over_twice_the_cap_it_gives_up() -> None:
    with pipe() as (_, sink):
        async with writing(sink, cap=500_000) as (writer, calls):
            for _ in range(9):
                writer.write(b"x" * 100_000)
            await asyncio.sleep(0)
            assert calls.overflown == 1
            assert not calls.broken.is_set()
            for _ in range(3):
                writer.write(b"x" * 100_000)
            await calls.broken.wait()
            writer.write(b"more")
            assert writer.backlog == 0
            assert calls.overflown == 1


async def test_a_closed_end_is_told() -> None:
    with pipe() as (source, sink):
        async with writing(sink) as (writer, calls):
            os.close(source)
            writer.write(b"x")
            await calls.broken.wait()
            writer.write(b"x")
            assert writer.backlog == 0


async def test_closing_does_not_wait_for_an_editor_that_does_not_read() -> None:
    with pipe() as (_, sink):
        async with writing(sink) as (writer, calls):
            writer.write(b"x" * 1_000_000)
            await writer.close(0.01)
            await calls.broken.wait()
            writer.write(b"more")
            assert writer.backlog == 0
