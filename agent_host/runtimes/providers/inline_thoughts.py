"""Thinking that a server leaves in the text of an answer, between marks, is taken out of it. Pure.

A mark begins thinking only where an answer begins, or where thinking has just ended: later ones are
text, as in an answer about such marks. Some templates put the first mark into the prompt; then only
the second one comes, at the beginning of a line, and tells that all before it was thinking.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

_MARKS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
}
_ENDS = re.compile("|".join(map(re.escape, _MARKS.values())))


@dataclass(frozen=True, slots=True)
class Marks:
    """What stood around the thinking; `begin` is empty if it was in the prompt."""

    begin: str
    end: str


class Hears(Protocol):
    """Where the pieces go, in their order."""

    def said(self, text: str) -> None:
        """More of the answer."""

    def thought(self, text: str, marks: Marks) -> None:
        """More of the thinking."""

    def unsaid(self, marks: Marks) -> None:
        """All that was said so far was thinking."""


class InlineThoughts:
    """Takes the text of one answer apart, however it is cut into pieces."""

    def __init__(self, hears: Hears) -> None:
        self._hears = hears
        self._held = ""
        self._inside: Marks | None = None
        self._may_begin = True
        self._marked = False
        self._spoke = False
        self._line_begins = True

    def take(self, piece: str) -> None:
        """More of the text; what may be the beginning of a mark is held back."""
        self._held += piece
        while self._held and self._step():
            pass

    def end(self) -> None:
        """There is no more: what was held back is what it is."""
        rest, self._held = self._held, ""
        if self._inside is not None and rest:
            self._hears.thought(rest, self._inside)
        elif rest.strip() or (rest and not self._marked):
            self._hears.said(rest.lstrip() if self._marked and self._may_begin else rest)

    def _step(self) -> bool:
        """Whether there may be more to do with what is held."""
        if self._inside is not None:
            return self._think(self._inside)
        return self._begin() if self._may_begin else self._say()

    def _think(self, marks: Marks) -> bool:
        before, found, after = self._held.partition(marks.end)
        kept = "" if found else _beginning(before, (marks.end,))
        if thought := before.removesuffix(kept):
            self._hears.thought(thought, marks)
        self._held = after if found else kept
        if found:
            self._inside, self._may_begin = None, True
        return bool(found)

    def _begin(self) -> bool:
        text = self._held.lstrip()
        for begin, end in _MARKS.items():
            if text.startswith(begin):
                self._held, self._inside = text.removeprefix(begin), Marks(begin, end)
                self._marked = True
                return True
        if not text or any(begin.startswith(text) for begin in _MARKS):
            return False
        self._may_begin = False
        self._held = text if self._marked else self._held
        return True

    def _say(self) -> bool:
        held = self._held
        if self._marked:
            self._held = ""
            self._hears.said(held)
            return False
        end = next((e for e in _ENDS.finditer(held) if self._begins_line(e.start())), None)
        place = len(held) - len(_beginning(held, _MARKS.values())) if end is None else end.start()
        if place:
            self._hears.said(held[:place])
            self._spoke, self._line_begins = True, held[place - 1] == "\n"
        self._held = held[place:] if end is None else held[end.end() :]
        if end is not None:
            if self._spoke:
                self._hears.unsaid(Marks("", end[0]))
            self._marked = self._may_begin = True
        return end is not None

    def _begins_line(self, place: int) -> bool:
        return self._line_begins if place == 0 else self._held[place - 1] == "\n"


def _beginning(text: str, marks: Collection[str]) -> str:
    """What a text ends with that may become a mark."""
    longest = max(map(len, marks)) - 1
    tails = (text[-size:] for size in range(min(longest, len(text)), 0, -1))
    return next((tail for tail in tails if any(mark.startswith(tail) for mark in marks)), "")
