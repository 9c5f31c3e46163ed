"""The action server as a process: crashes, hangs, floods, back-off, and the death of its host."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from agent_host.action_wire import WireError, decode_to_server
from agent_host.core.errors import ActionFailed
from tests.boundary.action_support import Bench, action_bench, processes, until


@pytest.fixture
async def bench(tmp_path: Path):
    async with action_bench(tmp_path) as bench:
        await bench.client.start()
        yield bench


def pid_of(bench: Bench) -> int:
    pid = bench.client.status().pid
    assert pid is not None
    return pid


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_a_crash_costs_the_calls_in_it_and_no_other(bench: Bench) -> None:
    (bench.root / "file").write_text("x")
    first = pid_of(bench)
    async with asyncio.TaskGroup() as group:
        failing = group.create_task(bench.fails(bench.sh("echo up; sleep 600"), "crashed"))
        await bench.heard("up")
        os.kill(first, signal.SIGKILL)
    assert "unknown" in failing.result().reason
    assert (await bench.client.read(bench.path("file"))).data == b"x"
    assert (await bench.sh("echo again")).output == "again\n"
    assert bench.client.status().restarts == 1
    assert pid_of(bench) != first
    assert any("restarted" in line for line in bench.log)


async def test_a_hang_is_found_and_ended(bench: Bench) -> None:
    os.kill(pid_of(bench), signal.SIGSTOP)
    await bench.fails(bench.sh("echo never"), "crashed")
    assert (await bench.sh("echo again")).output == "again\n"
    assert any("silent" in line for line in bench.log)


async def test_a_crash_of_the_file_worker_costs_its_calls_only(bench: Bench) -> None:
    (bench.root / "file").write_text("x")
    os.mkfifo(bench.root / "gate")
    (worker,) = children(pid_of(bench))
    async with asyncio.TaskGroup() as group:
        command = group.create_task(bench.sh("echo up; cat gate"))
        await bench.heard("up")
        os.kill(worker, signal.SIGSTOP)
        failing = group.create_task(
            bench.fails(bench.client.read(bench.path("file")), "crashed", "timeout")
        )
        await asyncio.sleep(0)
        os.kill(worker, signal.SIGKILL)
        await failing
        assert (await bench.client.read(bench.path("file"))).data == b"x"
        (bench.root / "gate").write_text("through\n")
    assert command.result().output == "up\nthrough\n"
    assert bench.client.status().restarts == 0


async def test_after_many_crashes_it_rests_and_says_so(tmp_path: Path) -> None:
    now = [0.0]
    async with action_bench(tmp_path, clock=lambda: now[0]) as bench:
        for _ in range(6):
            await bench.client.start()
            pid = pid_of(bench)
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: bench.client.status().pid != pid)
        error = await bench.fails(bench.client.start(), "unavailable")
        assert "keeps failing" in error.reason


async def test_it_is_refused_after_the_end(tmp_path: Path) -> None:
    async with action_bench(tmp_path) as bench:
        await bench.client.start()
        pid = pid_of(bench)
        await bench.client.close()
        await bench.fails(bench.client.read(bench.path("x")), "unavailable")
        assert not Path(f"/proc/{pid}").exists()


async def test_nothing_is_started_before_it_is_used(tmp_path: Path) -> None:
    async with action_bench(tmp_path) as bench:
        assert bench.client.status().pid is None


async def test_too_much_for_one_message_is_refused_before_it_is_sent(bench: Bench) -> None:
    from agent_host.core.actions import SearchQuery

    query = SearchQuery("x", str(bench.root), overlay={bench.path("big"): "x" * (65 * 1024**2)})
    await bench.fails(bench.client.search(query), "too_large")
    assert bench.client.status().restarts == 0


async def test_calls_from_many_tasks_are_answered_apart(bench: Bench) -> None:
    for number in range(50):
        (bench.root / str(number)).write_text(str(number))
    read = [bench.client.read(bench.path(str(number))) for number in range(50)]
    assert [each.data for each in await asyncio.gather(*read)] == [
        str(number).encode() for number in range(50)
    ]


async def test_no_secret_reaches_its_environment(tmp_path: Path) -> None:
    environment = {**os.environ, "OPENAI_API_KEY": "hush", "PYTHONPATH": "/evil"}
    async with action_bench(tmp_path, environment=environment) as bench:
        await bench.client.start()
        pid = pid_of(bench)
        for each in (pid, *children(pid)):
            told = Path(f"/proc/{each}/environ").read_bytes()
            assert b"hush" not in told
            assert b"PYTHONPATH" not in told


HOST = """
    import asyncio, sys
    from pathlib import Path
    from agent_host.actions.client import ActionClient
    from agent_host.actions.sandbox import Sandbox
    from agent_host.core.actions import Command
    from agent_host.session.sealing import sealed

    async def main():
        folder = Path(sys.argv[1])
        client = ActionClient(
            state_dir=folder / "state",
            roots=[sys.argv[1]],
            sandbox=Sandbox("none") if sys.argv[2] == "none" else None,
        )
        async with client.serving(), asyncio.TaskGroup() as group:
            def heard(stream, text):
                if "up" in text:
                    print("up", flush=True)
            await client.start()
            for number, script in enumerate(sys.argv[3:]):
                command = Command(sys.argv[1], script=script)
                command = sealed(command, client.status().sandbox, str(number))
                group.create_task(client.run(command, heard))

    asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("sandbox", ["best", "none"])
async def test_nothing_outlives_the_host(
    tmp_path: Path, number: signal.Signals, sandbox: str
) -> None:
    mark = f"mark{os.getpid()}x{number}"
    storm = "python3 -c 'import os,time\nwhile True:\n if os.fork(): os._exit(0)\n os.setsid()\n"
    scripts = (
        f"trap '' TERM; echo up; sleep 600 {mark}; sleep 600",
        f"(setsid sh -c 'trap \"\" TERM; echo up; sleep 600; : {mark}' &) ; sleep 600",
        f"echo up; cat /dev/zero | tr '\\0' x; : {mark}",
        f"echo up; {storm} time.sleep(0.005)' {mark} & sleep 600",
        f"echo up; cat; sleep 600; : {mark}",
    )
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOST), str(tmp_path), sandbox, *scripts],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert host.stdout is not None
    loop = asyncio.get_running_loop()
    for _ in range(4):
        assert await loop.run_in_executor(None, host.stdout.readline) == b"up\n"
    host.send_signal(number)
    await loop.run_in_executor(None, host.wait)
    host.stdout.close()
    folder = str(tmp_path)
    # A process that forks all the time may be missed once.
    await until(
        lambda: not any(processes(lambda words: mark in words or folder in words) for _ in range(5))
    )
    await until(lambda: not processes(lambda words: f"serve {host.pid}" in words))


async def test_not_even_a_stopped_action_server_outlives_its_host(tmp_path: Path) -> None:
    script = f"echo up; sleep 600; : mark{os.getpid()}"
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOST), str(tmp_path), "best", script],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert host.stdout is not None
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(None, host.stdout.readline) == b"up\n"
    (guard,) = children(host.pid)
    (server,) = children(guard)
    below = children(server)
    os.kill(server, signal.SIGSTOP)
    host.kill()
    await loop.run_in_executor(None, host.wait)
    host.stdout.close()
    await until(lambda: not processes(lambda words: f"serve {host.pid}" in words))
    await until(lambda: not processes(lambda words: str(tmp_path) in words))
    assert below


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b'{"type":"Nothing"}',
        b'{"type":"Cancel"}',
        b'{"type":"Cancel","id":"1"}',
        b'{"type":"Cancel","id":true}',
        b'{"type":"Cancel","id":1,"more":1}',
        b'{"type":"Call","id":1,"call":{"type":"Read","path":null}}',
        b'{"type":"Call","id":1,"call":{"type":"Write","path":"/","data":"#","expected_sha256":null}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        decode_to_server(line)


async def test_it_starts_from_a_folder_that_tries_to_shadow_its_modules(tmp_path: Path) -> None:
    for name in ("json.py", "asyncio.py", "agent_host.py"):
        (tmp_path / name).write_text("raise SystemExit(9)")
    async with action_bench(tmp_path) as bench:
        (bench.root / "json.py").write_text("raise SystemExit(9)")
        await bench.client.start()
        with pytest.raises(ActionFailed):
            await bench.client.read(bench.path("none"))
