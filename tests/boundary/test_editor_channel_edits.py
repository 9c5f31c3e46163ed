"""Edits through thirteen simulated editors: what is said of an edit is what is in the text."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import pytest

from agent_host.core.document import BufferEdit, EditOutcome
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import EditorError
from tests.clients.habits import BLIND, CHECKING, EDITORS, Habits, name_of
from tests.clients.simulated import SILENCE, SimulatedEditor
from tests.clients.virtual_time import run

URI = "file:///w/a.py"
TEXT = "".join(f"line {number} é🦊\n" for number in range(1, 21))

each_editor = pytest.mark.parametrize("habits", EDITORS, ids=name_of)


def play(
    habits: Habits, story: Callable[[SimulatedEditor, LspEditor], Awaitable[None]], tmp_path
) -> None:
    """Play a story, then see that the mirror and the editor have come to hold the same text."""

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            editor = SimulatedEditor(habits, tasks)
            port = LspEditor(editor, editor.documents, state_dir=tmp_path, on_cancel=lambda _: None)
            await story(editor, port)
            await editor.settled()
            for uri, buffer in editor.buffers.items():
                document = port.document(uri)
                if document is not None:
                    assert document.text == buffer.text

    run(main())


def an_edit(before: str, old: str, new: str) -> BufferEdit:
    assert before.count(old) == 1
    return BufferEdit(URI, before, before.replace(old, new), "Agent edit")


# ---- what works


@each_editor
@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT + "no end", "x"])
def test_an_edit_is_one_undo_step_and_verified(habits: Habits, text: str, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, text, version=3)
        after = text.replace("line 7 é", "LINE é\U0001f98a 7").replace("18", "eighteen") + "end\n"
        outcome = await port.apply(BufferEdit(URI, text, after, "Agent edit"))
        assert outcome == EditOutcome("applied", after)
        assert editor.text(URI) == after
        assert editor.buffers[URI].undo == [text]

    play(habits, story, tmp_path)


@each_editor
def test_edits_one_after_the_other(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, "start\n", version=0)
        text = "start\n"
        for number in range(5):
            edit = BufferEdit(URI, text, f"{text}{number}\n", "Agent edit")
            outcome = await port.apply(edit)
            assert outcome.status == "applied"
            text = outcome.text
        assert editor.text(URI) == "start\n0\n1\n2\n3\n4\n"

    play(habits, story, tmp_path)


@each_editor
def test_two_edits_of_one_text_at_once_are_not_both_made(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        first, second = await asyncio.gather(
            port.apply(an_edit(TEXT, "line 3 ", "first ")),
            port.apply(an_edit(TEXT, "line 9 ", "second ")),
        )
        assert (first.status, second.status) == ("applied", "stale")
        assert second.text == first.text
        assert len([m for m, _ in editor.asked if m == "workspace/applyEdit"]) == 1

    play(habits, story, tmp_path)


# ---- the person types


@each_editor
def test_known_typing_makes_the_edit_stale_before_it_is_sent(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        editor.type(URI, 0, "# typed\n")
        await editor.settled()
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "stale"
        assert outcome.text == "# typed\n" + TEXT
        assert not editor.asked

    play(habits, story, tmp_path)


@pytest.mark.parametrize("habits", CHECKING, ids=name_of)
@pytest.mark.parametrize("where", ["line 1 ", "line 8 ", "line 9 ", "line 10 ", "line 20 "])
def test_unknown_typing_makes_the_edit_stale(habits: Habits, where: str, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        editor.type(URI, TEXT.index(where) + 3, "TYPED")
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status != "applied"
        assert outcome.reason
        await editor.settled()
        assert editor.text(URI) == TEXT.replace(where, where[:3] + "TYPED" + where[3:])
        if where not in ("line 8 ", "line 9 ", "line 10 "):
            assert outcome.status == "stale"

    play(habits, story, tmp_path)


@each_editor
def test_typing_right_after_the_edit_does_not_hide_it(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)

        def typing() -> None:
            if "LINE 9" in editor.text(URI):
                editor.type(URI, 0, "# typed\n")
            else:
                asyncio.get_running_loop().call_later(0.001, typing)

        typing()
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "applied"
        await editor.settled()
        assert editor.text(URI) == "# typed\n" + TEXT.replace("line 9 ", "LINE 9 ")

    play(habits, story, tmp_path)


@pytest.mark.parametrize(
    "habits", [habits for habits in EDITORS if habits.tells == "steps"], ids=name_of
)
def test_typing_into_the_edited_line_does_not_hide_the_edit(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        def make_and_type(params: dict[str, object]) -> object:
            editor._edit(params, asyncio.get_running_loop().create_future())
            editor.type(URI, editor.text(URI).index("LINE 9"), "typed")
            return {"applied": True}

        editor.open(URI, TEXT)
        editor.answers["workspace/applyEdit"] = make_and_type
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "applied"
        assert outcome.text in (
            TEXT.replace("line 9", "LINE 9"),
            TEXT.replace("line 9", "typedLINE 9"),
        )

    play(habits, story, tmp_path)


@each_editor
def test_an_edit_without_an_answer_is_never_called_stale(habits: Habits, tmp_path) -> None:
    """Stale means: find the place and send it again. But the first one may still come."""

    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        editor.answers["workspace/applyEdit"] = lambda _: SILENCE
        editor.type(URI, 0, "# typed\n")
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "refused"
        assert "may still come" in (outcome.reason or "")

    play(habits, story, tmp_path)


def test_the_reason_of_the_editor_is_passed_on(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        answer = {"applied": False, "failureReason": "the file is read-only"}
        editor.answers["workspace/applyEdit"] = lambda _: answer
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome == EditOutcome("refused", TEXT, "the file is read-only")

    play(EDITORS[0], story, tmp_path)


@pytest.mark.parametrize("habits", BLIND, ids=name_of)
@pytest.mark.parametrize("typed", ["# typed\n", "x", "\n" * 7, "# é🦊\r\n" * 30])
def test_an_edit_at_a_wrong_place_is_never_called_applied(
    habits: Habits, typed: str, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        editor.type(URI, 0, typed)
        outcome = await port.apply(an_edit(TEXT, "line 9 é", "LINE 9 e"))
        await editor.settled()
        right = typed + TEXT.replace("line 9 é", "LINE 9 e")
        if outcome.status == "applied":
            assert editor.text(URI) == right
        elif outcome.status == "stale":
            assert editor.text(URI) == typed + TEXT

    play(habits, story, tmp_path)


# ---- answers that prove nothing

ODD_ANSWERS = {
    "null": None,
    "empty": {},
    "false": {"applied": False},
    "false with a reason": {"applied": False, "failureReason": "read-only"},
    "a string": "yes",
    "a list": [True],
    "truthy": {"applied": 1},
    "error": EditorError(-32603, "Internal error"),
    "positive error": EditorError(32603, "Internal error"),
    "unknown method": EditorError(-32601, "Method not found"),
    "true but nothing happens": {"applied": True},
    "silence": SILENCE,
}


@each_editor
@pytest.mark.parametrize("answer", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_no_answer_counts_without_a_changed_text(habits: Habits, answer, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers["workspace/applyEdit"] = lambda _: answer
        editor.open(URI, TEXT)
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "refused"
        assert outcome.text == TEXT
        assert outcome.reason
        assert asyncio.get_running_loop().time() < 65

    play(habits, story, tmp_path)


def edited_then(editor: SimulatedEditor, answer: object):
    """Make the edit, and answer something else."""

    def make(params: dict[str, object]) -> object:
        editor._edit(params, asyncio.get_running_loop().create_future())
        return answer

    return make


@each_editor
@pytest.mark.parametrize("answer", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_the_text_counts_whatever_the_answer(habits: Habits, answer, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.answers["workspace/applyEdit"] = edited_then(editor, answer)
        editor.open(URI, TEXT)
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        # An editor that refuses and tells of the edit a second later lies too well.
        slow = (habits.tells_after or 0) > 0.7
        said_yes = answer is SILENCE or answer is ODD_ANSWERS["true but nothing happens"]
        assert outcome.status == "applied" or (slow and not said_yes)

    play(habits, story, tmp_path)


def test_an_edit_that_is_never_told_is_unconfirmed_and_the_reason_says_so(tmp_path) -> None:
    habits = replace(EDITORS[5], tells_after=None)

    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "refused"
        assert "told of no change" in (outcome.reason or "")
        editor.buffers.clear()

    play(habits, story, tmp_path)


# ---- documents that are not there, or not known well


def test_closed_doubtful_and_unchanged_documents(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        edit = an_edit(TEXT, "line 9 ", "LINE 9 ")
        assert (await port.apply(edit)).status == "stale"
        editor.open(URI, TEXT)
        assert (await port.apply(BufferEdit(URI, TEXT, TEXT, ""))).status == "applied"
        document = editor.documents.find(URI)
        assert document is not None
        document.doubtful = True
        assert (await port.apply(edit)).status == "refused"
        assert not editor.asked

    play(EDITORS[0], story, tmp_path)


def test_a_document_that_is_closed_while_it_is_edited(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        def close(_: object) -> object:
            editor.documents.did_close(URI)
            return {"applied": True}

        editor.open(URI, TEXT)
        editor.answers["workspace/applyEdit"] = close
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "stale"
        assert "closed" in (outcome.reason or "")

    play(EDITORS[0], story, tmp_path)


def test_cancelling_an_edit_withdraws_it_and_frees_the_document(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT)
        editor.answers["workspace/applyEdit"] = lambda _: SILENCE
        edit = editor.tasks.create_task(port.apply(an_edit(TEXT, "line 9 ", "LINE 9 ")))
        while not editor.asked:
            await asyncio.sleep(0.001)
        edit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await edit
        assert editor.withdrawn == ["workspace/applyEdit"]
        del editor.answers["workspace/applyEdit"]
        assert (await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))).status == "applied"

    play(EDITORS[0], story, tmp_path)


def test_an_unknown_editor_without_document_changes_gets_plain_changes(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.client = replace(editor.client, name="newcomer", capabilities={})
        port = LspEditor(editor, editor.documents, state_dir=tmp_path, on_cancel=lambda _: None)
        editor.open(URI, TEXT)
        outcome = await port.apply(an_edit(TEXT, "line 9 ", "LINE 9 "))
        assert outcome.status == "applied"
        (_, params) = editor.asked[0]
        assert params["edit"] == {"changes": {URI: params["edit"]["changes"][URI]}}

    play(EDITORS[0], story, tmp_path)


# ---- typing without a pause


def keys() -> Iterator[str]:
    """Each key is a character of its own, so that a lost one shows."""
    yield from map(chr, range(0x4E00, 0x9000))


MARKS = [chr(0xE000 + number) for number in range(200)]
TYPED = "typed: "


async def type_on(editor: SimulatedEditor, typed: list[str], finished: asyncio.Event) -> None:
    """20 keys a second right above the agent's line, now and then a new line above everything."""
    for number, key in enumerate(keys()):
        if finished.is_set():
            return
        text = editor.text(URI)
        editor.type(URI, text.index("\n", text.index(TYPED)), key)
        typed.append(key)
        if number % 25 == 24:
            editor.type(URI, 0, "\n")
        # Pauses for thought, in which an editor that waits for them tells its changes.
        await asyncio.sleep(2.5 if number % 40 == 39 else 0.05)


@pytest.mark.timeout(240)
@each_editor
@pytest.mark.parametrize("removes", [False, True], ids=["inserting", "replacing"])
def test_two_hundred_edits_while_somebody_types(habits: Habits, removes: bool, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        editor.open(URI, TEXT.replace("line 9 ", f"{TYPED}\nline 9 <>"))
        typed: list[str] = []
        finished = asyncio.Event()
        typing = editor.tasks.create_task(type_on(editor, typed, finished))
        verdicts: dict[int, str] = {}
        for number, mark in enumerate(MARKS):
            document = port.document(URI)
            assert document is not None
            pattern = "line 9 <.*>" if removes else "line 9 <"
            made = f"line 9 <{mark}>" if removes else f"line 9 <{mark}"
            after = re.sub(pattern, made, document.text)
            outcome = await port.apply(BufferEdit(URI, document.text, after, "Agent edit"))
            verdicts[number] = outcome.status
            await asyncio.sleep(0.07)
        finished.set()
        await typing
        await editor.settled()
        text = editor.text(URI)
        assert [char for char in text if char in set(typed)] == typed, "a keystroke was lost"
        for number, verdict in verdicts.items():
            if verdict == "stale":
                assert MARKS[number] not in text, f"edit {number} is there"
            elif verdict == "applied" and not removes:
                assert text.count(MARKS[number]) == 1, f"edit {number} is not there"
        assert "applied" in verdicts.values()

    play(habits, story, tmp_path)


VIM_LSP = next(habits for habits in EDITORS if "vim-lsp" in habits.fixture)


def test_where_typing_is_told_late_text_is_replaced_in_a_quiet_moment_only(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        loop = asyncio.get_running_loop()
        editor.open(URI, TEXT)
        editor.type(URI, 0, "x")
        await editor.settled()
        told, text = loop.time(), editor.text(URI)
        inserted = an_edit(text, "line 9 ", "NEW line 9 ")
        assert (await port.apply(inserted)).status == "applied"
        told = loop.time()
        replaced = an_edit(inserted.after, "line 9 ", "LINE 9 ")
        assert (await port.apply(replaced)).status == "applied"
        assert loop.time() - told > 1.3

    play(VIM_LSP, story, tmp_path)


def test_somebody_who_never_stops_typing_there_is_not_disturbed(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        async def types() -> None:
            for _ in range(60):
                editor.type(URI, 0, "x")
                await asyncio.sleep(0.5)

        editor.open(URI, TEXT)
        editor.type(URI, 0, "x")
        await editor.settled()
        edit = an_edit(editor.text(URI), "line 9 ", "LINE 9 ")
        typing = editor.tasks.create_task(types())
        outcome = await port.apply(edit)
        assert (outcome.status, editor.asked) == ("refused", [])
        assert "types all the time" in (outcome.reason or "")
        await typing

    play(VIM_LSP, story, tmp_path)


# ---- size and golden text


@pytest.mark.parametrize("habits", [EDITORS[0], EDITORS[1], BLIND[0]], ids=name_of)
@pytest.mark.parametrize(
    "text",
    [("x" * 60 + "\r\n") * 170_000, "é" * (1 << 19) + "\n" + "tail", "x\ry\r\nz\n\u2028\x0c" * 99],
    ids=["ten mebibytes", "a line of a mebibyte", "mixed endings"],
)
def test_large_and_odd_texts_stay_as_they_are_but_for_the_edit(
    habits: Habits, text: str, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        middle = len(text) // 2
        while text[middle - 1 : middle + 1] == "\r\n":
            middle += 1
        after = text[:middle] + "🦊" + text[middle + 1 :]
        editor.open(URI, text)
        outcome = await port.apply(BufferEdit(URI, text, after, "Agent edit"))
        assert (outcome.status, outcome.text == after) == ("applied", True)
        assert editor.text(URI) == after
        assert len(str(editor.asked[0][1])) < 500, "only the edit is sent"

    # What merges its changes compares character by character, which takes too long in Python.
    play(replace(habits, tells="steps"), story, tmp_path)
