"""The supervised child: framing, stderr, back-pressure, and an end that takes all of its tree."""

import asyncio
import os
import secrets
import sys
import time
from collections.abc import Sequence

import pytest

from agent_host.action_wire import WireError
from agent_host.process import ChildExit, ChildGone, ChildProcess
from tests.boundary.action_support import processes, until


async def child(code: str, *arguments: str, **more: object) -> ChildProcess:
    argv: Sequence[str] = [sys.executable, "-u", "-c", code, *arguments]
    return await ChildProcess.start(argv, env={"PATH": os.environ["PATH"]}, **more)  # type: ignore[arg-type]


async def all_lines(process: ChildProcess) -> list[bytes]:
    return [line async for line in process.lines()]


async def test_lines_go_both_ways() -> None:
    process = await child("import sys\nfor line in sys.stdin: print('got', line, end='')")
    await process.send(b"one\n")
    await process.send(b"two\n")
    process.close_input()
    assert await all_lines(process) == [b"got one", b"got two"]
    assert await process.close() == ChildExit(0, None)


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("raise SystemExit(7)", ChildExit(7, None)),
        ("import os; os.kill(os.getpid(), 15)", ChildExit(None, "SIGTERM")),
        ("", ChildExit(0, None)),
    ],
)
async def test_how_it_ended(code: str, ended: ChildExit) -> None:
    process = await child(code)
    assert await process.wait() == ended
    assert await process.close() == ended
    assert await process.close() == ended


async def test_long_lines_pass_up_to_the_limit_and_no_further() -> None:
    code = "import sys; print('x' * int(sys.argv[1])); print('more')"
    process = await child(code, str(5 * 1024 * 1024), max_line=5 * 1024 * 1024)
    assert list(map(len, await all_lines(process))) == [5 * 1024 * 1024, 4]
    await process.close()
    process = await child(code, "1001", max_line=1000)
    with pytest.raises(WireError):
        await all_lines(process)
    await process.close(grace=0.0)


async def test_a_last_line_needs_no_newline() -> None:
    process = await child("print('a\\nb', end='')")
    assert await all_lines(process) == [b"a", b"b"]
    await process.close()


async def test_stderr_is_told_line_by_line_and_its_tail_kept() -> None:
    told: list[str] = []
    code = (
        "import sys\nfor n in range(20000): print('line', n, file=sys.stderr)\n"
        "sys.stderr.write('x' * 300000 + '\\n')\nsys.stderr.write('end\\n')"
    )
    process = await child(code, on_stderr=told.append)
    await process.wait()
    await until(lambda: told[-1:] == ["end"])
    assert told[:2] == ["line 0", "line 1"]
    assert process.stderr_tail.endswith("x\nend\n")
    assert len(process.stderr_tail) == 16 * 1024
    await process.close()


async def test_a_reader_that_lags_holds_the_child_up_and_loses_nothing() -> None:
    code = "import sys\nfor n in range(400): sys.stdout.write(f'{n}' + 'x' * 100000 + '\\n')"
    process = await child(code)
    lines = process.lines()
    first = await anext(lines)
    await until(lambda: process.received > 8 * 1024 * 1024)
    held = process.received
    assert held < 20 * 1024 * 1024
    rest = [line async for line in lines]
    assert first.startswith(b"0x")
    assert [int(line.rstrip(b"x")) for line in rest] == list(range(1, 400))
    await process.close()


async def test_writing_to_what_has_ended_is_told() -> None:
    process = await child("")
    await process.wait()
    with pytest.raises(ChildGone):
        await process.send(b"x" * 1024 * 1024)
    await process.close()


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        await ChildProcess.start(["/no/such/program"], env={})


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
mark = sys.argv[1]
sleep = [sys.executable, "-c", "import time; time.sleep(600)", mark]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, sleep)
    os._exit(0)
os.wait()
print("up")
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("alive", [True, False], ids=["still running", "ended by itself"])
async def test_close_takes_the_whole_tree(alive: bool) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    process = await child(STUBBORN, mark, "600" if alive else "0")
    assert await anext(process.lines()) == b"up"
    if not alive:
        await process.wait()
    await until(lambda: len(processes(lambda words: mark in words)) == 3 + alive)
    await process.close(grace=0.2)
    await until(lambda: not processes(lambda words: mark in words), seconds=2.0)


async def test_a_cancelled_close_still_takes_the_whole_tree() -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    process = await child(STUBBORN, mark, "600")
    assert await anext(process.lines()) == b"up"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await process.close(grace=60.0)
    await until(lambda: not processes(lambda words: mark in words), seconds=2.0)


async def test_a_daemon_that_holds_the_pipes_hangs_nobody() -> None:
    code = (
        "import os, time\nprint('said')\n"
        "if os.fork() == 0:\n os.setsid()\n time.sleep(600)\nos._exit(3)"
    )
    process = await child(code)
    begun = time.monotonic()
    assert await process.wait() == ChildExit(3, None)
    assert await all_lines(process) == [b"said"]
    await process.close()
    assert time.monotonic() - begun < 30


async def test_asked_politely_it_ends_in_its_own_way() -> None:
    code = (
        "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "print('up')\nsignal.pause()"
    )
    process = await child(code)
    assert await anext(process.lines()) == b"up"
    assert await process.close(grace=20.0) == ChildExit(5, None)


async def test_the_end_of_its_input_may_be_enough() -> None:
    process = await child("import sys; sys.stdin.read(); sys.exit(4)")
    assert await process.close(eof_grace=20.0, grace=0.0) == ChildExit(4, None)


# ---- below a guard, and into a terminal


async def test_a_guarded_child_ends_as_its_program_does() -> None:
    process = await child("print(input())", guarded=True)
    await process.send(b"said\n")
    assert await all_lines(process) == [b"said"]
    assert await process.close(eof_grace=5.0) == ChildExit(0, None)
    for code, ended in (
        ("raise SystemExit(7)", ChildExit(7, None)),
        ("import os; os.kill(os.getpid(), 15)", ChildExit(None, "SIGTERM")),
        ("import os; os.kill(os.getpid(), 9)", ChildExit(None, "SIGKILL")),
    ):
        process = await child(code, guarded=True)
        assert await process.wait() == ended
        assert await process.close() == ended


async def test_a_guarded_program_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        await ChildProcess.start(["no-such-program"], env={"PATH": "/usr/bin"}, guarded=True)


async def test_close_ends_a_guarded_tree_that_ignores_it() -> None:
    code = (
        "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid()\n"
        # In one piece: two processes write to the same pipe.
        "os.write(1, b'%d\\n' % os.getpid()); time.sleep(600)"
    )
    process = await child(code, guarded=True)
    lines = process.lines()
    pids = [int(await anext(lines)) for _ in range(2)]
    assert await process.close(grace=0.2) == ChildExit(None, "SIGKILL")
    await until(lambda: not set(pids) & processes(lambda _: True))


async def test_nothing_of_a_guarded_child_outlives_its_parent() -> None:
    """The parent is killed, so that nothing in it can clean up."""
    ignoring = (
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid()\n"
        "os.write(1, b'%d\\n' % os.getpid()); time.sleep(600)"
    )
    parent = f"""
import asyncio, os, sys
from agent_host.process import ChildProcess
async def main():
    argv = [sys.executable, "-c", {ignoring!r}]
    child = await ChildProcess.start(argv, env={{"PATH": os.environ["PATH"]}}, guarded=True)
    lines = child.lines()
    for _ in range(2):
        print((await anext(lines)).decode(), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    process = await child(parent)
    lines = process.lines()
    pids = [int(await anext(lines)) for _ in range(2)]
    os.kill(process.pid, 9)
    await until(lambda: not set(pids) & processes(lambda _: True))
    await process.close()


async def test_with_a_terminal_its_output_comes_byte_for_byte() -> None:
    code = (
        "import sys\nassert sys.stdout.isatty() and not sys.stdin.isatty()\n"
        "for line in sys.stdin: print('got', line, end='')\nprint('x' * 200_000, end='')"
    )
    process = await child(code, pty=True)
    await process.send(b"one\n")
    lines = process.lines()
    assert await anext(lines) == b"got one"
    process.close_input()
    assert await anext(lines) == b"x" * 200_000
    assert [line async for line in lines] == []
    assert await process.close() == ChildExit(0, None)
