"""However the connection ends, the host ends: with the right code, its children gone."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.lsp.watch import polled_end, process_ended
from tests.boundary.edge_client import PROGRAM, WAIT, EdgeClient, edge


def exit_only(client: EdgeClient) -> None:
    client.notify("exit")


def shutdown_and_exit(client: EdgeClient) -> None:
    client.request("shutdown")
    client.notify("exit")


def shutdown_and_close(client: EdgeClient) -> None:
    client.request("shutdown")
    client.close_stdin()


def close_stdin(client: EdgeClient) -> None:
    client.close_stdin()


def terminate(client: EdgeClient) -> None:
    client.process.send_signal(signal.SIGTERM)


def interrupt(client: EdgeClient) -> None:
    client.process.send_signal(signal.SIGINT)


def hang_up(client: EdgeClient) -> None:
    client.process.send_signal(signal.SIGHUP)


ENDS = [
    (shutdown_and_exit, 0),
    (shutdown_and_close, 0),
    (exit_only, 1),
    (close_stdin, 1),
    (terminate, 1),
    (interrupt, 1),
    (hang_up, 1),
]


def is_there(pid: int) -> bool:
    """Whether a process still runs; a zombie doesn't."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(("end", "code"), ENDS)
async def test_every_end_answers_what_is_open_and_leaves_nothing(
    end: Callable[[EdgeClient], None], code: int
) -> None:
    async with edge() as client:
        await client.initialize()
        child = int((await client.result(client.run("child")))["output"])
        assert is_there(child)
        run = client.run("wait")
        await client.delta("started")
        end(client)
        assert await client.exit_code() == code
        assert not is_there(child)
        assert (await client.result(run))["status"] == "stopped"
        assert client.stderr == ""


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"Content-Len",
        b"Content-Length: 100\r\n\r\n{",
        b"{}",
        b'Content-Length: 58\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    ],
)
async def test_stdin_may_end_before_or_in_initialize(sent: bytes) -> None:
    async with edge() as client:
        client.send_bytes(sent)
        client.close_stdin()
        assert await client.exit_code() == 1


async def test_open_questions_don_t_hold_up_the_end() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("ask")
        asked = await client.asked()
        shutdown = client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code() == 0
        assert await client.result(shutdown) is None
        assert (await client.error(run))["data"]["code"] == "shutting_down"
        withdrawn = await client.wait(lambda m: m.get("method") == "$/cancelRequest")
        assert withdrawn["params"] == {"id": asked["id"]}


@pytest.mark.parametrize("fault", ["hangs", "blocks", "raises"])
async def test_an_application_that_does_not_close_is_left(fault: str) -> None:
    async with edge() as client:
        await client.initialize()
        await client.result(client.run(f"close {fault}"))
        client.notify("exit")
        assert await client.exit_code() == 1


async def test_a_part_that_fails_ends_the_host_and_is_logged() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("crash")
        assert await client.exit_code() == 1
        assert "error" in await client.answer(run)
        assert "a part of the host fails" in client.stderr


# ---- the editor's process


async def test_the_host_ends_with_its_editor() -> None:
    """Even though somebody else still holds its stdin open."""
    editor = await asyncio.create_subprocess_exec("sleep", "600")
    async with edge() as client:
        await client.initialize(processId=editor.pid)
        await client.check_unharmed()
        editor.kill()
        assert await client.exit_code() == 1
        await editor.wait()


@pytest.mark.parametrize("pid", [None, 0, -1, 2**22 + 1, "text"])
async def test_an_editor_that_can_t_be_seen_is_not_watched(pid: object) -> None:
    async with edge() as client:
        await client.initialize(processId=pid)
        await client.check_unharmed()


async def test_a_process_is_watched_with_and_without_the_system_s_help() -> None:
    for watch in (process_ended, lambda pid: polled_end(pid, 0.01)):
        process = await asyncio.create_subprocess_exec("sleep", "600")
        async with asyncio.timeout(WAIT), asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch(process.pid))
            process.kill()
            await process.wait()
            await watching
        await watch(process.pid)


# ---- stdout


async def test_nothing_but_the_protocol_reaches_stdout() -> None:
    async with edge() as client:
        await client.initialize()
        await client.result(client.run("print"))
        await client.check_unharmed()
        assert client.broken is None
        for stray in ("stray print", "stray write", "stray child"):
            assert stray in client.stderr


async def test_an_editor_that_reads_late_gets_everything_in_order() -> None:
    async with edge(read=False) as client:
        client.request("initialize", {"capabilities": {}})
        client.notify("initialized", {})
        run = client.run("flood 3000")
        client.run("print")
        await client.stderr_with("stray child")
        ping = client.request("agent/ping")
        async with asyncio.TaskGroup() as tasks:
            client.start_reading(tasks)
            assert await client.result(ping) == {"pong": True}
            assert int((await client.result(run))["output"]) > 1_000_000
            client.notify("exit")
            await client.exit_code()
        deltas = [m["params"]["seq"] for m in client.received if m.get("method") == "agent/delta"]
        assert deltas == list(range(1, 3001))


async def test_an_editor_that_never_reads_freezes_nothing() -> None:
    source, sink = os.pipe()
    async with edge(read=False, stdout=sink) as client:
        os.close(sink)
        client.request("initialize", {"capabilities": {}})
        client.notify("initialized", {})
        client.run("flood 3000")
        client.run("print")
        await client.stderr_with("stray child")
        client.notify("exit")
        async with asyncio.timeout(WAIT):
            assert await client.process.wait() == 1
    os.close(source)


async def test_an_editor_that_closes_its_end_ends_the_host() -> None:
    source, sink = os.pipe()
    async with edge(read=False, stdout=sink) as client:
        os.close(sink)
        client.request("initialize", {"capabilities": {}})
        assert b"Content-Length" in await asyncio.to_thread(os.read, source, 100)
        os.close(source)
        client.run("flood 1")
        async with asyncio.timeout(WAIT):
            assert await client.process.wait() == 1
        assert "Traceback" not in client.stderr


async def test_a_stdout_that_does_not_block_loses_nothing() -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    async with edge(read=False, stdout=sink) as client:
        os.close(sink)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(client.reader), os.fdopen(source, "rb")
        )
        async with asyncio.TaskGroup() as tasks:
            client.start_reading(tasks)
            await client.initialize()
            await client.result(client.run("flood 2000"))
            client.close_stdin()
            await client.exit_code()
        deltas = [m["params"]["seq"] for m in client.received if m.get("method") == "agent/delta"]
        assert deltas == list(range(1, 2001))
        assert client.stderr == ""


# ---- other ways in


def script() -> bytes:
    messages = (
        {"id": 1, "method": "initialize", "params": {}},
        {"method": "initialized"},
        {"id": 2, "method": "agent/run", "params": {"prompt": "text"}},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    )
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


async def test_stdin_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    file.write_bytes(script())
    with file.open("rb") as stdin:
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, PROGRAM],
            stdin=stdin,
            capture_output=True,
            check=False,
            timeout=WAIT,
        )
    assert done.returncode == 0
    assert done.stdout.count(b"Content-Length") == 3


async def test_tcp_serves_one_client_on_loopback() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), "--tcp", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        port = int(line.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(script())
        async with asyncio.timeout(WAIT):
            data = await reader.read()
            assert await process.wait() == 0
        writer.close()
        assert data.count(b"Content-Length") == 3
        with pytest.raises(OSError, match=r"111|refused"):
            await asyncio.open_connection("127.0.0.1", port)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.parametrize("address", ["0.0.0.0:0", "8.8.8.8:1", "127.0.0.1", "localhost:x", "a:1"])
async def test_tcp_serves_nobody_else(address: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), "--tcp", address, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(WAIT):
        _, stderr = await process.communicate()
    assert process.returncode == 1
    assert b"loopback" in stderr
    assert b"Traceback" not in stderr
