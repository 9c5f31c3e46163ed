"""What passes the gate and what does not; what the model and the person are told of it."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from agent_host.core.actions import Command, CommandResult
from agent_host.core.events import (
    Asked,
    Compared,
    Edited,
    Text,
    ToolFinished,
    ToolOutput,
    ToolRequested,
)
from agent_host.core.model import Limits, ToolCall
from agent_host.core.permission import Answer, Question, Rule
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.settings import Settings
from tests.fakes import FakeEditor, answering, by_kind, sha
from tests.session.stage import Stage, asked, stage, tool

WRITE = tool("fs_write", path="a.txt", text="new\n")
EDIT = tool("fs_edit", path="a.txt", edits=[{"old": "old", "new": "new"}])
COMMAND = tool("terminal_run", command="make it")
DELETE = tool("fs_delete", path="a.txt")


async def results(host: Stage, *calls: ToolCall) -> list[tuple[str, str]]:
    story, found = answering("Done.", *calls)
    host.plays(story)
    await host.manager.run(asked())
    return [(each.status, each.text) for each in found]


async def test_an_allowed_edit_is_shown_asked_and_made(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\r\nrest"
        assert await results(host, EDIT) == [("ok", "Changed /w/a.txt, 2 lines of the diff.")]
        assert host.actions.files["/w/a.txt"] == b"new\r\nrest"
        kinds = [type(delta) for delta in host.told()[1:-1]]
        assert kinds[:3] == [ToolRequested, Edited, Asked]
        assert kinds[-4:] == [Edited, ToolFinished, Text, Compared]
        (question,) = host.editor.questions
        assert "/w/a.txt" in question.title
        assert question.diff is not None
        assert "+new" in question.diff
        assert question.options[0].kind == "deny"


@pytest.mark.parametrize(
    "choose",
    [
        by_kind("deny"),
        lambda _: Answer(None, "dismissed"),
        lambda _: Answer(None, "an answer that was not offered"),
        lambda question: Answer(question.options[0]),
    ],
)
@pytest.mark.parametrize("call", [WRITE, COMMAND, DELETE], ids=lambda call: call.name)
async def test_no_answer_but_yes_has_any_effect(
    tmp_path: Path, call: ToolCall, choose: Callable[[Question], Answer]
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.editor.choose = choose
        ((status, text),) = await results(host, call)
        assert status == "denied"
        assert "did not run and changed nothing" in text
        assert host.actions.files == {"/w/a.txt": b"old\n"}
        assert host.actions.commands == []


async def test_words_of_the_user_reach_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.choose = by_kind("deny", "Use the other file.")
        ((_, text),) = await results(host, WRITE)
        assert text.count("Use the other file.") == 1


async def test_an_editor_that_cannot_ask_denies_at_once(tmp_path: Path) -> None:
    async with stage(tmp_path, editor=FakeEditor(can_ask=False)) as host:
        ((status, text),) = await results(host, WRITE)
        assert status == "denied"
        assert "a rule in your settings" in text
        assert not any(isinstance(delta, Asked) for delta in host.told())


async def test_three_denials_in_a_row_end_the_run(tmp_path: Path) -> None:
    calls = [tool("fs_write", f"c{n}", path="a.txt", text="x") for n in range(1000)]
    async with stage(tmp_path) as host:
        host.editor.choose = lambda _: Answer(None, "dismissed")
        result, _ = await host.run(*calls)
        assert (result.status, result.limit) == ("limit", "denials")
        assert len(host.editor.questions) == 3


async def test_allowed_for_the_session_is_not_asked_again_there(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.choose = by_kind("allowSession")
        await host.run(WRITE, tool("fs_write", "c2", path="b.txt", text="x"), session_id="a")
        await host.run(tool("fs_write", path="c.txt", text="x"), session_id="a")
        assert len(host.editor.questions) == 1
        await host.run(tool("fs_write", path="d.txt", text="x"), session_id="b")
        assert len(host.editor.questions) == 2


async def test_a_deny_rule_beats_every_grant(tmp_path: Path) -> None:
    rules = (Rule("deny", "fs.write", "*.txt", where="config.yaml:3"),)
    async with stage(tmp_path) as host:
        host.editor.choose = by_kind("allowSession")
        await host.run(WRITE, session_id="a")
        host.settings = Settings(model="scripted/x", rules=rules)
        _, statuses = await host.run(tool("fs_write", path="b.txt", text="x"), session_id="a")
        assert statuses == ["denied"]
        assert len(host.editor.questions) == 1


async def test_an_untrusted_workspace_is_asked_about_once(tmp_path: Path) -> None:
    async with stage(tmp_path, trusted=False) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        _, statuses = await host.run(tool("fs_read", path="a.txt"))
        assert statuses == ["ok"]
        assert host.editor.questions == []
        host.editor.choose = by_kind("deny")
        assert (await host.run(EDIT))[1] == ["denied"]
        (question,) = host.editor.questions
        assert "trust" in question.title
        host.editor.choose = lambda question: Answer(question.options[1])
        assert (await host.run(EDIT))[1] == ["ok"]
        assert len(host.editor.questions) == 3
        await host.run(tool("fs_write", path="b", text=""))
        assert len(host.editor.questions) == 4


async def test_trust_that_cannot_be_kept_is_no_trust(tmp_path: Path) -> None:
    async with stage(tmp_path, trusted=False) as host:
        host.trust.broken = True
        host.editor.choose = lambda question: Answer(question.options[1])
        ((status, text),) = await results(host, WRITE)
        assert (status, "the disk is full" in text) == ("denied", True)
        assert host.actions.files == {}


@pytest.mark.parametrize("place", ["inspect", "ask", "write", "store"])
async def test_a_fault_of_ours_denies_and_the_run_goes_on(tmp_path: Path, place: str) -> None:
    async with stage(tmp_path) as host:

        def break_down(*_: object, **__: object) -> NoReturn:
            raise RuntimeError("a bug")

        owner, name = {
            "inspect": (host.actions, "inspect"),
            "ask": (host.editor, "ask"),
            "write": (host.actions, "write"),
            "store": (host.store, "record_edit"),
        }[place]
        setattr(owner, name, break_down)
        result, statuses = await host.run(WRITE)
        assert result.status == "completed"
        assert statuses == ["denied" if place in ("inspect", "ask") else "failed"]
        assert host.actions.files == {}


async def test_text_that_changes_while_the_question_is_open_is_asked_anew(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.open("/w/a.txt", "old\nbelow\n")
        host.actions.files["/w/a.txt"] = b"old\nbelow\n"

        def choose(question: Question) -> Answer:
            if len(host.editor.questions) == 1:
                host.editor.open("/w/a.txt", "typed\nold\nbelow\n")
            return Answer(question.options[1])

        host.editor.choose = choose
        assert [status for status, _ in await results(host, EDIT)] == ["ok"]
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "typed\nnew\nbelow\n"
        assert len(host.editor.questions) == 2
        assert host.actions.files["/w/a.txt"] == b"old\nbelow\n"


async def test_a_target_that_is_gone_after_the_question_fails(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.open("/w/a.txt", "old\n")

        def choose(question: Question) -> Answer:
            host.editor.open("/w/a.txt", "other\n")
            return Answer(question.options[1])

        host.editor.choose = choose
        ((status, _),) = await results(host, EDIT)
        assert status == "failed"
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "other\n"


async def test_a_file_that_changes_on_disk_after_the_question_is_asked_anew(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"

        def meddle() -> None:
            host.actions.before_write = lambda: None
            host.actions.files["/w/a.txt"] = b"first\nold\n"

        host.actions.before_write = meddle
        assert [status for status, _ in await results(host, EDIT)] == ["ok"]
        assert host.actions.files["/w/a.txt"] == b"first\nnew\n"
        assert len(host.editor.questions) == 2


async def test_an_edit_that_the_editor_refuses_has_failed(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.open("/w/a.txt", "old\n")
        host.editor.refuses = "The editor dropped it."
        assert await results(host, EDIT) == [("failed", "This call failed: The editor dropped it.")]


async def test_only_a_buffer_that_was_clean_is_saved(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.editor.saves = True
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"old\n"}
        host.editor.open("/w/a.txt", "old\n")
        host.editor.open("/w/b.txt", "old\ntyped\n")
        edit_b = tool("fs_edit", "c2", path="b.txt", edits=[{"old": "old", "new": "new"}])
        (_, clean), (_, dirty) = await results(host, EDIT, edit_b)
        assert host.editor.saved == ["file:///w/a.txt"]
        assert "not saved" not in clean
        assert "not saved" in dirty


async def test_what_the_model_gets_wrong_it_is_told(tmp_path: Path) -> None:
    wrong = {
        "There is no tool": tool("fs_erase", path="a"),
        "has no argument 'approved'": tool("terminal_run", command="x", approved=True),
        "has no argument 'non_interactive'": tool(
            "terminal_run", command="x", non_interactive=True
        ),
        "has no argument 'apply'": tool("fs_write", path="a", text="b", apply=True),
        "has no argument 'approval_mode'": tool("fs_delete", path="a.txt", approval_mode="never"),
        "needs the argument 'path'": tool("fs_read"),
        "must be text": tool("fs_read", path=3),
        "a list of {old, new}": tool("fs_edit", path="a", edits=[]),
        "no more": tool("fs_edit", path="a", edits=[{"old": "a", "new": "b", "all": True}]),
        "can't be read: bad JSON": ToolCall("c", "fs_read", {}, "bad JSON"),
        "There is no file": tool("fs_read", path="none.txt"),
        "has only 1 lines": tool("fs_read", path="a.txt", offset=5),
    }
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        for sentence, call in wrong.items():
            ((status, text),) = await results(host, call)
            assert (status, sentence in text) == ("failed", True), text


async def test_reading_is_numbered_and_says_what_is_left_out(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"1\r\n2\r\n3\r\n"
        ((_, text),) = await results(host, tool("fs_read", path="a.txt", offset=2, limit=1))
        assert text == "2\t2\n[Lines 3 to 3 are left out; read them with offset.]"


async def test_searches_see_the_buffers(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"on disk\n"
        host.editor.open("/w/a.txt", "in the buffer\n")
        found = await results(host, *(tool("fs_search", pattern=p) for p in ("buffer", "disk")))
        assert found == [("ok", "a.txt:1: in the buffer"), ("ok", "Nothing was found.")]


async def test_commands_are_told_what_they_did_not_see(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.editor.open("/w/a.txt", "typed\n")
        ((status, text),) = await results(host, COMMAND)
        assert status == "ok"
        assert "without unsaved changes: /w/a.txt" in text
        assert any(isinstance(delta, ToolOutput) for delta in host.told())


async def test_commands_see_unsaved_text_and_their_changes_come_back(tmp_path: Path) -> None:
    async def formatter(command: Command) -> CommandResult:
        changed = {path: data.upper() for path, data in command.overlay.items()}
        return CommandResult("", 0, changed=changed)

    async with stage(tmp_path, overlays=True) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"same\n"}
        host.editor.open("/w/a.txt", "typed\n")
        host.editor.open("/w/b.txt", "same\n")
        host.actions.command = formatter
        await results(host, COMMAND)
        assert dict(host.actions.commands[0].overlay) == {"/w/a.txt": b"typed\n"}
        document = host.editor.document("/w/a.txt")
        assert document is not None
        assert document.text == "TYPED\n"
        assert host.actions.files["/w/a.txt"] == b"old\n"


async def test_deleting_keeps_what_was_there(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        await results(host, DELETE)
        assert host.actions.files == {}
        (run_id,) = {each.run_id for each in host.editor.deltas}
        (edit,) = await host.store.edits(run_id)
        assert (edit.kind, edit.state, edit.before_sha256) == ("delete", "applied", sha(b"old\n"))
        assert await host.store.contents(sha(b"old\n")) == b"old\n"


async def test_the_same_call_three_times_in_a_row_is_asked_about(tmp_path: Path) -> None:
    reads = [tool("fs_read", f"c{n}", path="a.txt") for n in range(7)]
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"text\n"
        told = await results(host, *reads)
        assert [status for status, _ in told] == ["ok"] * 7
        assert len(host.editor.questions) == 2
        assert "3 times in a row" in host.editor.questions[0].detail
        kinds = {option.kind for option in host.editor.questions[0].options}
        assert not kinds & {"allowSession", "allowWorkspace"}
        # With another call in between nothing is asked.
        other = tool("fs_list", "d", path=".")
        await results(host, reads[0], reads[1], other, reads[2], reads[3], other, reads[4])
        assert len(host.editor.questions) == 2


@pytest.mark.parametrize("size", [2, 3, 4])
async def test_the_same_few_calls_in_turn_are_asked_about_the_third_time(
    tmp_path: Path, size: int
) -> None:
    def turn(number: int) -> list[ToolCall]:
        paths = ["a.txt", "b.txt", "c.txt", "d.txt"][:size]
        return [tool("fs_read", f"{number}{path}", path=path) for path in paths]

    async with stage(tmp_path) as host:
        for name in "abcd":
            host.actions.files[f"/w/{name}.txt"] = b"text\n"
        told = await results(host, *turn(1), *turn(2), *turn(3)[:-1])
        assert not host.editor.questions
        told = await results(host, *turn(1), *turn(2), *turn(3), *turn(4))
        assert {status for status, _ in told} == {"ok"}
        (question,) = host.editor.questions
        assert f"the same {size} calls 3 times in a row" in question.detail


async def test_spaces_and_the_order_of_keys_do_not_make_another_call(tmp_path: Path) -> None:
    ways = (
        {"path": "a.txt", "limit": 5},
        {"limit": 5, "path": "a.txt"},
        {"path": "a.txt", "limit": 5},
    )
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"text\n"
        await results(host, *(tool("fs_read", f"c{n}", **way) for n, way in enumerate(ways)))
        assert len(host.editor.questions) == 1


async def test_an_agent_that_repeats_itself_for_ever_is_ended(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        number = 0
        while True:
            number += 1
            sink.text(f"{number} ")
            await gate.call(tool("fs_read", f"c{number}", path="a.txt"))

    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"text\n"
        host.editor.choose = by_kind("deny")
        host.plays(story)
        result = await host.manager.run(asked(limits=Limits(max_turns=None, wall_seconds=30)))
        assert (result.status, result.limit) == ("limit", "denials")
