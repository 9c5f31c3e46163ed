"""What others do to a file between a read, a question and an edit: nothing is lost, all is told."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.core.permission import Answer, Question
from tests.fakes import answering
from tests.session.stage import Stage, asked, stage, tool
from tests.session.test_gate import results

EDIT = tool("fs_edit", "c1", path="a.txt", edits=[{"old": "old", "new": "new"}])


def meanwhile(host: Stage, does: Callable[[], object]) -> None:
    """While the first question is open, somebody does this; each question is allowed."""

    def choose(question: Question) -> Answer:
        if len(host.editor.questions) == 1:
            does()
        return Answer(question.options[1])

    host.editor.choose = choose


async def outcome(host: Stage) -> tuple[str, str]:
    ((status, text),) = await results(host, EDIT)
    return status, text


async def test_a_file_that_is_deleted_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        meanwhile(host, host.actions.files.clear)
        status, text = await outcome(host)
        assert (status, "There is no file /w/a.txt" in text) == ("failed", True)
        assert host.actions.files == {}


async def test_a_file_that_is_renamed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        files = host.actions.files
        files["/w/a.txt"] = b"old\n"
        meanwhile(host, lambda: files.update({"/w/b.txt": files.pop("/w/a.txt")}))
        assert (await outcome(host))[0] == "failed"
        assert files == {"/w/b.txt": b"old\n"}


async def test_a_dirty_document_that_is_closed_unsaved_leaves_the_disks_text(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old on disk\n"
        host.editor.open("/w/a.txt", "old, typed\n")
        meanwhile(host, lambda: host.editor.close("/w/a.txt"))
        assert (await outcome(host))[0] == "ok"
        assert host.actions.files["/w/a.txt"] == b"new on disk\n"
        assert "+new on disk" in (host.editor.questions[1].diff or "")


async def test_a_document_that_is_opened_meanwhile_is_edited_in_the_editor(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        meanwhile(host, lambda: host.editor.open("/w/a.txt", "old\ntyped\n"))
        assert (await outcome(host))[0] == "ok"
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "new\ntyped\n"
        assert host.actions.files["/w/a.txt"] == b"old\n"


async def test_a_file_that_changes_on_disk_under_a_dirty_document_stays_as_it_is(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as host:
        host.editor.saves = True
        host.actions.files["/w/a.txt"] = b"pulled\n"
        host.editor.open("/w/a.txt", "old\n")
        status, text = await outcome(host)
        assert (status, "not saved" in text) == ("ok", True)
        assert host.actions.files["/w/a.txt"] == b"pulled\n"


async def test_a_new_file_that_somebody_makes_first_is_not_written_over(tmp_path: Path) -> None:
    call = tool("fs_write", path="a.txt", text="agent's\n")

    def choose(question: Question) -> Answer:
        if len(host.editor.questions) > 1:
            return Answer(question.options[0])
        host.actions.files["/w/a.txt"] = b"mine\n"
        return Answer(question.options[1])

    async with stage(tmp_path) as host:
        host.editor.choose = choose
        assert (await results(host, call))[0][0] == "denied"
        assert "-mine" in (host.editor.questions[1].diff or "")
        assert host.actions.files["/w/a.txt"] == b"mine\n"


@pytest.mark.parametrize("place", ["open", "closed"])
async def test_two_sessions_that_edit_one_file_both_land(tmp_path: Path, place: str) -> None:
    async with stage(tmp_path) as host:
        text = "one\n\n\ntwo\n"
        host.actions.files["/w/a.txt"] = text.encode()
        if place == "open":
            host.editor.open("/w/a.txt", text)
        both = asyncio.Barrier(2)
        first = set[str]()

        async def choose(question: Question) -> Answer:
            if question.session_id not in first:
                first.add(question.session_id)
                async with asyncio.timeout(10):
                    await both.wait()
            return Answer(question.options[1])

        host.editor.choose = choose
        for session, old in (("a", "one"), ("b", "two")):
            call = tool("fs_edit", path="a.txt", edits=[{"old": old, "new": old.upper()}])
            host.plays(answering("Done.", call)[0])
            host.tasks.create_task(host.manager.run(asked(session_id=session)))
            await host.editor.until(lambda name=session: name in first)
        await host.editor.until(lambda: len(host.ended()) == 2)
        document = host.editor.document("/w/a.txt")
        now = document.text if document else host.actions.files["/w/a.txt"].decode()
        assert now == "ONE\n\n\nTWO\n"
