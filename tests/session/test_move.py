"""Moving files and directories: asked about, taken along by the editor, told, and taken back."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.actions import FileEdit
from agent_host.core.model import ToolCall
from agent_host.core.permission import Rule
from agent_host.settings import Settings
from tests.fakes import by_kind
from tests.session.stage import Stage, role, stage, tool
from tests.session.test_gate import results
from tests.session.test_revert import reverter, told

MOVE = tool("fs_move", "m1", path="a.txt", to="sub/b.txt")
MOVE_FOLDER = tool("fs_move", "m2", path="src", to="lib")
BEFORE = tool("fs_edit", "e1", path="a.txt", edits=[{"old": "old", "new": "new"}])
AFTER = tool("fs_edit", "e2", path="sub/b.txt", edits=[{"old": "new", "new": "newest"}])


def with_rules(*rules: Rule) -> Settings:
    return Settings(model="scripted/x", rules=rules)


async def test_a_file_is_moved_and_all_that_is_told_of_it_is_true(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/mine.txt": b"mine"}
        result, statuses = await host.run(BEFORE, MOVE, AFTER)
        assert statuses == ["ok"] * 3
        assert host.actions.files == {"/w/sub/b.txt": b"newest\n", "/w/mine.txt": b"mine"}
        assert "wants to move /w/a.txt to /w/sub/b.txt" in host.editor.questions[1].title
        assert [option.kind for option in host.editor.questions[1].options] == [
            "deny",
            "allowOnce",
            "stop",
        ]
        assert result.edits == (
            FileEdit("file:///w/a.txt", "delete"),
            FileEdit("file:///w/sub/b.txt", "create"),
        )
        assert result.diff is not None
        assert result.diff.text == (
            "rename from a.txt\nrename to sub/b.txt\n"
            "--- a/a.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-old\n+newest\n"
        )


async def test_it_is_taken_back_and_had_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/mine.txt": b"mine"}
        before = dict(host.actions.files)
        result, _ = await host.run(BEFORE, MOVE, AFTER)
        after = dict(host.actions.files)
        back = await reverter(host).revert(result.run_id)
        assert set(told(back).values()) == {"reverted"}
        assert host.actions.files == before
        assert host.actions.folders == set()
        again = await reverter(host).revert(back.run_id)
        assert set(told(again).values()) == {"reverted"}
        assert host.actions.files == after


async def test_a_directory_goes_and_comes_back_with_what_others_put_in_it(tmp_path: Path) -> None:
    edit = tool("fs_edit", "e1", path="src/a.py", edits=[{"old": "old", "new": "new"}])
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/src/a.py": b"old\n", "/w/src/deep/b.py": b"b\n"}
        result, statuses = await host.run(edit, MOVE_FOLDER)
        assert statuses == ["ok", "ok"]
        assert "move the directory /w/src (2 entries: a.py, deep/b.py) to /w/lib" in (
            host.editor.questions[1].title
        )
        assert set(host.actions.files) == {"/w/lib/a.py", "/w/lib/deep/b.py"}
        assert FileEdit("file:///w/lib/a.py", "change") in result.edits
        assert result.diff is not None
        assert "rename from src\nrename to lib\n" in result.diff.text
        assert "rename from src/a.py\nrename to lib/a.py\n--- a/src/a.py" in result.diff.text
        host.actions.files["/w/lib/mine.py"] = b"mine"
        back = await reverter(host).revert(result.run_id)
        assert set(told(back).values()) == {"reverted"}
        assert host.actions.files == {
            "/w/src/a.py": b"old\n",
            "/w/src/deep/b.py": b"b\n",
            "/w/src/mine.py": b"mine",
        }


async def test_a_name_that_was_taken_meanwhile_is_told_and_left_alone(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        result, _ = await host.run(MOVE)
        host.actions.files["/w/a.txt"] = b"by hand\n"
        back = await reverter(host).revert(result.run_id)
        moved = next(each for each in back.files if each.uri == "file:///w/a.txt")
        assert (moved.status, moved.reason) == (
            "skipped",
            "Something else has its old name by now.",
        )
        assert host.actions.files == {"/w/a.txt": b"by hand\n", "/w/sub/b.txt": b"old\n"}


@pytest.mark.parametrize("there", [b"by hand\n", None])
async def test_what_others_did_to_the_moved_file_since_is_kept(
    tmp_path: Path, there: bytes | None
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        result, _ = await host.run(BEFORE, MOVE)
        del host.actions.files["/w/sub/b.txt"]
        if there is not None:
            host.actions.files["/w/sub/b.txt"] = there
        kept = dict(host.actions.files)
        back = await reverter(host).revert(result.run_id)
        assert [each.status for each in back.files if each.uri == "file:///w/a.txt"] == [
            "skipped",
            "skipped",
        ]
        assert host.actions.files == kept


async def test_a_file_that_is_named_is_taken_back_under_all_its_names(tmp_path: Path) -> None:
    other = tool("fs_write", "o", path="other.txt", text="x")
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        result, _ = await host.run(BEFORE, MOVE, other, AFTER)
        await reverter(host).revert(result.run_id, ["file:///w/sub/b.txt"])
        assert host.actions.files == {"/w/a.txt": b"old\n", "/w/other.txt": b"x"}


async def test_a_name_that_a_move_left_is_another_file_afterwards(tmp_path: Path) -> None:
    anew = tool("fs_write", "n", path="a.txt", text="another\n")
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        result, _ = await host.run(BEFORE, MOVE, anew)
        back = await reverter(host).revert(result.run_id)
        assert set(told(back).values()) == {"reverted"}
        assert host.actions.files == {"/w/a.txt": b"old\n"}


# ---- what is not moved


async def test_nothing_is_moved_over_something_or_from_nowhere(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/sub/b.txt": b"b"}
        before = dict(host.actions.files)
        none = tool("fs_move", "m2", path="none.txt", to="c.txt")
        (first, why), (second, gone) = await results(host, MOVE, none)
        assert (first, second) == ("failed", "failed")
        assert "Something else is at /w/sub/b.txt already" in why
        assert "There is no /w/none.txt" in gone
        assert host.actions.files == before


@pytest.mark.parametrize(
    "rule",
    [
        Rule("deny", "fs.delete", "a.txt"),
        Rule("deny", "fs.write", "sub/**"),
        Rule("deny", "fs.read", "a.txt"),
    ],
)
async def test_a_rule_against_either_end_is_against_the_move(tmp_path: Path, rule: Rule) -> None:
    async with stage(tmp_path, settings=with_rules(rule, Rule("allow", "fs.*"))) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        assert (await results(host, MOVE))[0][0] == "denied"
        assert host.actions.files == {"/w/a.txt": b"old\n"}


async def test_a_rule_about_a_part_of_a_directory_is_against_its_move(tmp_path: Path) -> None:
    rules = (Rule("deny", "fs.read", "src/private/**"),)
    async with stage(tmp_path, settings=with_rules(*rules)) as host:
        host.actions.files["/w/src/private/x"] = b"secret"
        ((status, text),) = await results(host, MOVE_FOLDER)
        assert (status, "src/private" in text) == ("denied", True)


async def test_secrets_and_protected_names_are_asked_about_whatever_is_allowed(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, settings=with_rules(Rule("allow", "fs.*"))) as host:
        host.actions.files |= {"/w/.env": b"k", "/w/a.txt": b"old\n"}
        host.editor.choose = by_kind("deny")
        calls = (
            tool("fs_move", "1", path=".env", to="plain.txt"),
            tool("fs_move", "2", path="a.txt", to=".github/workflows/x.yml"),
        )
        assert [status for status, _ in await results(host, *calls)] == ["denied", "denied"]
        assert len(host.editor.questions) == 2
        assert "it is protected" in host.editor.questions[1].title
        host.editor.questions.clear()
        assert (await results(host, MOVE))[0][0] == "ok"
        assert host.editor.questions == []


async def test_a_role_that_may_not_delete_may_not_move(tmp_path: Path) -> None:
    writer = role("coder", skills=frozenset({"fs.read", "fs.write"}))
    async with stage(tmp_path, roles=(writer,)) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        ((status, text),) = await results(host, MOVE)
        assert (status, "does not have the skill fs.delete" in text) == ("denied", True)


# ---- open documents


def opened(host: Stage, text: str = "old\n", path: str = "/w/a.txt") -> None:
    host.actions.files[path] = b"old\n"
    host.editor.open(path, text)


async def moved(host: Stage, call: ToolCall = MOVE) -> tuple[str, str]:
    ((status, text),) = await results(host, call)
    return status, text


async def test_an_editor_that_can_takes_its_unsaved_text_along(tmp_path: Path) -> None:
    async def follow(uri: str, to: str) -> bool:
        assert (uri, to) == ("file:///w/a.txt", "file:///w/sub/b.txt")
        host.actions.files["/w/sub/b.txt"] = host.actions.files.pop("/w/a.txt")
        host.editor.close("/w/a.txt")
        host.editor.open("/w/sub/b.txt", "typed\n")
        return True

    async with stage(tmp_path) as host:
        opened(host, "typed\n")
        host.editor.moves, host.editor.on_move = "all", follow
        assert await moved(host) == ("ok", "Moved /w/a.txt to /w/sub/b.txt.")
        assert host.actions.files == {"/w/sub/b.txt": b"old\n"}
        assert host.editor.left_open == []


@pytest.mark.parametrize("moves", ["none", "clean"])
@pytest.mark.parametrize(("path", "call"), [("/w/a.txt", MOVE), ("/w/src/x.py", MOVE_FOLDER)])
async def test_unsaved_text_is_never_left_behind(
    tmp_path: Path, moves: str, path: str, call: ToolCall
) -> None:
    async with stage(tmp_path) as host:
        opened(host, "typed\n", path)
        host.editor.moves = moves  # type: ignore[assignment]
        status, text = await moved(host, call)
        assert (status, "has unsaved changes in the editor" in text) == ("failed", True)
        assert host.actions.files == {path: b"old\n"}
        assert host.editor.moved == []


async def test_what_an_editor_leaves_open_is_told(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host)
        status, text = await moved(host)
        assert status == "ok"
        assert "still open in the editor under its old name" in text
        assert host.editor.left_open == ["/w/a.txt"]
        assert host.actions.files == {"/w/sub/b.txt": b"old\n"}


async def test_what_the_editor_did_not_do_is_done_on_the_disk(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host)
        host.editor.moves = "clean"
        assert (await moved(host))[0] == "ok"
        assert host.editor.moved == [("file:///w/a.txt", "file:///w/sub/b.txt")]
        assert host.actions.files == {"/w/sub/b.txt": b"old\n"}


async def test_an_editor_that_does_not_answer_is_not_done_twice(tmp_path: Path) -> None:
    async def silent(uri: str, to: str) -> bool:
        del uri, to
        return False

    async with stage(tmp_path) as host:
        opened(host)
        host.editor.moves, host.editor.on_move = "all", silent
        result, statuses = await host.run(MOVE)
        assert statuses == ["failed"]
        assert host.actions.files == {"/w/a.txt": b"old\n"}
        assert result.edits == ()


async def test_an_editor_that_did_something_else_is_not_called_moved(tmp_path: Path) -> None:
    async def copies(uri: str, to: str) -> bool:
        del uri, to
        host.actions.files["/w/sub/b.txt"] = b""
        return True

    async with stage(tmp_path) as host:
        opened(host)
        host.editor.moves, host.editor.on_move = "all", copies
        status, text = await moved(host)
        assert (status, "did something else" in text) == ("failed", True)


# ---- links are what they are


async def test_what_is_deleted_and_still_open_is_told(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        opened(host, "typed\n")
        ((status, text),) = await results(host, tool("fs_delete", path="a.txt"))
        assert status == "ok"
        assert "Still open in the editor, with its text: /w/a.txt" in text
        assert host.editor.left_open == ["/w/a.txt"]


@pytest.mark.parametrize("was_made", [True, False])
async def test_a_move_that_was_cut_short_is_known_by_what_is_there(
    tmp_path: Path, was_made: bool
) -> None:
    late: list[asyncio.Task[None]] = []

    async def cut_short(uri: str, to: str) -> bool:
        del uri, to
        if was_made:
            # The editor does it after its time was up: nobody was told.
            late.append(host.tasks.create_task(later()))
        return False

    async def later() -> None:
        await host.editor.until(lambda: bool(host.ended()))
        host.actions.files["/w/sub/b.txt"] = host.actions.files.pop("/w/a.txt")
        host.editor.close("/w/a.txt")

    async with stage(tmp_path) as host:
        opened(host)
        host.editor.moves, host.editor.on_move = "all", cut_short
        result, statuses = await host.run(MOVE)
        assert statuses == ["failed"]
        for task in late:
            await task
        back = await reverter(host).revert(result.run_id)
        of_file = [each.status for each in back.files if each.uri == "file:///w/a.txt"]
        assert of_file == (["reverted"] if was_made else [])
        assert host.actions.files == {"/w/a.txt": b"old\n"}
