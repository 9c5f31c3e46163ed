"""A title is one harmless line."""

import pytest

from agent_host.session.heading import heading, one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("fix\nthe\t tests ", "fix the tests"),
        ("a\0b\x1b[31mc\u202ed\u2066e", "ab[31mcde"),
        ("\U0001f469\u200d\U0001f4bb Ünï 100% _", "\U0001f469\u200d\U0001f4bb Ünï 100% _"),
        ("\u202e\n", ""),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_long_one_is_cut() -> None:
    assert heading("x" * 80) == "x" * 80
    assert heading("x" * 81) == "x" * 79 + "…"
