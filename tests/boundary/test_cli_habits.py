"""Bad habits of programs that are runtimes, and bad surroundings: each ends with a reason."""

import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_host.core.errors import AgentHostError
from agent_host.core.model import RuntimeOptions
from agent_host.core.ports import Runtime
from agent_host.runtimes.acp import AcpRuntime
from tests.boundary.action_support import processes
from tests.boundary.claude_support import fake, run, runtime
from tests.boundary.test_acp import NAME as ACP
from tests.boundary.test_acp import agent

FOREIGN = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00\x01\x00\x00\x00" + bytes(40)
"""The head of a program for another kind of machine."""


def acp(command: Path | str) -> AcpRuntime:
    options = RuntimeOptions(command=(str(command),))
    seen = {"PATH": os.environ["PATH"]}
    return AcpRuntime("acp:test", lambda _: seen, lambda: options)


def claude(command: Path | str) -> Runtime:
    return runtime((str(command),))


KINDS: tuple[tuple[str, Callable[[Path | str], Runtime]], ...] = (
    ("claude-code", claude),
    ("acp:test", acp),
)


PLAYED: tuple[tuple[str, Callable[..., Any]], ...] = (("claude-code", fake), (ACP, agent))
"""Programs that behave as they are told."""


async def fails(which: Runtime, cwd: Path, model: str) -> str:
    """What the failed run says, whether it is raised or told."""
    try:
        result, _ = await run(which, cwd, model=model)  # type: ignore[arg-type]
    except AgentHostError as error:
        return error.message
    assert result.status == "failed"
    assert result.error is not None
    return result.error.message


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("ends_without_a_result", "ended with code 0 before it had finished"),
        ("closes_stdout", "before it had finished"),
        ("leaves_a_holder", "ended with code 4 before it had finished.*I go, it stays"),
        ("too_long_line", "a line that is too long"),
    ],
)
@pytest.mark.parametrize(("model", "plays"), PLAYED)
async def test_an_end_that_is_none_is_told(
    tmp_path: Path, model: str, plays: Callable[..., Any], behaviour: str, says: str
) -> None:
    told = await fails(plays(behaviour, end_seconds=0.5), tmp_path, model)
    assert re.search(says, told), told
    pids = {int(path.name.partition("-")[2]) for path in tmp_path.glob("pid-*")}
    assert not pids & processes(lambda _: True)


async def test_the_last_of_two_results_counts(tmp_path: Path) -> None:
    result, sink = await run(fake("finishes_twice"), tmp_path)
    assert (result.status, sink.said) == ("completed", "One.")
    assert len(sink.exits) == 1


@pytest.mark.parametrize(("model", "plays"), PLAYED)
async def test_characters_may_come_byte_by_byte(
    tmp_path: Path, model: str, plays: Callable[..., Any]
) -> None:
    result, sink = await run(plays("cuts_characters"), tmp_path, model=model)
    assert (result.status, sink.said) == ("completed", "\u00e4\u20ac\U0001f600" * 3)


async def test_a_nag_about_an_update_is_logged(tmp_path: Path) -> None:
    result, sink = await run(fake("nags"), tmp_path)
    assert (result.status, sink.said) == ("completed", "Hello.")
    assert any("A new version is there" in line for line in sink.logs)


@pytest.mark.parametrize("prompt", ["a\0b", "\ud800 alone", "long " * 400_000, " ", "--help"])
async def test_any_prompt_reaches_it_whole(tmp_path: Path, prompt: str) -> None:
    _, sink = await run(fake("reflects"), tmp_path, prompt=prompt)
    (told,) = json.loads(sink.said)["prompt"]
    assert told["text"] == (prompt if prompt.strip() else "(nothing)")


@pytest.mark.parametrize(("model", "made"), KINDS)
async def test_its_folder_is_gone(
    tmp_path: Path, model: str, made: Callable[[Any], Runtime]
) -> None:
    told = await fails(made(sys.executable), tmp_path / "gone", model)
    assert "The folder" in told
    assert "is not there" in told


@pytest.mark.parametrize(("model", "made"), KINDS)
async def test_a_file_that_is_no_program_of_this_machine(
    tmp_path: Path, model: str, made: Callable[[Any], Runtime]
) -> None:
    program = tmp_path / "agent"
    program.write_bytes(FOREIGN)
    assert "is no program" in await fails(made(program), tmp_path, model)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    told = await fails(made(program), tmp_path, model)
    assert "another kind of machine" in told, told
    program.write_text("#!/no/such/interpreter\n")
    told = await fails(made(program), tmp_path, model)
    assert "can't be started" in told, told
