"""Conversation documents: what is read from them, and what each change leaves alone."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.conversation import format as made
from agent_host.conversation.composer import Composer
from agent_host.conversation.format import Entry, parse
from agent_host.core.events import (
    Asked,
    Edited,
    Ended,
    Text,
    ToolFinished,
    ToolRequested,
    Used,
)
from agent_host.core.model import Usage

WORDS = st.text(
    alphabet=st.sampled_from("ab## YouAgent->`~\n\r\t \u00e9🐍\x1b[1m\u00a0"), max_size=60
)
PIECES = st.lists(
    WORDS | st.sampled_from(["## You", "## Agent x", "\n## You\n", "```\n", "\n", "## Yo"]),
    max_size=12,
)
DOCUMENTS = st.lists(
    st.sampled_from(
        [
            "---\n",
            "session: s1\n",
            "## You\n",
            "## You (next)\n",
            "## You (now)\n",
            "## Agent r1\n",
            "text\n",
            "\n",
            "```\n",
            "> deed\n",
            "## You",
        ]
    ),
    max_size=14,
).map("".join)


def bodies(text: str) -> list[tuple[str, str]]:
    return [(each.speaker, each.body) for each in parse(text).entries]


def test_a_document_is_read() -> None:
    text = (
        "---\nsession: s1\nrole: 'coder'\nother: x\n---\n\nHello.\n\n## Agent r1\n\nHi.\n\n"
        "## You\n\n"
        "More.\n\n## You (next)\n\nLater.\n\n## You\n"
    )
    conversation = parse(text)
    assert dict(conversation.fields) == {"session": "s1", "role": "coder"}
    assert bodies(text) == [
        ("you", "Hello."),
        ("agent", "Hi."),
        ("you", "More."),
        ("you", "Later."),
        ("you", ""),
    ]
    assert [each.line for each in conversation.entries] == [6, 8, 12, 16, 20]
    assert [each.last_line for each in conversation.entries] == [6, 10, 14, 18, 20]
    assert conversation.prompt is None
    assert conversation.marked("next") == conversation.entries[3]


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("", None),
        ("  \n", None),
        ("Hello.", "Hello."),
        ("## You\n\nHello.\n", "Hello."),
        ("---\nrole: coder\n---\nHello.", "Hello."),
        ("---\nno field at all\n---\nHello.", "---\nno field at all\n---\nHello."),
        ("Hello.\n\n## Agent r1\n\nHi.", None),
        ("## You\n\nHello.\n\n## You\n\n", "Hello."),
        ("## You (next)\n\nHello.\n\n## You\n\n", None),
        ("## you\n\nHello.", "## you\n\nHello."),
    ],
)
def test_the_prompt_is_what_was_not_sent_yet(text: str, prompt: str | None) -> None:
    found = parse(text).prompt
    assert (found.body if found else None) == prompt


def test_a_prompt_is_sent_and_answered_and_the_next_one_has_room() -> None:
    text = made.with_answer("Hello.\n", "Hello.", "r1")
    assert text == "Hello.\n\n## Agent r1\n\n## You\n\n"
    text = made.with_session(text, "s1")
    for piece in ("Hi", " there.", "\n\n> a deed"):
        text = made.appended(text, "r1", piece) or ""
    assert text == (
        "---\nsession: s1\n---\n\nHello.\n\n## Agent r1\n\nHi there.\n\n> a deed\n\n## You\n\n"
    )
    text = made.with_prompt(text, "Next.")
    assert parse(text).prompt == Entry(
        "you", text.index("## You"), text.index("## You") + 6, len(text), 12, 14, "Next."
    )


def test_what_is_said_meanwhile_is_answered_below_it() -> None:
    text = "Hello.\n\n## Agent r1\n\nWorking\n\n## You\n\nFaster.\n"
    text = made.with_mark(text, "Faster.", "now")
    assert "## You (now)\n\nFaster." in text
    text = made.with_more_room(text, "r1")
    text = made.appended(text, "r1", "Yes.") or ""
    assert bodies(text) == [
        ("you", "Hello."),
        ("agent", "Working"),
        ("you", "Faster."),
        ("agent", "Yes."),
        ("you", ""),
    ]


def test_what_waits_is_answered_in_its_order_or_taken_back() -> None:
    text = "One.\n\n## Agent r1\n\nWorking\n\n## You\n\nTwo.\n"
    text = made.with_mark(text, "Two.", "next")
    text = made.with_mark(made.with_prompt(text, "Three."), "Three.", "next")
    assert [each.mark for each in parse(text).entries] == [None, None, "next", "next", None]
    back = made.with_mark(text, "Three.", None)
    assert parse(back).prompt is not None
    text = made.with_answer(text, "Two.", "r2")
    assert [each.run_id for each in parse(text).entries] == [None, "r1", None, "r2", None, None]
    assert [each.mark for each in parse(text).entries] == [None, None, None, None, "next", None]


def test_an_answer_whose_place_was_removed_is_not_written_elsewhere() -> None:
    assert made.appended("Hello.", "r1", "Hi.") is None


def test_line_endings_are_kept() -> None:
    text = made.with_answer("## You\r\n\r\nHello.\r\n", "Hello.", "r1")
    text = made.appended(made.with_session(text, "s"), "r1", "a\nb") or ""
    assert "\n" not in text.replace("\r\n", "")
    assert bodies(text)[1] == ("agent", "a\r\nb")


CHANGES = [
    partial(made.with_session, session_id="s2"),
    partial(made.with_answer, prompt="text", run_id="r9"),
    partial(made.with_more_room, run_id="r1"),
    partial(made.with_mark, prompt="text", mark="next"),
    partial(made.with_mark, prompt="text", mark=None),
    made.with_room,
]


@given(DOCUMENTS, st.sampled_from(CHANGES))
def test_no_change_loses_a_word_of_anybody(text: str, change: partial[str]) -> None:
    def words(of: str) -> list[str]:
        return [line for line in of.split("\n") if line and line[0] not in "#s-"]

    assert words(change(text)) == words(text)


@given(DOCUMENTS)
def test_the_changes_are_made_once(text: str) -> None:
    once = made.with_answer(made.with_session(text, "s2"), "text", "r9")
    assert made.with_answer(made.with_session(once, "s2"), "text", "r9") == once
    assert made.with_room(made.with_room(text)) == made.with_room(text)
    assert parse(once).session_id == "s2"


@given(PIECES, st.integers(0, 3))
def test_an_answer_is_in_its_entry_whatever_the_model_says(pieces: list[str], deeds: int) -> None:
    composer, text = Composer(), "Hello.\n\n## Agent r1\n\n## You\n\nNext"
    said: list[str] = []
    for index, piece in enumerate(pieces):
        said.append(composer.feed(Text(piece)))
        if index % 4 < deeds:
            said.append(composer.feed(ToolRequested("c", "x", {}, "a deed", "read")))
    said.append(composer.feed(Ended("completed")))
    for piece in said:
        text = made.appended(text, "r1", piece) or ""
    assert [each.speaker for each in parse(text).entries] == ["you", "agent", "you"]
    assert bodies(text)[0] == ("you", "Hello.")
    assert bodies(text)[2] == ("you", "Next")
    assert bodies(text)[1][1] == "".join(said).strip(made.WHITE)
    assert "\x1b" not in text


@given(st.text(alphabet="ab #YouAgent\n\t🐍", max_size=80), st.integers(1, 5))
def test_no_word_of_the_model_is_lost_however_it_is_cut(text: str, size: int) -> None:
    composer = Composer()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    said = "".join(composer.feed(Text(piece)) for piece in pieces) + composer.part()
    assert said.split() == text.split()
    again = Composer()
    assert (again.feed(Text(text)) + again.part()).lstrip() == said.lstrip()


def test_deeds_are_short_quoted_lines() -> None:
    composer = Composer()
    said = "".join(
        composer.feed(each)
        for each in (
            Text("I look.\n\n```py\nx"),
            ToolRequested("c1", "fs_read", {}, "Read a.py", "read"),
            ToolFinished("c1", "ok", "3 lines"),
            Text("\nNow I "),
            Text("edit. "),
            ToolRequested("c2", "fs_edit", {}, "Edit\na.py", "write"),
            Edited(
                "c2", "file:///w/a.py", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+## You ```\n", "proposed"
            ),
            Asked("c2", "coder wants to change a.py", "", ()),
            ToolFinished("c2", "denied", "denied: no"),
            Used(Usage(1, 1200, 30, cost_usd=0.5)),
            Ended("completed"),
        )
    )
    assert said == (
        "I look.\n\n```py\nx\n```\n\n> Read a.py · 3 lines\n\nNow I edit.\n\n> Edit a.py\n"
        "> **May it?** coder wants to change a.py\n> ````diff\n> --- a\n> +++ b\n> @@ -1 +1 @@\n"
        "> -old\n"
        "> +## You ```\n> ````\n> Edit a.py · denied: no\n"
        "> completed · 1,200 tokens in, 30 out · $0.5000"
    )


def test_a_change_is_told_once_and_paths_are_short_but_in_commands_and_questions() -> None:
    composer = Composer(lambda text: text.replace("/w/", ""))
    said = "".join(
        composer.feed(each)
        for each in (
            ToolRequested("c1", "fs_edit", {}, "Edit /w/a b.py", "write"),
            Asked("c1", "coder wants to change /w/a b.py", "", ()),
            Edited(
                "c1", "file:///w/a%20b.py", "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n", "applied"
            ),
            ToolFinished("c1", "ok", "Changed /w/a b.py"),
            ToolRequested("c2", "terminal_run", {}, "Run cat /w/a", "execute"),
            ToolFinished("c2", "ok", "Exit code 0"),
            Ended("completed"),
        )
    )
    assert said == (
        "> Edit a b.py\n> **May it?** coder wants to change /w/a b.py\n"
        "> changed a b.py (+1 -1)\n> Run cat /w/a · Exit code 0\n> completed"
    )


def test_the_next_prompt_has_a_line_of_its_own() -> None:
    for text in ("x\n\n## You", "x\n\n## You\n", "x\n\n## You\n\n"):
        assert made.with_room(text) == "x\n\n## You\n\n"
    assert made.with_room("## You\nwords") == "## You\nwords"


def test_a_conversation_is_known_by_its_name_or_its_first_line() -> None:
    assert made.is_conversation("file:///w/a.agent.md", "markdown", "")
    assert made.is_conversation("untitled:Untitled-1", "markdown", "\n## You\n\nHello.")
    assert not made.is_conversation("untitled:Untitled-1", "markdown", "Hello.")
    assert not made.is_conversation("file:///w/a.md", "markdown", "## You\n")
