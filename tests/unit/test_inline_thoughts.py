"""Thinking within the text of an answer: taken out of it, wherever the stream is cut."""

from dataclasses import dataclass

import pytest

from agent_host.runtimes.providers.inline_thoughts import InlineThoughts, Marks


@dataclass
class Heard:
    text: str = ""
    thinking: str = ""
    marks: Marks | None = None

    def said(self, text: str) -> None:
        assert text
        self.text += text

    def thought(self, text: str, marks: Marks) -> None:
        assert text
        self.thinking += text
        self.marks = marks

    def unsaid(self, marks: Marks) -> None:
        self.thought(self.text, marks)
        self.text = ""


CASES = {
    "marked": ("<think>hm</think>Hi.", "hm", "Hi."),
    "on lines of their own": ("\n<think>\nhm\n</think>\n\nHi.\n", "\nhm\n", "Hi.\n"),
    "other words": ("[THINK]hm[/THINK]Hi.", "hm", "Hi."),
    "an end of another kind": ("<think>a</thinking>b</think>Hi.", "a</thinking>b", "Hi."),
    "twice": ("<think>a</think>\n<think>b</think>Hi.", "ab", "Hi."),
    "empty": ("<think>\n\n</think>\n\nHi.", "\n\n", "Hi."),
    "nothing but thinking": ("<think>hm</think>\n", "hm", ""),
    "cut off in its end": ("<think>hm</thi", "hm</thi", ""),
    "cut off in its beginning": ("<thi", "", "<thi"),
    "the first mark in the prompt": ("\nhm\n</think>\n\nHi.", "\nhm\n", "Hi."),
    "nothing was thought, the first mark in the prompt": ("</think>Hi.", "", "Hi."),
    "none": ("  Hi. 1 < 2 </th\n", "", "  Hi. 1 < 2 </th\n"),
    "an answer about marks": ("Write <think>x</think> so.", "", "Write <think>x</think> so."),
    "an answer about marks after thinking": (
        "<think>hm</think>Write\n</think>\n<think>.",
        "hm",
        "Write\n</think>\n<think>.",
    ),
    "nothing": ("", "", ""),
    "spaces": (" \n", "", " \n"),
}


@pytest.mark.parametrize("how", CASES)
def test_it_is_told_apart_wherever_it_is_cut(how: str) -> None:
    whole, thinking, text = CASES[how]
    cuts = [(i, j) for i in range(len(whole) + 1) for j in range(i, len(whole) + 1)]
    for i, j in cuts:
        heard = Heard()
        inline = InlineThoughts(heard)
        for piece in (whole[:i], whole[i:j], whole[j:]):
            inline.take(piece)
        inline.end()
        assert (heard.thinking, heard.text) == (thinking, text), (whole[:i], whole[i:j], whole[j:])
    one_by_one = Heard()
    inline = InlineThoughts(one_by_one)
    for letter in whole:
        inline.take(letter)
    inline.end()
    assert (one_by_one.thinking, one_by_one.text) == (thinking, text)


def test_what_can_be_no_mark_is_told_at_once() -> None:
    heard = Heard()
    inline = InlineThoughts(heard)
    inline.take("Hello <")
    assert heard.text == "Hello "
    inline.take("b>")
    assert heard.text == "Hello <b>"
