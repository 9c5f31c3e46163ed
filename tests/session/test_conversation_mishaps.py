"""What people do to a conversation document while it is answered, and what its editor refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.conversation.format import parse
from agent_host.core.errors import InvalidRequest
from tests.session.desk import ONE, play

WORDS = [f"word{number} " for number in range(30)]
ANSWER = "".join(WORDS).strip()


def _above(text: str) -> str:
    return text.replace("Tell.", "Note.\n\nTell.", 1)


def _below(text: str) -> str:
    return f"{text}More."


def _inside(text: str) -> str:
    return text.replace("word3 ", "word3, really, ", 1)


def _undone(text: str) -> str:
    return text[: text.index(" word5")] + text[text.rindex("\n\n## You\n\n") :]


CHANGES: dict[str, tuple[Callable[[str], str], Callable[[str], bool]]] = {
    "above": (_above, lambda text: "Note.\n\nTell." in text and ANSWER in text),
    "below": (_below, lambda text: text.endswith("## You\n\nMore.") and ANSWER in text),
    "inside": (_inside, lambda text: ANSWER.replace("word3 ", "word3, really, ") in text),
    "undone": (_undone, lambda text: text.count("word4") == 1 and "word29" in text),
}


@pytest.mark.parametrize(("change", "is_right"), CHANGES.values(), ids=CHANGES)
async def test_a_person_changes_a_document_in_the_middle_of_an_answer(
    change: Callable[[str], str], is_right: Callable[[str], bool], tmp_path: Path
) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "## You\n\nTell.\n")
        await at.conversations.send(ONE, "now")
        at.words.say("Tell.", *WORDS[:10])
        text = await at.desk.wait_text(ONE, "word9")
        at.desk.type(ONE, change(text))
        at.words.say("Tell.", *WORDS[10:], ".")
        text = await at.desk.wait_text(ONE, "> completed")
        assert is_right(text), text
        assert text.count("## Agent run1") == 1


async def test_a_document_of_another_text_below_the_conversation_gets_no_foreign_answer(
    tmp_path: Path,
) -> None:
    """As when git checks another branch out: the editor reloads a text without this run."""
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Tell.")
        await at.conversations.send(ONE, "now")
        at.words.say("Tell.", "Here. ")
        text = await at.desk.wait_text(ONE, "Here.")
        older = "---\nsession: older\n---\n\n## You\n\nOld.\n\n## Agent r0\n\nOld answer.\n"
        at.desk.type(ONE, older)
        at.words.say("Tell.", "There. ")
        await at.desk.until(lambda: at.desk.said("There. "))
        assert at.desk.text(ONE) == older
        at.desk.type(ONE, text)  # and back
        at.words.say("Tell.", "Back.", ".")
        text = await at.desk.wait_text(ONE, "> completed")
        assert "Back." in text
        assert "session: older" not in text


EMPTY = ["", " \n\t\n", "## You\n\n \n", "## You\n\nHi.\n\n## Agent r\n\n"]


@pytest.mark.parametrize("text", EMPTY)
async def test_white_space_is_no_prompt(text: str, tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, text)
        with pytest.raises(InvalidRequest, match="no prompt to send"):
            await at.conversations.send(ONE, "now")
        assert at.desk.text(ONE) == text


LONG = "x" * 400_000 + "\n" + "y " * 200_000 + "end"
PROMPTS = {
    "no final newline": ("Tell.", "Tell."),
    "long": (LONG, LONG),
    "windows": ("## You\r\n\r\nTell\r\nme.\r\n", "Tell\r\nme."),
    "a code block": ("```md\n# You\n  ## You\n```", "```md\n# You\n  ## You\n```"),
    "other headings": ("## Your\n\n## You and\n\n### You", "## Your\n\n## You and\n\n### You"),
}


@pytest.mark.parametrize(("text", "prompt"), PROMPTS.values(), ids=PROMPTS)
async def test_a_prompt_is_sent_as_it_is_written(text: str, prompt: str, tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, text)
        await at.conversations.send(ONE, "now")
        at.words.say(prompt, "Yes.", ".")
        after = await at.desk.wait_text(ONE, "> completed")
        assert "Yes." in after
        assert parse(after).entries[0].body == prompt


async def test_a_heading_in_a_code_block_of_a_prompt_begins_an_entry(tmp_path: Path) -> None:
    """One line never depends on another: the README tells it, and indenting the line helps."""
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Look:\n\n```\n## You\n\nhi\n```\n")
        await at.conversations.send(ONE, "now")
        at.words.say("hi\n```", "Yes.", ".")
        assert "Yes." in await at.desk.wait_text(ONE, "> completed")


# ---- an editor that refuses


async def test_an_answer_that_the_editor_refuses_is_shown_in_another_way(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Tell.")
        at.desk.refuses = "it is read-only"
        await at.conversations.send(ONE, "now")
        at.words.say("Tell.", "All ", "of it.", ".")
        await at.desk.until(lambda: bool(at.desk.shown))
        (shown,) = at.desk.shown
        assert shown == "Answer that one.agent.md lacks: All of it.\n\n> completed"
        (told,) = at.desk.told
        assert "can't write into one.agent.md: it is read-only" in told
        assert at.desk.said("of it.")
        at.desk.refuses = None
        at.desk.type(ONE, "Tell. ")
        assert "All of it." in await at.desk.wait_text(ONE, "> completed")


async def test_the_end_of_the_host_shows_no_answer(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Tell.")
        at.desk.refuses = "it is read-only"
        await at.conversations.send(ONE, "now")
        at.words.say("Tell.", "All of it.")
        await at.desk.until(lambda: at.desk.said("All of it."))
        at.conversations.close()
        at.words.say("Tell.", ".")
    assert at.desk.shown == []
