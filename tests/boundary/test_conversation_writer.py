"""An answer streams into a document of thirteen simulated editors while its person types there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from agent_host.conversation import format as made
from agent_host.conversation.format import parse
from agent_host.conversation.writer import DocumentWriter
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import EditorError
from tests.clients.habits import EDITORS, Habits, name_of
from tests.clients.simulated import SILENCE, SimulatedEditor
from tests.clients.virtual_time import run

APPLY = "workspace/applyEdit"
URI = "file:///w/talk.agent.md"
PROMPT = "Größe 🐍?"
WORDS = [f"word{number} é🦊{', ' if number % 7 else chr(10) * 2}" for number in range(120)]
TYPED = "Meanwhile I write 🦊 this and that."

each_editor = pytest.mark.parametrize("habits", EDITORS, ids=name_of)
Story = Callable[[SimulatedEditor, DocumentWriter], Awaitable[None]]


def play(
    habits: Habits,
    story: Story,
    tmp_path,
    *,
    on_refused: Callable[[str], object] = pytest.fail,
) -> SimulatedEditor:
    """Play a story with a writer at work; returns the editor once all is written and told."""

    async def main() -> SimulatedEditor:
        async with asyncio.TaskGroup() as tasks:
            editor = SimulatedEditor(habits, tasks)
            port = LspEditor(editor, editor.documents, state_dir=tmp_path, on_cancel=lambda _: None)
            editor.open(URI, PROMPT)
            writer = DocumentWriter(URI, port, on_refused)
            editor.documents.watch(URI, writer.wake)
            tasks.create_task(writer.serve())
            writer.change(lambda text: made.with_answer(text, PROMPT, "r1"))
            await story(editor, writer)
            await writer.written()
            await editor.settled()
            writer.close()
        return editor

    return run(main())


async def stream(writer: DocumentWriter, words: list[str], seconds: float = 0.03) -> None:
    white = ""
    for word in words:
        kept = (white + word).rstrip(made.WHITE)
        writer.write("r1", kept)
        white = (white + word)[len(kept) :]
        await asyncio.sleep(seconds)


async def type_after(editor: SimulatedEditor, marker: str, text: str, seconds: float) -> None:
    """The person types, key by key, behind what stands there."""
    for number, key in enumerate(text):
        before = editor.text(URI)
        at = before.index(marker) + len(marker) + number
        editor.type(URI, at, key)
        await asyncio.sleep(seconds)


def answer(text: str) -> str:
    found = parse(text).answer("r1")
    return found.body if found else ""


@each_editor
def test_the_whole_answer_comes_once_and_in_few_edits(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        await stream(writer, WORDS)

    editor = play(habits, story, tmp_path)
    assert answer(editor.text(URI)) == "".join(WORDS).rstrip()
    edits = [params for method, params in editor.asked if method == "workspace/applyEdit"]
    assert len(edits) <= 25
    sent = sum(len(str(each)) for each in edits)
    assert sent < 4 * len("".join(WORDS)) + 25 * 400


@each_editor
@pytest.mark.parametrize("pause", [0.07, 0.45])
def test_what_is_typed_meanwhile_stays_and_the_answer_comes_once(
    habits: Habits, pause: float, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        async with asyncio.TaskGroup() as tasks:
            await stream(writer, ["Begins. "])
            await writer.written()
            await editor.settled()
            tasks.create_task(stream(writer, [" ", *WORDS]))
            editor.type(URI, len(editor.text(URI)), "Next: ")
            tasks.create_task(type_after(editor, "Next: ", TYPED, pause))

    editor = play(habits, story, tmp_path)
    text = editor.text(URI)
    assert text.count(f"Next: {TYPED}") == 1
    assert answer(text).split() == ["Begins.", *"".join(WORDS).split()]


@each_editor
def test_typing_above_the_answer_moves_it_and_no_more(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        async with asyncio.TaskGroup() as tasks:
            await stream(writer, ["Begins. "])
            await writer.written()
            await editor.settled()
            tasks.create_task(stream(writer, [" ", *WORDS]))
            tasks.create_task(type_after(editor, "", "Line\nafter line\n", 0.3))

    editor = play(habits, story, tmp_path)
    text = editor.text(URI)
    assert text.startswith(f"Line\nafter line\n{PROMPT}\n\n## Agent r1\n")
    assert answer(text).split() == ["Begins.", *"".join(WORDS).split()]


@each_editor
def test_an_undo_takes_back_a_piece_and_the_rest_follows(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        await stream(writer, ["First. "])
        await writer.written()
        await editor.settled()
        buffer = editor.buffers[URI]
        undone = buffer.undo.pop()
        editor.type(URI, 0, undone, deleting=len(buffer.text))
        await editor.settled()
        await stream(writer, ["Second. "])

    text = play(habits, story, tmp_path).text(URI)
    assert text.count("Second.") <= 1
    assert PROMPT in text


def test_a_closed_document_is_written_when_it_is_open_again(tmp_path) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        await stream(writer, ["One. "])
        await writer.written()
        await editor.settled()
        text = editor.text(URI)
        editor.documents.did_close(URI)
        await stream(writer, [" Two."])
        await asyncio.sleep(5)
        editor.open(URI, text)

    text = play(EDITORS[0], story, tmp_path).text(URI)
    assert answer(text).split() == ["One.", "Two."]


# ---- an editor that refuses, breaks, or says nothing

REFUSALS = {
    "read-only": {"applied": False, "failureReason": "it is read-only"},
    "no reason": {"applied": False},
    "no such method": EditorError(-32601, "Method not found"),
}


@pytest.mark.parametrize("answered", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_told_once_and_all_is_written_when_the_document_was_changed(
    answered: object, tmp_path
) -> None:
    told: list[str] = []

    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        editor.answers[APPLY] = lambda _: answered
        await stream(writer, WORDS, 0.1)
        await writer.at_rest()
        assert len(told) == 1
        assert len([each for each in editor.asked if each[0] == APPLY]) == 1
        assert writer.unwritten("r1") == "".join(WORDS).strip()
        writer.try_again()
        await writer.at_rest()
        assert len([each for each in editor.asked if each[0] == APPLY]) == 2
        del editor.answers[APPLY]
        editor.type(URI, 0, "Typed. ")

    text = play(EDITORS[0], story, tmp_path, on_refused=told.append).text(URI)
    assert len(told) == 1
    assert text.startswith("Typed. ")
    assert answer(text) == "".join(WORDS).rstrip()


def test_an_editor_that_breaks_or_says_nothing_is_not_sent_the_same_twice(tmp_path) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        for silence in (SILENCE, EditorError(-32603, "Internal error"), {"applied": True}):
            editor.answers[APPLY] = lambda _, silence=silence: silence
            asked = len(editor.asked)
            writer.write("r1", " more")
            await asyncio.sleep(60)
            writer.try_again()
            await asyncio.sleep(60)
            assert len(editor.asked) == asked + 1
            del editor.answers[APPLY]
            editor.type(URI, 0, "x")
            await writer.written()

    assert answer(play(EDITORS[0], story, tmp_path).text(URI)) == "more more more"


@each_editor
def test_an_editor_that_makes_edits_and_never_answers_is_not_waited_for(
    habits: Habits, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, writer: DocumentWriter) -> None:
        await stream(writer, WORDS)
        began = asyncio.get_running_loop().time()
        await writer.written()
        assert asyncio.get_running_loop().time() - began < 4

    text = play(replace(habits, answers_edits=False), story, tmp_path).text(URI)
    assert answer(text) == "".join(WORDS).rstrip()
