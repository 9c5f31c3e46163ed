"""Conversation documents over the real sessions: several, resumed, edited, closed, renamed."""

import asyncio
from pathlib import Path

import pytest

from agent_host.conversation.format import parse
from agent_host.core.errors import InvalidRequest
from tests.fakes import answering
from tests.session.desk import ONE, TWO, play


async def test_two_conversations_are_answered_at_once_each_in_its_document(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        for path, prompt in ((ONE, "apples"), (TWO, "pears")):
            at.desk.show_document(path, f"## You\n\n{prompt}\n")
            await at.conversations.send(path, "now")
        for word in ("red ", "and ", "round"):
            at.words.of("apples").put_nowait(word)
            at.words.of("pears").put_nowait(word.upper())
        at.words.of("pears").put_nowait(".")
        text = await at.desk.wait_text(TWO, "> completed")
        assert "RED AND ROUND" in text
        assert "red" not in text
        assert at.conversations.run_of(ONE) == "run1"
        at.words.of("apples").put_nowait(".")
        text = await at.desk.wait_text(ONE, "> completed")
        assert "red and round" in text
        assert len(set(at.words.sessions)) == 2


async def test_what_an_agent_cannot_hear_now_is_shown_as_next_and_said_then(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.host.runtime.steers = False
        at.desk.show_document(ONE, "apples")
        await at.conversations.send(ONE, "now")
        at.words.of("apples").put_nowait("red")
        text = await at.desk.wait_text(ONE, "red")
        at.desk.type(ONE, f"{text.rstrip()}\n\npears\n")
        await at.conversations.send(ONE, "now")
        await at.desk.wait_text(ONE, "## You (next)\n\npears")
        for word in ("green", "."):
            at.words.of("pears").put_nowait(word)
        at.words.of("apples").put_nowait(".")
        await at.desk.wait_text(ONE, "green")


async def test_a_saved_document_goes_on_with_its_session(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "One?")
        await at.conversations.send(None, "now")
        for word in ("Yes.", "."):
            at.words.of("One?").put_nowait(word)
        saved = await at.desk.wait_text(ONE, "> completed") + "Two?\n"
        await at.desk.until(lambda: "session: " in at.desk.text(ONE))
        at.desk.put_away(ONE)
        at.desk.show_document(ONE, saved)
        assert saved.endswith("## You\n\nTwo?\n")
        await at.conversations.send(None, "now")
        for word in ("No.", "."):
            at.words.of("Two?").put_nowait(word)
        text = await at.desk.wait_text(ONE, "No.\n\n> completed")
        first, second = at.words.sessions
        assert first == second == parse(text).session_id


async def test_what_is_typed_while_an_answer_streams_stays_and_the_answer_is_whole(
    tmp_path: Path,
) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "## You\n\nTell.\n")
        await at.conversations.send(ONE, "now")
        await at.desk.wait_text(ONE, "## Agent run1")
        keys = list("Meanwhile.")

        def type_a_key() -> None:
            """Right before each edit lands, so that it is made for a text that has moved on."""
            if keys:
                at.desk.type(ONE, at.desk.text(ONE) + keys.pop(0))

        at.desk.meddle = type_a_key
        said = [f"word{number} " for number in range(40)]
        for word in said:
            at.words.of("Tell.").put_nowait(word)
        at.words.of("Tell.").put_nowait(".")
        text = await at.desk.wait_text(ONE, "> completed")
        assert text.endswith("## You\n\nMeanwhile.")
        answer = parse(text).answer("run1")
        assert answer is not None
        assert answer.body == "".join(said).strip() + "\n\n> completed"


async def test_an_answer_that_ends_while_its_document_is_closed_is_written_when_it_is_open_again(
    tmp_path: Path,
) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Tell.")
        await at.conversations.send(ONE, "now")
        at.words.of("Tell.").put_nowait("First. ")
        saved = await at.desk.wait_text(ONE, "First.")
        at.desk.put_away(ONE)
        for word in ("Last.", "."):
            at.words.of("Tell.").put_nowait(word)
        await at.desk.until(lambda: at.host.ended() == ["completed"])
        await at.host.manager.stop()
        for _ in range(5):  # what waits for the run's result goes on
            await asyncio.sleep(0)
        at.desk.show_document(ONE, saved)
        text = await at.desk.wait_text(ONE, "> completed")
        assert text.count("First. Last.") == 1


async def test_an_answer_follows_its_document_to_another_name(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Tell.")
        await at.conversations.send(ONE, "now")
        at.words.of("Tell.").put_nowait("First. ")
        text = await at.desk.wait_text(ONE, "First.")
        at.desk.put_away(ONE)
        at.desk.show_document(TWO, text)
        assert at.conversations.run_of(TWO) == "run1"
        for word in ("Last.", "."):
            at.words.of("Tell.").put_nowait(word)
        assert "First. Last." in await at.desk.wait_text(TWO, "> completed")
        assert at.conversations.run_of(ONE) is None


async def test_a_document_that_is_opened_twice_sends_once(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        for _ in range(2):
            at.desk.show_document(ONE, "Tell.")
        await asyncio.gather(*(at.conversations.send(ONE, "now") for _ in range(2)))
        for word in ("Once.", "."):
            at.words.of("Tell.").put_nowait(word)
        text = await at.desk.wait_text(ONE, "> completed")
        assert text.count("## Agent") == text.count("Once.") == len(at.words.sessions) == 1


async def test_an_answer_whose_heading_was_deleted_is_written_nowhere_else(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "Tell.")
        await at.conversations.send(ONE, "now")
        at.words.of("Tell.").put_nowait("First. ")
        await at.desk.wait_text(ONE, "First.")
        at.desk.type(ONE, "## You\n\nAnother.\n")
        for word in ("Last.", "."):
            at.words.of("Tell.").put_nowait(word)
        await at.desk.until(lambda: at.host.ended() == ["completed"])
        await at.desk.until(lambda: at.conversations.run_of(ONE) is None)
        assert "Last." not in at.desk.text(ONE)
        await at.conversations.send(ONE, "now")
        for word in ("Heard.", "."):
            at.words.of("Another.").put_nowait(word)
        assert "Heard." in await at.desk.wait_text(ONE, "> completed")


async def test_windows_line_endings_stay_in_the_whole_document(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "## You\r\n\r\nTell.\r\n")
        await at.conversations.send(ONE, "now")
        for word in ("One.\n\nTwo.", "."):
            at.words.of("Tell.").put_nowait(word)
        text = await at.desk.wait_text(ONE, "> completed")
        await at.desk.until(lambda: "session: " in at.desk.text(ONE))
        assert "One.\r\n\r\nTwo." in text
        assert "\n" not in text.replace("\r\n", "")


async def test_a_front_matter_that_names_a_session_of_nobody_fails_in_the_document(
    tmp_path: Path,
) -> None:
    async with play(tmp_path) as at:
        at.desk.show_document(ONE, "---\nsession: nobody\n---\nTell.")
        await at.conversations.send(ONE, "now")
        text = await at.desk.wait_text(ONE, "> failed (session_not_found)")
        at.desk.type(ONE, text.replace("session: nobody", "") + "Again.")
        await at.desk.until(lambda: at.conversations.run_of(ONE) is None)
        await at.conversations.send(ONE, "now")
        for word in ("Here.", "."):
            at.words.of("Again.").put_nowait(word)
        assert "Here." in await at.desk.wait_text(ONE, "> completed")


async def test_nothing_is_sent_twice_by_sending_an_answered_document(tmp_path: Path) -> None:
    async with play(tmp_path) as at:
        at.host.plays(answering("Done.")[0])
        at.desk.show_document(ONE, "Tell.")
        await at.conversations.send(ONE, "now")
        await at.desk.wait_text(ONE, "> completed")
        with pytest.raises(InvalidRequest, match="no prompt to send"):
            await at.conversations.send(ONE, "now")
