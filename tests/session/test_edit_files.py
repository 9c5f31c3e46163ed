"""Edits of several files, or of several places, as one call: asked once, accepted in part."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.core.events import Asked, Edited
from agent_host.core.model import ToolCall, ToolResult
from agent_host.core.permission import Answer, Question, Rule
from agent_host.settings import Settings
from tests.fakes import answering, by_kind
from tests.session.stage import Stage, asked, stage, tool

OLD_TO_NEW = [{"old": "old", "new": "new"}]
THREE = tool(
    "fs_edit_files",
    files=[
        {"path": "a.txt", "edits": OLD_TO_NEW},
        {"path": "b.txt", "edits": OLD_TO_NEW},
        {"path": "c/new.txt", "text": "made\n"},
    ],
)
TWO_PLACES = tool(
    "fs_edit",
    path="a.txt",
    edits=[{"old": "one", "new": "ONE"}, {"old": "two", "new": "TWO"}],
)


def accepting(*ids: str, reason: str | None = None) -> Callable[[Question], Answer]:
    def choose(question: Question) -> Answer:
        return Answer(question.options[1], reason, ids)

    return choose


async def result(host: Stage, call: ToolCall) -> ToolResult:
    story, found = answering("Done.", call)
    host.plays(story)
    await host.manager.run(asked())
    return found[0]


async def test_three_files_are_one_question(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"b old\n"}
        host.editor.open("/w/b.txt", "b old, typed\n")
        told = await result(host, THREE)
        assert told.status == "ok"
        assert told.summary == "Changed 3 of 3 files"
        assert host.actions.files == {
            "/w/a.txt": b"new\n",
            "/w/b.txt": b"b old\n",
            "/w/c/new.txt": b"made\n",
        }
        document = host.editor.document("/w/b.txt")
        assert document is not None
        assert document.text == "b new, typed\n"
        assert "/w/b.txt, 2 lines of the diff. It is in the editor and not saved yet." in told.text
        (question,) = host.editor.questions
        assert "change 3 files: a.txt, b.txt, c/new.txt" in question.title
        assert [part.title for part in question.parts] == ["a.txt", "b.txt", "c/new.txt"]
        assert question.diff == "".join(part.diff for part in question.parts)
        applied = [d for d in host.told() if isinstance(d, Edited) and d.state == "applied"]
        assert len(applied) == 3


async def test_a_file_that_was_refused_is_named_and_left_alone(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        before = {"/w/a.txt": b"old\n", "/w/b.txt": b"b old\n"}
        host.actions.files |= before
        host.editor.choose = accepting("1", "3", reason="b is mine")
        told = await result(host, THREE)
        assert (told.status, told.summary) == ("ok", "Changed 2 of 3 files")
        assert "/w/b.txt was not changed: the user refused it" in told.text
        assert "b is mine" in told.text
        assert host.actions.files == before | {"/w/a.txt": b"new\n", "/w/c/new.txt": b"made\n"}


@pytest.mark.parametrize(
    "choose", [by_kind("deny"), accepting(), accepting("9"), lambda _: Answer(None, "dismissed")]
)
async def test_nothing_accepted_is_a_denial(
    tmp_path: Path, choose: Callable[[Question], Answer]
) -> None:
    async with stage(tmp_path) as host:
        before = {"/w/a.txt": b"old\n", "/w/b.txt": b"b old\n"}
        host.actions.files |= before
        host.editor.choose = choose
        told = await result(host, THREE)
        assert told.status == "denied"
        assert "changed nothing" in told.text
        assert host.actions.files == before


async def test_what_fails_or_is_not_allowed_keeps_nothing_else_back(tmp_path: Path) -> None:
    rules = (Rule("deny", "fs.write", "b.txt", where="config.yaml:3"),)
    async with stage(tmp_path, settings=Settings(model="scripted/x", rules=rules)) as host:
        host.actions.files |= {"/w/a.txt": b"other\n", "/w/b.txt": b"b old\n"}
        told = await result(host, THREE)
        assert told.status == "ok"
        lines = told.text.splitlines()
        assert lines[0].startswith("/w/a.txt was not changed: this failed: old text not found")
        assert any(line.startswith("/w/b.txt was not changed: it is not allowed") for line in lines)
        assert lines[-1].startswith("Created /w/c/new.txt")
        (question,) = host.editor.questions
        assert question.parts == ()
        assert "create /w/c/new.txt" in question.title


async def test_only_the_file_that_moved_is_asked_anew(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"b old\n"}
        host.editor.open("/w/b.txt", "b old\n")

        def choose(question: Question) -> Answer:
            if len(host.editor.questions) == 1:
                host.editor.open("/w/b.txt", "typed\nb old\n")
            return Answer(question.options[1])

        host.editor.choose = choose
        assert (await result(host, THREE)).summary == "Changed 3 of 3 files"
        document = host.editor.document("/w/b.txt")
        assert document is not None
        assert document.text == "typed\nb new\n"
        _, second = host.editor.questions
        assert second.parts == ()
        assert "b.txt" in second.title


async def test_an_answer_for_the_session_holds_for_what_was_accepted(tmp_path: Path) -> None:
    def choose(question: Question) -> Answer:
        session = next(each for each in question.options if each.kind == "allowSession")
        return Answer(session, None, ("3",))

    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"b old\n"}
        host.editor.choose = choose
        story, _ = answering("Done.", THREE)
        host.plays(story)
        await host.manager.run(asked(session_id="a"))
        host.editor.choose = by_kind("deny")
        calls = (
            tool("fs_write", "c2", path="c/other.txt", text="x"),
            tool("fs_write", "c3", path="d.txt", text="x"),
        )
        _, statuses = await host.run(*calls, session_id="a")
        assert statuses == ["ok", "denied"]


# ---- places of one file


async def test_places_of_one_file_are_accepted_one_by_one(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"one\r\n\r\ntwo\r\n"
        host.editor.choose = accepting("2")
        told = await result(host, TWO_PLACES)
        assert told.status == "ok"
        assert "The user refused replacement 1, which was not made." in told.text
        assert host.actions.files["/w/a.txt"] == b"one\r\n\r\nTWO\r\n"
        (question,) = host.editor.questions
        assert [part.title for part in question.parts] == ["a.txt, line 1", "a.txt, line 3"]
        assert "+TWO" not in question.parts[0].diff
        applied = [d for d in host.told() if isinstance(d, Edited) and d.state == "applied"]
        assert "ONE" not in applied[0].diff


async def test_places_that_were_accepted_of_another_text_are_asked_anew(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.open("/w/a.txt", "one\ntwo\n")

        def choose(question: Question) -> Answer:
            if len(host.editor.questions) == 1:
                host.editor.open("/w/a.txt", "typed\none\ntwo\n")
                return Answer(question.options[1], None, ("2",))
            return Answer(question.options[1])

        host.editor.choose = choose
        assert (await result(host, TWO_PLACES)).status == "ok"
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "typed\none\nTWO\n"
        assert sum(isinstance(delta, Asked) for delta in host.told()) == 2


async def test_wrong_arguments_are_told(tmp_path: Path) -> None:
    wrong = {
        "names each file once": [{"path": "a", "text": ""}, {"path": "./a", "text": ""}],
        "either `edits` or `text`": [{"path": "a"}],
        "a list of {path, edits}": [],
        "a list of {old, new}": [{"path": "a", "edits": []}],
    }
    async with stage(tmp_path) as host:
        for sentence, files in wrong.items():
            told = await result(host, tool("fs_edit_files", files=files))
            assert (told.status, sentence in told.text) == ("failed", True), told.text
