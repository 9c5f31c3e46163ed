"""Explains to the model why its old text is not in a file, by the place that is most like it.

The cost is bounded: long texts are compared in part. Not here: the search itself (locate.py).
"""

import html
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from heapq import nlargest

_MOST_LINES_SHOWN = 12
_MOST_CANDIDATES = 40
_MOST_COMPARED = 5
_MOST_WORDS = 8
_MOST_COMPARED_LINES = 60
_MOST_COMPARED_CHARACTERS = 400
_LEAST_LIKENESS = 0.6
_ESCAPED = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ESCAPE = re.compile(r"\\([ntr\"'\\/])")


def explain_missing(flat: str, old: str, new: str) -> str:
    """One or a few sentences on why `old` is not in `flat` (both with LF endings only)."""
    if new and flat.count(new) == 1 and len(new.strip()) > 1:
        line = flat.count("\n", 0, flat.find(new)) + 1
        return f"old text not found; the new text is already there, at line {line}"
    if unescaped := _unescaped(flat, old):
        return unescaped
    lines, wanted = flat.split("\n"), old.strip("\n").split("\n")
    if all(_numbered(line) for line in wanted):
        return "old text not found; leave out the line numbers in front of its lines"
    place = _same_but_for_space(lines, wanted)
    if place is not None:
        shown = _shown(lines, place, len(wanted))
        return f"old text not found; only white space differs from {shown}"
    place = _most_alike(lines, wanted)
    if place is None:
        return "old text not found, and nothing like it; read the file again"
    difference = _first_difference(lines, place, wanted)
    return f"old text not found; nearest is {_shown(lines, place, len(wanted))}{difference}"


def _unescaped(flat: str, old: str) -> str | None:
    """Models escape what is in JSON already, and turn signs into entities."""
    plain = _ESCAPE.sub(lambda found: _ESCAPED[found[1]], old)
    for meant, what in ((plain, "backslashes"), (html.unescape(old), "entities such as &lt;")):
        if meant != old and meant.strip() and flat.count(meant) == 1:
            line = flat.count("\n", 0, flat.find(meant)) + 1
            return (
                f"old text not found; without its {what} it is at line {line}: give the text as it "
                "is in the file, not escaped, and the new text too"
            )
    return None


def _numbered(line: str) -> bool:
    digits = line.lstrip()
    rest = digits.lstrip("0123456789")
    return rest != digits and rest.startswith(("\t", "|", ": ", "→"))


def _same_but_for_space(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where the wanted lines are, if white space is ignored; None too if that is in two places."""
    bare = ["".join(line.split()) for line in wanted]
    first = next((index for index, line in enumerate(bare) if line), None)
    if first is None:
        return None
    found: list[int] = []
    for index, line in enumerate(lines):
        start = index - first
        if start < 0 or "".join(line.split()) != bare[first]:
            continue
        window = lines[start : start + len(bare)]
        if ["".join(each.split()) for each in window] == bare:
            found.append(start)
            if len(found) > 1:
                return None
    return found[0] if found else None


def _most_alike(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where a window of lines is most like the wanted ones."""
    target = _start_of(wanted)
    matchers = {
        start: SequenceMatcher(None, _start_of(lines[start : start + len(wanted)]), target)
        for start in _windows(lines, wanted)
    }
    likely = nlargest(_MOST_COMPARED, matchers, key=lambda start: matchers[start].quick_ratio())
    best = max(likely, key=lambda start: matchers[start].ratio(), default=None)
    return best if best is not None and matchers[best].ratio() > _LEAST_LIKENESS else None


def _windows(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Starts of windows worth a comparison: those with the most words in common."""
    found = {word for line in wanted[:_MOST_COMPARED_LINES] for word in line.split()}
    words = nlargest(_MOST_WORDS, found, key=lambda word: (len(word), word))
    counts = (
        (sum(word in line[:_MOST_COMPARED_CHARACTERS] for word in words), -index)
        for index, line in enumerate(lines)
    )
    likely = nlargest(_MOST_CANDIDATES, (count for count in counts if count[0]))
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    return sorted({max(0, -index - offset) for _, index in likely for offset in {0, longest}})


def _start_of(lines: Sequence[str]) -> str:
    compared = (line[:_MOST_COMPARED_CHARACTERS] for line in lines[:_MOST_COMPARED_LINES])
    return "\n".join(compared)[:2000]


def _shown(lines: Sequence[str], start: int, count: int) -> str:
    shown = lines[start : start + min(count, _MOST_LINES_SHOWN)]
    body = "\n".join(line[:_MOST_COMPARED_CHARACTERS] for line in shown)
    last = start + min(count, len(lines) - start)
    where = f"line {start + 1}" if count == 1 else f"lines {start + 1}-{last}"
    cut = f"\n({count - len(shown)} more lines)" if count > len(shown) else ""
    return f"{where}:\n{body}{cut}"


def _first_difference(lines: Sequence[str], start: int, wanted: Sequence[str]) -> str:
    for offset, line in enumerate(wanted):
        place = start + offset
        there = lines[place] if place < len(lines) else None
        if there != line:
            what = "the file ends" if there is None else repr(there[:120])
            return f"\nfirst difference at line {place + 1}: {what} instead of {line[:120]!r}"
    return ""
