"""Questions through thirteen simulated editors: only a chosen option is an answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.permission import Answer, EditPart, Option, Question
from agent_host.core.uris import uri_to_path
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import EditorError
from agent_host.lsp.wire_ask import AskParams
from tests.clients.habits import EDITORS, Habits, name_of
from tests.clients.simulated import SILENCE, SimulatedEditor
from tests.clients.virtual_time import run

DENY = Option("deny", "Deny", "deny")
ONCE = Option("once", "Allow once", "allowOnce")
SHOW = Option("show", "Show", "show")
QUESTION = Question("s1", "r1", "c1", "Run `make`?", "detail", (DENY, ONCE, SHOW))
VSCODE = EDITORS[0]
DIALOG = "window/showMessageRequest"
WITH_DIALOG = [habits for habits in EDITORS if habits.question == "dialog"]
WITHOUT = [habits for habits in EDITORS if habits.question == "error"]

Story = Callable[[SimulatedEditor, LspEditor], Awaitable[None]]


def play(habits: Habits, story: Story, folder: Path, **client: object) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            editor = SimulatedEditor(habits, tasks)
            editor.client = replace(editor.client, **client)
            port = LspEditor(editor, editor.documents, state_dir=folder, on_cancel=lambda _: None)
            await story(editor, port)

    run(main())


def with_agent_host(habits: Habits, **declared: bool) -> dict[str, object]:
    return {**habits.client.capabilities, "experimental": {"agentHost": declared}}


def answering(*answers: object) -> Callable[[dict[str, object]], object]:
    rest = list(answers)
    return lambda _: rest.pop(0)


# ---- who can be asked


@pytest.mark.parametrize("habits", WITH_DIALOG, ids=name_of)
def test_a_chosen_title_is_the_answer(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = answering({"title": "Allow once", "added": [1]})
        assert port.can_ask
        assert await port.ask(QUESTION) == Answer(ONCE)
        ((method, params),) = editor.asked
        assert (method, params["message"]) == (DIALOG, "Run `make`?")
        assert params["actions"] == [
            {"title": "Deny"},
            {"title": "Allow once"},
            {"title": "Show"},
        ]

    play(habits, story, tmp_path)


@pytest.mark.parametrize("habits", WITHOUT, ids=name_of)
def test_who_has_no_dialog_is_not_asked(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        assert not port.can_ask
        answer = await port.ask(QUESTION)
        assert answer.option is None
        assert "no way to ask" in (answer.reason or "")
        assert not editor.asked

    play(habits, story, tmp_path)


def test_an_editor_without_any_capability_is_not_asked(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        assert not port.can_ask

    play(VSCODE, story, tmp_path, name=None, capabilities={})


def test_an_editor_that_turns_out_to_have_no_dialog_is_not_asked_again(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        assert port.can_ask
        assert (await port.ask(QUESTION)).option is None
        assert not port.can_ask
        assert (await port.ask(QUESTION)).option is None
        assert len(editor.asked) == 1

    play(VSCODE, story, tmp_path, name="new", capabilities={"window": {"workDoneProgress": True}})


# ---- what is no answer

NO_ANSWERS = {
    "null": None,
    "empty": {},
    "empty title": {"title": ""},
    "unknown title": {"title": "Allow everything"},
    "title in another case": {"title": "allow once"},
    "an id": {"title": "once"},
    "a string": "Allow once",
    "a list": [{"title": "Allow once"}],
    "a number": {"title": 1},
    "error": EditorError(-32603, "Internal error"),
    "positive error": EditorError(32603, "Internal error"),
}


@pytest.mark.parametrize("habits", WITH_DIALOG, ids=name_of)
@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_anything_else_is_no_answer_and_is_not_asked_again(
    habits: Habits, answer, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = lambda _: answer
        given = await port.ask(QUESTION)
        assert given.option is None
        assert given.reason
        assert len(editor.asked) == 1

    play(habits, story, tmp_path)


@pytest.mark.parametrize(
    "habits", [habits for habits in EDITORS if habits.dismissed == "silence"], ids=name_of
)
def test_editors_in_which_closing_gives_no_answer_get_ten_minutes(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = lambda _: SILENCE
        assert (await port.ask(QUESTION)).option is None
        assert asyncio.get_running_loop().time() == pytest.approx(600, abs=1)
        assert editor.withdrawn == [DIALOG]

    play(habits, story, tmp_path)


def test_a_toast_waits_for_ever_and_is_withdrawn_when_the_run_stops(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = lambda _: SILENCE
        asking = editor.tasks.create_task(port.ask(QUESTION))
        await asyncio.sleep(100_000)
        assert not asking.done()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert editor.withdrawn == [DIALOG]

    play(VSCODE, story, tmp_path)


def test_questions_of_two_sessions_are_answered_in_any_order(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        async def answer(name: str, seconds: float) -> Answer:
            question = replace(QUESTION, session_id=name, title=name)
            return await port.ask(question)

        editor.answers[DIALOG] = lambda params: (
            {"title": "Deny"} if params["message"] == "one" else {"title": "Allow once"}
        )
        assert await asyncio.gather(answer("one", 2), answer("two", 1)) == [
            Answer(DENY),
            Answer(ONCE),
        ]

    play(VSCODE, story, tmp_path)


# ---- long ones


def test_a_message_is_one_short_line_and_nothing_is_cut_silently(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = lambda _: None
        long = replace(QUESTION, title="x\n" * 500, options=(DENY, ONCE))
        await port.ask(long)
        ((_, params),) = editor.asked
        message = params["message"]
        assert isinstance(message, str)
        assert (len(message), "\n" in message) == (600, False)
        assert message.endswith("(not all of it: choose Show)")
        assert {"title": "Show"} in params["actions"]

    play(VSCODE, story, tmp_path)


def test_show_opens_all_of_it_and_asks_again(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = answering({"title": "Show"}, {"title": "Allow once"})
        question = replace(QUESTION, full_text="--- a/x\n+++ b/x\n")
        assert await port.ask(question) == Answer(ONCE)
        assert [method for method, _ in editor.asked] == [DIALOG, "window/showDocument", DIALOG]
        path = Path(uri_to_path(editor.asked[1][1]["uri"]) or "")
        assert (path.suffix, path.read_text()) == (".diff", question.full_text)
        assert path.stat().st_mode & 0o777 == 0o400
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.parent.parent == tmp_path

    play(VSCODE, story, tmp_path)


def test_show_is_offered_three_times(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = lambda _: {"title": "Show"}
        assert (await port.ask(QUESTION)).option is None
        dialogs = [params for method, params in editor.asked if method == DIALOG]
        offers = [{"title": "Show"} in params["actions"] for params in dialogs]
        assert offers == [True, True, True, False]

    play(VSCODE, story, tmp_path)


@pytest.mark.parametrize(
    "habits", [habits for habits in WITH_DIALOG if habits.shows != "yes"], ids=name_of
)
def test_where_nothing_can_be_shown_the_question_says_where_it_is(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = answering({"title": "Show"}, {"title": "Deny"})
        assert await port.ask(QUESTION) == Answer(DENY)
        again = [params for method, params in editor.asked if method == DIALOG][1]
        (file,) = (tmp_path / "shown").iterdir()
        assert again["message"] == f"(All of it is in {file}.) Run `make`?"
        assert {"title": "Show"} not in again["actions"]
        assert file.read_text() == "Run `make`?\n\ndetail"

    play(habits, story, tmp_path)


def test_a_state_folder_that_cannot_be_written_does_not_end_the_question(tmp_path) -> None:
    (tmp_path / "shown").write_text("a file where the folder should be")

    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = answering({"title": "Show"}, {"title": "Deny"})
        assert await port.ask(QUESTION) == Answer(DENY)

    play(VSCODE, story, tmp_path)


def test_the_last_fifty_texts_are_kept(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        for number in range(60):
            assert await port.show_text("../../a title", f"text {number}") is None
        texts = {path.read_text() for path in (tmp_path / "shown").iterdir()}
        assert len(texts) == 50
        assert "text 59" in texts
        assert all(path.name.startswith("a-title") for path in (tmp_path / "shown").iterdir())

    play(VSCODE, story, tmp_path)


# ---- an extension's own dialog


def test_an_extension_gets_everything_and_may_send_a_reason(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers["agent/ask"] = answering({"optionId": "deny", "reason": "use ninja"})
        assert await port.ask(replace(QUESTION, diff="-a\n+b\n")) == Answer(DENY, "use ninja")
        ((_, params),) = editor.asked
        assert params == {
            "sessionId": "s1",
            "runId": "r1",
            "callId": "c1",
            "title": "Run `make`?",
            "detail": "detail",
            "diff": "-a\n+b\n",
            "options": [
                {"id": "deny", "title": "Deny", "kind": "deny"},
                {"id": "once", "title": "Allow once", "kind": "allowOnce"},
            ],
            "allowsReason": True,
        }

    play(VSCODE, story, tmp_path, capabilities=with_agent_host(VSCODE, ask=True))


@pytest.mark.parametrize(
    "answer", [None, {}, {"optionId": "everything"}, {"optionId": "show"}, "once", ["once"], 1]
)
def test_an_extension_that_answers_oddly_allows_nothing(answer, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers["agent/ask"] = lambda _: answer
        given = await port.ask(QUESTION)
        assert given.option is None
        assert given.reason
        assert len(editor.asked) == 1

    play(VSCODE, story, tmp_path, capabilities=with_agent_host(VSCODE, ask=True))


PARTS = (
    EditPart("1", "a.py", "file:///w/a.py", "-a\n+b\n"),
    EditPart("2", "b.py", "file:///w/b.py", "-c\n+d\n"),
)


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        (None, None),
        (["2"], ("2",)),
        (["2", "1"], ("1", "2")),
        ([], ()),
        (["3"], ()),
        ("1", ()),
        ({"1": True}, ()),
    ],
)
def test_an_extension_may_accept_some_parts(
    accepted: object, expected: tuple[str, ...] | None, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers["agent/ask"] = answering({"optionId": "once", "accepted": accepted})
        question = replace(QUESTION, diff="-a\n+b\n-c\n+d\n", parts=PARTS)
        assert await port.ask(question) == Answer(ONCE, None, expected)
        ((_, params),) = editor.asked
        assert params["parts"] == [
            {"id": "1", "title": "a.py", "uri": "file:///w/a.py", "diff": "-a\n+b\n"},
            {"id": "2", "title": "b.py", "uri": "file:///w/b.py", "diff": "-c\n+d\n"},
        ]
        AskParams.model_validate(params, by_alias=True, extra="forbid")

    play(VSCODE, story, tmp_path, capabilities=with_agent_host(VSCODE, ask=True))


def test_a_message_is_about_all_parts(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = answering({"title": "Allow once", "accepted": ["1"]})
        assert await port.ask(replace(QUESTION, parts=PARTS)) == Answer(ONCE)

    play(VSCODE, story, tmp_path)


def test_an_extension_without_its_dialog_falls_back_to_the_message(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers[DIALOG] = lambda _: {"title": "Allow once"}
        assert await port.ask(QUESTION) == Answer(ONCE)

    play(VSCODE, story, tmp_path, capabilities=with_agent_host(VSCODE, ask=True))


# ---- what the editor shows as wrong


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"diagnostics": [{"message": "x"}, 3]}, ({"message": "x"},)),
        ({"diagnostics": []}, ()),
        ({"diagnostics": None}, None),
        (None, None),
        (EditorError(-32601, "Method not found"), None),
    ],
)
def test_diagnostics_are_asked_of_who_declares_them(answer, expected, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers["agent/diagnostics"] = lambda _: answer
        assert port.can_diagnose
        assert await port.diagnostics("file:///w/a.py") == expected
        assert editor.asked == [("agent/diagnostics", {"uri": "file:///w/a.py"})]

    play(VSCODE, story, tmp_path, capabilities=with_agent_host(VSCODE, diagnostics=True))


def test_who_declares_no_diagnostics_is_not_asked(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        assert not port.can_diagnose
        assert await port.diagnostics("file:///w/a.py") is None
        assert not editor.asked

    play(VSCODE, story, tmp_path)
