"""`agent-host run` and `demo` as a shell sees them, with the real host and a scripted model."""

import asyncio
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

WRITES = """\
- - text: "I write it.\\n"
  - call: {name: fs_write, arguments: {path: new.txt, text: hello}}
- - text: Done.
"""
HANGS = "- - text: Thinking\n  - hang: yes\n"


@asynccontextmanager
async def program(
    folder: Path, argv: Sequence[str], *, stdin: int = asyncio.subprocess.DEVNULL, **environ: str
) -> AsyncGenerator[asyncio.subprocess.Process]:
    base = {name: os.environ[name] for name in ("PATH", "HOME")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent_host", *argv),
        cwd=folder,
        env={**base, "AGENT_HOST_HOME": str(folder.parent / "home"), **environ},
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def finished(
    folder: Path, *argv: str, typed: str | None = None, **environ: str
) -> tuple[int | None, str, str]:
    stdin = asyncio.subprocess.DEVNULL if typed is None else asyncio.subprocess.PIPE
    async with program(folder, argv, stdin=stdin, **environ) as process:
        out, err = await process.communicate(None if typed is None else typed.encode())
        return process.returncode, out.decode(), err.decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "writes.yaml").write_text(WRITES)
    (folder / "hangs.yaml").write_text(HANGS)
    return folder


TRUSTED = {"AGENT_HOST_TRUST": "always"}


async def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(project: Path) -> None:
    argv = ("run", "write it", "--model", "scripted/writes.yaml", "--yes")
    code, out, err = await finished(project, *argv, **TRUSTED)
    assert (code, out) == (0, "I write it.\nDone.\n"), err
    assert "coder · scripted/writes.yaml" in err
    assert "new.txt" in err
    assert "allowed (--yes)" in err
    assert "completed (2 requests" in err
    assert (project / "new.txt").read_text() == "hello"


@pytest.mark.parametrize(
    ("argv", "typed", "written"),
    [
        ([], "y\n", False),
        (["--ask"], "y\n", True),
    ],
)
async def test_only_a_clear_yes_allows(
    project: Path, argv: list[str], typed: str | None, *, written: bool
) -> None:
    run = ("run", "write it", "--model", "scripted/writes.yaml", *argv)
    code, _, err = await finished(project, *run, typed=typed, **TRUSTED)
    assert code == 0, err
    assert (project / "new.txt").exists() is written
    assert ("✗ denied" in err) is not written


async def test_json_lines(project: Path) -> None:
    argv = ("run", "-", "--model", "scripted/echo", "--json")
    code, out, err = await finished(project, *argv, typed="say this", **TRUSTED)
    assert code == 0, err
    *deltas, last = [json.loads(line) for line in out.splitlines()]
    assert [each["delta"]["seq"] for each in deltas] == list(range(1, len(deltas) + 1))
    assert deltas[-1]["delta"]["delta"]["kind"] == "ended"
    assert "say this" in last["result"]["output"]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ([], 1, "Set one of ANTHROPIC_API_KEY"),
        (["--model", "scripted/echo", "--role", "codr"], 1, "no role `codr`"),
    ],
)
async def test_what_can_not_begin_is_one_sentence(
    project: Path, argv: list[str], code: int, said: str
) -> None:
    found, out, err = await finished(project, "run", "hi", *argv)
    assert (found, out) == (code, "")
    assert err.startswith("agent-host: ")
    assert said in err
    assert "Traceback" not in err


async def test_a_limit_has_its_own_exit_code(project: Path) -> None:
    argv = ("run", "write it", "--model", "scripted/writes.yaml", "--yes")
    code, _, err = await finished(project, *argv, AGENT_HOST_MAX_TURNS="1", **TRUSTED)
    assert code == 3, err
    assert "limit" in err


async def test_ctrl_c_stops_the_run(project: Path) -> None:
    argv = ("run", "think", "--model", "scripted/hangs.yaml")
    async with program(project, argv, **TRUSTED) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert await process.stdout.readexactly(8) == b"Thinking"
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130
        assert b"stopped" in await process.stderr.read()


async def test_ctrl_c_at_a_question_stops_the_run(project: Path) -> None:
    argv = ("run", "write it", "--model", "scripted/writes.yaml", "--ask")
    async with program(project, argv, stdin=asyncio.subprocess.PIPE, **TRUSTED) as process:
        assert process.stderr is not None
        await process.stderr.readuntil(b"> ")
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130
    assert not (project / "new.txt").exists()


async def test_a_person_at_a_terminal_is_asked(project: Path) -> None:
    argv = ("run", "write it", "--model", "scripted/writes.yaml")
    person, terminal = pty.openpty()
    try:
        async with program(project, argv, stdin=terminal, **TRUSTED) as process:
            assert process.stderr is not None
            await process.stderr.readuntil(b"> ")
            os.write(person, b"s\n")
            shown = await process.stderr.readuntil(b"> ")
            os.write(person, b"y\n")
            assert await process.wait() == 0
        assert b"+hello" in shown
        assert (project / "new.txt").read_text() == "hello"
    finally:
        os.close(person)
        os.close(terminal)


async def test_the_demo_mends_the_unsaved_text(tmp_path: Path) -> None:
    code, out, err = await finished(tmp_path, "demo", "--yes")
    assert code == 0, err
    assert '+    return "Hello, " + name + "!"' in out
    assert "Exit code 0" in out
    assert 'The editor\'s text was changed to: return "Hello, " + name + "!"' in out
    assert "Traceback" not in out + err
    assert not (tmp_path.parent / "home" / "state").exists()


async def test_the_demo_without_a_yes_changes_nothing(tmp_path: Path) -> None:
    code, out, err = await finished(tmp_path, "demo")
    assert code == 0, err
    assert "denied: there is no terminal" in out
    assert "Nothing was changed" in out
