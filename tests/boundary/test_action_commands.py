"""Commands through the real action server: output, limits, and that nothing of them survives."""

import asyncio
import os
import secrets
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.actions import Command, CommandResult
from tests.boundary.action_support import (
    Bench,
    action_bench,
    allowed,
    processes,
    sandbox_of,
    until,
)

SANDBOXES = ["bubblewrap", "landlock-only", "none"]


@pytest.fixture(params=SANDBOXES)
async def bench(request: pytest.FixtureRequest, tmp_path: Path):
    async with action_bench(tmp_path, sandbox=sandbox_of(request.param)) as bench:
        yield bench


DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in (0, 1, 2): os.close(fd)
time.sleep(600)
"""

STORM = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def storm(depth):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if depth: storm(depth - 1)
            while True:
                if os.fork(): os._exit(0)
                os.setsid()
                time.sleep(0.01)
storm(2)
print("storming", flush=True)
time.sleep(600)
"""


def python(code: str, mark: str) -> str:
    return f"exec python3 -c '{code}' {mark}"


async def test_output_comes_live_and_whole_and_in_order(bench: Bench) -> None:
    result = await bench.sh("echo out; sleep 0.05; echo err >&2; sleep 0.05; printf 'é\\033[31mx'")
    assert (result.output, result.exit_code, result.signal) == ("out\nerr\néx", 0, None)
    live = {stream: "".join(t for s, t in bench.live if s == stream) for stream, _ in bench.live}
    assert live == {"stdout": "out\néx", "stderr": "err\n"}


@pytest.mark.parametrize(
    ("command", "code", "name"),
    [
        ({"script": "exit 3"}, 3, None),
        ({"script": "kill -SEGV $$"}, {None, 139}, "SIGSEGV"),
        ({"argv": ("sh", "-c", "exit 7")}, 7, None),
        ({"argv": ("echo", "$HOME; *")}, 0, None),
    ],
)
async def test_how_it_ended(bench: Bench, command: dict, code: object, name: object) -> None:
    command = Command(str(bench.root), **command)
    result = await bench.run(command)
    assert result.exit_code in (code if isinstance(code, set) else {code})
    assert result.signal == name
    if command.argv == ("echo", "$HOME; *"):
        assert result.output == "$HOME; *\n"


async def test_a_program_that_is_not_there(bench: Bench) -> None:
    command = Command(str(bench.root), argv=("no-such-program",))
    try:
        result = await bench.run(command)
    except Exception as error:  # noqa: BLE001 - either way the model must read which one
        said = str(error)
    else:
        assert result.exit_code
        said = result.output
    assert "no-such-program" in said


@pytest.mark.parametrize("kind", SANDBOXES)
async def test_it_finds_no_input_no_terminal_and_no_secret(tmp_path: Path, kind: str) -> None:
    environment = {
        **os.environ,
        "MY_API_KEY": "hush",
        "GITHUB_TOKEN": "hush",
        "LD_PRELOAD": "/x.so",
        "PATH": f".:{os.environ['PATH']}:bin",
    }
    sandbox = sandbox_of(kind)
    async with action_bench(tmp_path, environment=environment, sandbox=sandbox) as bench:
        result = await bench.sh("cat; head -c1 /dev/tty; ps -o tty= -p $$; env; ls /proc/self/fd")
        assert "hush" not in result.output
        assert "LD_PRELOAD" not in result.output
        assert "No such device or address" in result.output
        path = next(line for line in result.output.splitlines() if line.startswith("PATH="))
        assert all(part.startswith("/") for part in path.removeprefix("PATH=").split(":"))
        assert result.output.splitlines()[-4:] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("cwd", ["/", "..", "link", "file", "none"])
async def test_it_starts_only_in_a_directory_of_the_workspace(bench: Bench, cwd: str) -> None:
    os.symlink("/usr", bench.root / "link")  # noqa: PTH211
    (bench.root / "file").touch()
    command = Command(os.path.join(bench.root, cwd), script="pwd")  # noqa: PTH118
    await bench.fails(bench.run(command), "outside", "not_found")


async def test_the_middle_of_long_output_is_left_out_and_counted(bench: Bench) -> None:
    result = await bench.sh("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert result.output.startswith("first\nxxx")
    assert result.output.endswith("xxx\nlast\n")
    assert f"[... {result.omitted} bytes left out ...]" in result.output
    assert result.omitted == 3_000_012 - 128 * 1024
    assert len(result.output) < 129 * 1024
    assert sum(len(text) for _, text in bench.live) < 2_000_000


@pytest.mark.parametrize(
    "script",
    ["yes", "head -c 200000000 /dev/zero | tr '\\0' x", "cat /dev/zero"],
    ids=["lines", "200 MB without a newline", "zeros"],
)
async def test_a_flood_is_cut_off(bench: Bench, script: str) -> None:
    result = await bench.sh(script)
    assert result.note is not None
    assert "64 MiB" in result.note
    assert len(result.output) < 129 * 1024
    assert (await bench.sh("echo next")).output == "next\n"


async def test_time_out_first_asks_then_kills(bench: Bench) -> None:
    kind, rude = await asyncio.gather(
        bench.sh("trap 'echo bye; exit 4' TERM; sleep 600 & wait", timeout=5.0),
        bench.sh("trap '' TERM; while :; do sleep 0.1; done", timeout=5.0),
    )
    assert (kind.timed_out, kind.output, kind.exit_code) == (True, "bye\n", 4)
    assert (rude.timed_out, rude.signal) == (True, "SIGKILL")


@pytest.mark.parametrize("code", [DAEMON, STORM], ids=["daemon", "fork storm"])
@pytest.mark.parametrize("end", ["by itself", "stopped", "timeout"])
async def test_nothing_survives_a_command(bench: Bench, code: str, end: str) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    (bench.root / "code.py").write_text(code)
    script = f"(python3 code.py {mark} &); until pgrep -f {mark} >/dev/null; do :; done; echo up"
    if end != "by itself":
        script += "; sleep 600"
    async with asyncio.TaskGroup() as group:
        timeout = 2.0 if end == "timeout" else 60.0
        running = group.create_task(bench.sh(script, timeout=timeout))
        await bench.heard("up")
        if end == "stopped":
            running.cancel()
    assert running.cancelled() == (end == "stopped")
    assert processes(lambda words: mark in words) == set()
    assert (await bench.sh("echo next")).output == "next\n"


async def test_background_processes_end_with_it_and_hold_nothing_up(bench: Bench) -> None:
    begun = time.monotonic()
    result = await bench.sh("sleep 600 & echo done")
    assert result.output == "done\n"
    assert time.monotonic() - begun < 30


async def test_many_at_once_and_reads_in_between(bench: Bench) -> None:
    (bench.root / "file").write_text("x")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(bench.sh("until [ -e go ]; do sleep 0.05; done; echo went"))
        others = [group.create_task(bench.sh(f"echo {number}")) for number in range(10)]
        for _ in range(10):
            assert (await bench.client.read(bench.path("file"))).data == b"x"
        results: list[CommandResult] = [await each for each in others]
        assert not waiting.done()
        (bench.root / "go").touch()
    assert [each.output for each in results] == [f"{number}\n" for number in range(10)]
    assert waiting.result().output == "went\n"


async def test_a_host_that_lags_slows_the_command_and_loses_nothing(bench: Bench) -> None:
    result = await bench.sh("for i in $(seq 2000); do echo line $i; done")
    assert result.output.splitlines() == [f"line {number}" for number in range(1, 2001)]
    assert "".join(text for _, text in bench.live) == result.output


async def test_a_file_larger_than_a_gibibyte_is_not_written(bench: Bench) -> None:
    result = await bench.sh("ulimit -f; ulimit -c; truncate -s 2G big; echo $?")
    assert result.output.splitlines()[:2] == [str(1024 * 1024), "0"]
    assert result.output.splitlines()[-1] != "0"


@pytest.mark.parametrize("kind", SANDBOXES)
async def test_closing_ends_running_commands(tmp_path: Path, kind: str) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    async with (
        action_bench(tmp_path, sandbox=sandbox_of(kind)) as bench,
        asyncio.TaskGroup() as group,
    ):
        task = group.create_task(_ignoring(bench.sh(f"trap '' TERM; echo up; sleep 600 {mark}")))
        await bench.heard("up")
        await bench.client.close()
        await task
    assert processes(lambda words: mark in words) == set()


async def _ignoring(what) -> None:
    with pytest.raises(Exception, match=r"unknown|shut down|stopped"):
        await what


async def test_a_signal_for_the_hosts_terminal_is_not_for_commands(bench: Bench) -> None:
    result = await bench.sh("trap 'echo INT' INT; kill -INT $$; echo on")
    assert result.output == "INT\non\n"
    os.kill(bench.client.status().pid or 0, signal.SIGINT)
    assert (await bench.sh("echo next")).output == "next\n"
    await until(lambda: bench.client.status().restarts == 0)


async def test_what_was_allowed_runs_once_and_as_it_was_allowed(bench: Bench) -> None:
    (bench.root / "there").mkdir()
    command = await allowed(Command(str(bench.root), script="echo x >> ran"), bench.client)
    await bench.client.run(command, bench.hear)
    await bench.fails(bench.client.run(command, bench.hear), "denied")
    others = {
        "script": "echo y >> ran",
        "cwd": str(bench.root / "there"),
        "env": {"PATH": "/evil"},
        "network": True,
        "hide_secrets": True,
        "timeout": 599.0,
    }
    for name, other in others.items():
        fresh = await allowed(Command(str(bench.root), script="echo x >> ran"), bench.client)
        changed = replace(fresh, **{name: other})
        failure = await bench.fails(bench.client.run(changed, bench.hear), "stale")
        assert "not the command that was allowed" in failure.reason
    await bench.fails(
        bench.client.run(Command(str(bench.root), script="echo z >> ran"), bench.hear), "denied"
    )
    assert (bench.root / "ran").read_text() == "x\n"


async def test_a_directory_that_became_another_is_not_worked_in(bench: Bench) -> None:
    (bench.root / "here").mkdir()
    (bench.root / "there").mkdir()
    command = await allowed(Command(bench.path("here"), script="touch ran"), bench.client)
    (bench.root / "here").rmdir()
    (bench.root / "here").symlink_to("there")
    await bench.fails(bench.client.run(command, bench.hear), "stale")
    assert not (bench.root / "there" / "ran").exists()
