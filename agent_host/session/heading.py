"""A session's title: one line that can be shown anywhere, whoever has written it."""

MAX_TITLE = 80
_JOINERS = "\u200c\u200d"
"""They hold letters and emoji together; no other invisible character is of use in a title."""


def one_line(text: str) -> str:
    """The text without line breaks, control characters and marks that turn its direction."""
    words = " ".join(text.split())
    return "".join(each for each in words if each.isprintable() or each in _JOINERS)


def heading(text: str) -> str:
    """The same, cut to a title's length."""
    line = one_line(text)
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"
