"""A person may leave an edit to the editor's preview: the model is told what they accepted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.core.document import BufferEdit
from agent_host.core.model import RunResult
from agent_host.core.permission import Answer, Question
from tests.session.stage import Stage, stage, tool
from tests.session.test_gate import results
from tests.session.test_revert import reverter, told

TWO = tool(
    "fs_edit", path="a.txt", edits=[{"old": "one", "new": "ONE"}, {"old": "two", "new": "TWO"}]
)
TEXT = "one\n\n\ntwo\n"


def preview(question: Question) -> Answer:
    return Answer(next(each for each in question.options if each.title == "Preview"))


def shown(host: Stage, accept: Callable[[BufferEdit], str]) -> None:
    host.editor.previews, host.editor.preview, host.editor.choose = True, accept, preview
    host.actions.files["/w/a.txt"] = TEXT.encode()
    host.editor.open("/w/a.txt", TEXT)


async def outcome(host: Stage) -> tuple[str, str, str]:
    ((status, text),) = await results(host, TWO)
    document = host.editor.document("/w/a.txt")
    assert document is not None
    return status, text, document.text


async def test_all_of_it_is_accepted(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        shown(host, lambda edit: edit.after)
        status, _, now = await outcome(host)
        assert (status, now) == ("ok", "ONE\n\n\nTWO\n")
        kinds = [each.kind for each in host.editor.questions[0].options]
        assert kinds[-2:] == ["allowOnce", "stop"]


async def test_none_of_it_is_a_denial_by_the_person(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        shown(host, lambda edit: edit.before)
        status, text, now = await outcome(host)
        assert (status, now) == ("denied", TEXT)
        assert text.startswith("The user said no")
        assert "discarded it in the preview" in text


async def test_a_part_of_it_is_told_recorded_and_taken_back(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        shown(host, lambda edit: edit.before.replace("two", "TWO"))
        host.editor.saves = True
        result: RunResult
        result, statuses = await host.run(TWO)
        assert statuses == ["ok"]
        assert result.diff is not None
        assert "+TWO" in result.diff.text
        assert "ONE" not in result.diff.text
        assert host.editor.saved == []
        assert told(await reverter(host).revert(result.run_id)) == {"a.txt": "reverted"}
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == TEXT


async def test_the_model_hears_which_part_was_accepted(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        shown(host, lambda edit: edit.before.replace("two", "TWO"))
        status, text, _ = await outcome(host)
        assert status == "ok"
        assert "The user accepted a part of it only; this was changed:" in text
        assert "+TWO" in text
        assert "ONE" not in text


@pytest.mark.parametrize("can", [True, False])
async def test_it_is_offered_where_it_can_be_shown(tmp_path: Path, can: bool) -> None:
    async with stage(tmp_path) as host:
        host.editor.previews = can
        host.actions.files |= {"/w/a.txt": TEXT.encode(), "/w/b.txt": TEXT.encode()}
        if can:
            edit = tool("fs_edit", path="b.txt", edits=[{"old": "one", "new": "ONE"}])
            host.editor.open("/w/a.txt", TEXT)
        else:
            edit = TWO
            host.editor.open("/w/a.txt", TEXT)
        await results(host, edit)
        assert "Preview" not in [each.title for each in host.editor.questions[0].options]
