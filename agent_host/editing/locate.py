r"""Finds where exact old text is and puts new text there; all of several places, or none.

Matching sees every line ending as `\n`; what is not replaced stays as it is, character by
character, and what is new takes the endings around it. Failures say what the model can do.
"""

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_host.core.actions import Replacement
from agent_host.core.errors import ActionFailed
from agent_host.editing.diff import hunks
from agent_host.editing.nearest import explain_missing
from agent_host.editing.text import ending_of, endings, majority_ending, normalised, split_lines

_MOST_LINES_NAMED = 10
_ENDING = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class _Place:
    """One replacement in the normalised text, from `start` to `end`."""

    number: int
    start: int
    end: int
    new: str


def replace_all(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with every replacement made, each looked up in `text` as it is.

    Raises ActionFailed: `stale` when an old text is not there, `invalid` when it is there more
    than once, is empty, equals its new text or overlaps another one.
    """
    if not replacements:
        raise ActionFailed("invalid", "no replacement was given")
    flat = normalised(text)
    places = [_place(flat, replacements, number) for number in range(len(replacements))]
    places.sort(key=lambda place: (place.start, place.end))
    _refuse_overlaps(flat, places)
    return _spliced(text, flat, places)


def rewrite_all(text: str, wanted: str) -> str:
    """`wanted` as the whole new text of a document: unchanged lines keep their endings.

    A `wanted` that brings endings other than LF for itself is taken as it is.
    """
    if "\r" in wanted or "\r" not in text:
        return wanted
    ending = majority_ending(text)
    if len(endings(text)) == 1:
        return wanted.replace("\n", ending)
    return _with_endings(text, wanted, ending)


# ---- finding


def _place(flat: str, replacements: Sequence[Replacement], number: int) -> _Place:
    old = normalised(replacements[number].old)
    new = normalised(replacements[number].new)
    which = f"replacement {number + 1}: " if len(replacements) > 1 else ""
    if old == new:
        raise ActionFailed("invalid", f"{which}old and new text are the same")
    if not old:
        if flat:
            reason = "old text is empty; give the text that is to be replaced"
            raise ActionFailed("invalid", which + reason)
        return _Place(number, 0, 0, new)
    starts = list(_occurrences(flat, old))
    if len(starts) == 1:
        return _Place(number, starts[0], starts[0] + len(old), new)
    if starts:
        raise ActionFailed("invalid", which + _ambiguous(flat, starts))
    hint = _made_by_another(old, replacements, number)
    raise ActionFailed("stale", which + (hint or explain_missing(flat, old, new)))


def _occurrences(flat: str, old: str) -> Iterator[int]:
    start = flat.find(old)
    while start >= 0:
        yield start
        start = flat.find(old, start + 1)


def _ambiguous(flat: str, starts: Sequence[int]) -> str:
    lines = [str(flat.count("\n", 0, start) + 1) for start in starts[:_MOST_LINES_NAMED]]
    more = f" and {len(starts) - len(lines)} more" if len(starts) > len(lines) else ""
    return (
        f"old text occurs {len(starts)} times, at lines {', '.join(lines)}{more}; "
        "give more of the lines around it"
    )


def _made_by_another(old: str, replacements: Sequence[Replacement], number: int) -> str | None:
    for other, replacement in enumerate(replacements):
        if other != number and old in normalised(replacement.new):
            return (
                f"old text is only in the new text of replacement {other + 1}; all are looked up "
                "in the text as it was before, so make one of both"
            )
    return None


def _refuse_overlaps(flat: str, places: Sequence[_Place]) -> None:
    for one, other in pairwise(places):
        if other.start < one.end or (other.start, other.end) == (one.start, one.end):
            line = flat.count("\n", 0, other.start) + 1
            first, second = sorted((one.number + 1, other.number + 1))
            raise ActionFailed(
                "invalid",
                f"replacements {first} and {second} overlap at line {line}; make one of both",
            )


# ---- putting in


def _spliced(text: str, flat: str, places: Sequence[_Place]) -> str:
    offsets = _Offsets(text)
    ending = majority_ending(text)
    is_mixed = len(endings(text)) > 1
    parts: list[str] = []
    done = 0
    for place in places:
        start, end = offsets.original(place.start), offsets.original(place.end)
        parts.append(text[done:start])
        if is_mixed:
            near = _ending_near(text, start) or ending
            parts.append(_with_endings(text[start:end], place.new, near))
        else:
            parts.append(place.new.replace("\n", ending))
        done = end
    parts.append(text[done:])
    result = "".join(parts)
    _refuse_melted(result, flat, places)
    return result


class _Offsets:
    """From places in the normalised text to those in the text itself."""

    def __init__(self, text: str) -> None:
        self._melted: list[int] = []
        at = text.find("\r\n")
        while at >= 0:
            self._melted.append(at - len(self._melted))
            at = text.find("\r\n", at + 2)

    def original(self, flat: int) -> int:
        return flat + bisect.bisect_left(self._melted, flat)


def _with_endings(old: str, new: str, otherwise: str) -> str:
    """New lines with the endings of the old ones that they equal or stand for."""
    old_lines, new_lines = split_lines(old), split_lines(new)
    parts: list[str] = []
    done = 0
    for hunk in hunks([normalised(line) for line in old_lines], new_lines):
        parts.extend(old_lines[done : hunk.start])
        ending = (hunk.start and ending_of(old_lines[hunk.start - 1])) or otherwise
        stood = old_lines[hunk.start : hunk.end]
        for index, line in enumerate(new_lines[hunk.new_start : hunk.new_end]):
            if index < len(stood):
                ending = ending_of(stood[index]) or ending
            parts.append(line[:-1] + ending if line.endswith("\n") else line)
        done = hunk.end
    parts.extend(old_lines[done:])
    return "".join(parts)


def _ending_near(text: str, start: int) -> str:
    """The ending of the line that holds this place, else of the one before."""
    following = _ENDING.search(text, start)
    if following is not None:
        return following[0]
    return ending_of(text[: max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1])


def _refuse_melted(result: str, flat: str, places: Sequence[_Place]) -> None:
    """A CR that came to stand before an LF would be one ending where two were meant."""
    parts: list[str] = []
    done = 0
    for place in places:
        parts.extend((flat[done : place.start], place.new))
        done = place.end
    parts.append(flat[done:])
    if normalised(result) != "".join(parts):
        raise ActionFailed(
            "invalid", "the line endings around this place are mixed; replace the line before too"
        )
