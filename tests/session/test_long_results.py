"""Results that are too long for a model: nothing is lost, and what is left out is said."""

import re
import stat
from pathlib import Path

import pytest

from agent_host.core.actions import Command, CommandResult
from agent_host.core.errors import ActionFailed
from agent_host.core.model import ToolResult
from agent_host.session.long_results import LONG, LONGEST
from agent_host.store import results as files
from agent_host.store.results import ResultFiles
from tests.fakes import answering
from tests.session.stage import Stage, asked, role, stage, tool

LINES = "".join(f"line {number} {'x' * 40}\n" for number in range(1, 4001))


async def prints(command: Command) -> CommandResult:
    del command
    return CommandResult(LINES, 0)


async def results_of(on: Stage, *calls: object, session: str = "s") -> list[ToolResult]:
    story, results = answering("ok", *calls)  # type: ignore[arg-type]
    on.plays(story)
    await on.manager.run(asked(session_id=session))
    return results


def reference(result: ToolResult) -> str:
    found = re.search(r'path "(result:\w+)"', result.text)
    assert found is not None
    return found[1]


async def test_a_long_result_has_head_and_tail_and_the_rest_can_be_read(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.actions.command = prints
        (result,) = await results_of(on, tool("terminal_run", command="make"))
        assert len(result.text) < LONGEST
        assert result.text.startswith("line 1 ")
        assert "line 4000 " in result.text
        assert "characters are left out here" in result.text
        path = reference(result)
        (file,) = (tmp_path / "results").rglob("r*")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        part, more, beyond = await results_of(
            on,
            tool("fs_read", "c1", path=path, offset=2000, limit=2),
            tool("fs_read", "c2", path=path),
            tool("fs_read", "c3", path=path, offset=9999),
        )
        assert part.text.splitlines()[0].startswith("2000\tline 2000 ")
        assert "[Lines 2002 to 4001 are left out" in part.text
        assert len(more.text) < LONGEST
        assert beyond.status == "failed"
        assert on.editor.questions[1:] == []


async def test_one_that_a_compaction_may_cut_is_kept_too(tmp_path: Path) -> None:
    async def some(command: Command) -> CommandResult:
        del command
        return CommandResult(LINES[: LONG + 100], 0)

    async with stage(tmp_path) as on:
        on.actions.command = some
        (result,) = await results_of(on, tool("terminal_run", command="make"))
        assert LINES[:LONG] in result.text
        (part,) = await results_of(on, tool("fs_read", path=reference(result), offset=3, limit=1))
        assert part.text.startswith("3\tline 3 ")


async def test_another_session_and_a_role_that_may_not_read_do_not_get_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.actions.command = prints
        (result,) = await results_of(on, tool("terminal_run", command="make"))
        path = reference(result)
        (other,) = await results_of(on, tool("fs_read", path=path), session="a")
        assert other.status == "failed"
        assert "not kept" in other.text
        on.roles = (role(skills=frozenset({"terminal"})),)
        (denied,) = await results_of(on, tool("fs_read", path=path))
        assert denied.status == "denied"
        (odd,) = await results_of(on, tool("fs_read", path="result:../../x"), session="b")
        assert odd.status in ("failed", "denied")


async def test_a_long_file_is_cut_at_a_line_and_read_on_from_itself(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.actions.files["/w/long"] = LINES.encode()
        (result,) = await results_of(on, tool("fs_read", path="long", offset=10))
        assert len(result.text) < LONGEST + 200
        found = re.search(r"go on with offset (\d+)", result.text)
        assert found is not None
        following = int(found[1])
        assert f"\n{following - 1}\tline {following - 1} " in result.text
        assert f"\n{following}\t" not in result.text
        assert not (tmp_path / "results").exists()


async def test_a_line_without_end_is_read_in_pieces(tmp_path: Path) -> None:
    async def endless(command: Command) -> CommandResult:
        del command
        return CommandResult("y" * 100_000, 0)

    async with stage(tmp_path) as on:
        on.actions.command = endless
        (result,) = await results_of(on, tool("terminal_run", command="yes"))
        path = reference(result)
        (part,) = await results_of(on, tool("fs_read", path=path, offset=50, limit=1))
        assert part.text.startswith("50\t" + "y" * 2000 + "\n")


async def test_what_can_t_be_kept_is_said_to_be_lost(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    async with stage(tmp_path) as on:
        on.actions.command = prints
        (result,) = await results_of(on, tool("terminal_run", command="make"))
        assert "they could not be kept" in result.text


async def test_the_oldest_go_first_and_all_go_with_the_session(tmp_path: Path) -> None:
    ids = iter("abcdefgh")
    kept = ResultFiles(tmp_path, lambda: next(ids))
    third = "x" * (files.MOST_OF_SESSION // 3)
    names = [await kept.keep("s", third) for _ in range(4)]
    assert names == ["a", "b", "c", "d"]
    with pytest.raises(ActionFailed):
        await kept.read("s", "a")
    assert await kept.read("s", "d") == third
    assert await kept.keep("..", "small") == "e"
    await kept.forget("s")
    with pytest.raises(ActionFailed):
        await kept.read("s", "d")
    assert await kept.read("..", "e") == "small"
    assert len(list((tmp_path / "results").iterdir())) == 1
