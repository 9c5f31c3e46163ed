"""Differences of two texts, by lines: hunks, the edits of an editor, the unified form.

The cost is bounded for texts of any size: equal ends are cut off first, unique lines divide the
rest, and what is still too large counts as replaced whole.
"""

import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from agent_host.core.document import Position, Range
from agent_host.editing.text import split_lines

# The product of the line counts up to which difflib is quick whatever the lines are.
_SMALL = 250_000
# So many changed lines in a row become edits of their own each.
_MOST_LINES = 100


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `start` to `end` became lines `new_start` to `new_end`; from 0, ends excluded."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class TextEdit:
    """What is in `range` of the old text (in code points) becomes `text`."""

    range: Range
    text: str


def hunks(before: Sequence[str], after: Sequence[str]) -> tuple[Hunk, ...]:
    """What changed between two lists of lines, in order, touching hunks made one."""
    found: list[Hunk] = []
    pieces = [Hunk(0, len(before), 0, len(after))]
    while pieces:
        piece = _trimmed(before, after, pieces.pop())
        size, new_size = piece.end - piece.start, piece.new_end - piece.new_start
        if not size and not new_size:
            continue
        if not size or not new_size:
            found.append(piece)
        elif size * new_size <= _SMALL:
            found.extend(_by_difflib(before, after, piece))
        else:
            parts = _by_unique_lines(before, after, piece)
            if parts:
                pieces.extend(parts)
            else:
                found.append(piece)
    found.sort(key=lambda hunk: (hunk.start, hunk.new_start))
    return tuple(_joined(found))


def text_edits(before: str, after: str) -> tuple[TextEdit, ...]:
    """The smallest edits by lines and, within a hunk, by its equal ends; in order, apart.

    No edit names the place behind the last line ending, if there is another way to say it: there
    Neovim puts an empty line too many.
    """
    old, new = split_lines(before), split_lines(after)
    edits: list[TextEdit] = []
    for hunk in hunks(old, new):
        reaches_end = hunk.end == len(old)
        if _is_line_by_line(old, hunk) and not reaches_end:
            # What did not change between the lines is not replaced, so nothing there can be lost.
            edits += _by_line(old, new, hunk)
            continue
        back = 1 if reaches_end and hunk.start else 0
        old_text = "".join(old[hunk.start - back : hunk.end])
        new_text = "".join(new[hunk.new_start - back : hunk.new_end])
        edits.append(_edit(old_text, new_text, hunk.start - back, from_end=reaches_end))
    return tuple(edits)


def unified(
    before: str | None,
    after: str | None,
    name: str,
    *,
    old_name: str | None = None,
    context: int = 3,
) -> str:
    """The unified diff, "" for equal texts; None is a file that is not there."""
    old, new = split_lines(before or ""), split_lines(after or "")
    changes = hunks(old, new)
    if not changes and (before is None) == (after is None):
        return ""
    rows = [
        "--- /dev/null\n" if before is None else f"--- a/{old_name or name}\n",
        "+++ /dev/null\n" if after is None else f"+++ b/{name}\n",
    ]
    for group in _groups(changes, context):
        rows.extend(_block(old, new, group, context))
    return "".join(rows)


def common_prefix(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(one: str, other: str, limit: int) -> int:
    """How many characters both end with, at most `limit`."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


# ---- hunks


def _trimmed(before: Sequence[str], after: Sequence[str], piece: Hunk) -> Hunk:
    start, end, new_start, new_end = piece.start, piece.end, piece.new_start, piece.new_end
    while start < end and new_start < new_end and before[start] == after[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and before[end - 1] == after[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return Hunk(start, end, new_start, new_end)


def _by_difflib(before: Sequence[str], after: Sequence[str], piece: Hunk) -> Iterator[Hunk]:
    old = before[piece.start : piece.end]
    new = after[piece.new_start : piece.new_end]
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            yield Hunk(
                piece.start + start,
                piece.start + end,
                piece.new_start + new_start,
                piece.new_start + new_end,
            )


def _by_unique_lines(before: Sequence[str], after: Sequence[str], piece: Hunk) -> list[Hunk]:
    """The pieces between lines that both sides have once, in the same order on both."""
    pairs = _in_order(_unique_pairs(before, after, piece))
    parts: list[Hunk] = []
    start, new_start = piece.start, piece.new_start
    for place, new_place in pairs:
        parts.append(Hunk(start, place, new_start, new_place))
        start, new_start = place + 1, new_place + 1
    if pairs:
        parts.append(Hunk(start, piece.end, new_start, piece.new_end))
    return parts


def _unique_pairs(
    before: Sequence[str], after: Sequence[str], piece: Hunk
) -> list[tuple[int, int]]:
    old_counts = Counter(before[piece.start : piece.end])
    new_counts = Counter(after[piece.new_start : piece.new_end])
    new_places = {
        after[place]: place
        for place in range(piece.new_start, piece.new_end)
        if new_counts[after[place]] == 1
    }
    return [
        (place, new_places[before[place]])
        for place in range(piece.start, piece.end)
        if old_counts[before[place]] == 1 and before[place] in new_places
    ]


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that rises on both sides."""
    lowest: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, new_place) in enumerate(pairs):
        length = bisect.bisect_left(lowest, new_place)
        previous.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [new_place]
        ends[length : length + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _joined(found: Sequence[Hunk]) -> Iterator[Hunk]:
    last: Hunk | None = None
    for hunk in found:
        if last is not None and (last.end, last.new_end) == (hunk.start, hunk.new_start):
            last = Hunk(last.start, hunk.end, last.new_start, hunk.new_end)
            continue
        if last is not None:
            yield last
        last = hunk
    if last is not None:
        yield last


# ---- edits


def _is_line_by_line(old: Sequence[str], hunk: Hunk) -> bool:
    if not 1 < hunk.end - hunk.start == hunk.new_end - hunk.new_start <= _MOST_LINES:
        return False
    # Emptied behind a lone CR, a line's LF would become one ending with it before its turn comes.
    return not any(line.endswith("\r") for line in old[hunk.start : hunk.end])


def _by_line(old: Sequence[str], new: Sequence[str], hunk: Hunk) -> Iterator[TextEdit]:
    for place, new_place in zip(
        range(hunk.start, hunk.end), range(hunk.new_start, hunk.new_end), strict=True
    ):
        if old[place] != new[new_place]:
            yield _edit(old[place], new[new_place], place, from_end=False)


def _edit(old: str, new: str, line: int, *, from_end: bool) -> TextEdit:
    """The edit without the equal ends; with `from_end` the later end is cut off first."""
    shorter = min(len(old), len(new))
    tail = _suffix(old, new, shorter) if from_end else 0
    head = common_prefix(old[: shorter - tail], new[: shorter - tail])
    # A place between CR and LF can't be named to an editor.
    if old[head - 1 : head] == "\r" and "\n" in (old[head : head + 1], new[head : head + 1]):
        head -= 1
    tail = _suffix(old, new, shorter - head)
    start, end = _position(old, head, line), _position(old, len(old) - tail, line)
    return TextEdit(Range(start, end), new[head : len(new) - tail])


def _suffix(old: str, new: str, limit: int) -> int:
    tail = common_suffix(old, new, limit)
    begins_inside = tail and old[len(old) - tail] == "\n"
    before = (old[: len(old) - tail][-1:], new[: len(new) - tail][-1:])
    return tail - 1 if begins_inside and "\r" in before else tail


def _position(text: str, offset: int, line: int) -> Position:
    """Where an offset is, in a text that begins with that line."""
    starts = [0, *accumulate(len(part) for part in split_lines(text))]
    if not text.endswith(("\n", "\r")):
        starts.pop()
    index = max(0, bisect.bisect_right(starts, offset) - 1)
    return Position(line + index, offset - (starts[index] if starts else 0))


# ---- the unified form


def _groups(changes: Sequence[Hunk], context: int) -> Iterator[list[Hunk]]:
    group: list[Hunk] = []
    for hunk in changes:
        if group and hunk.start - group[-1].end > 2 * context:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def _block(
    old: Sequence[str], new: Sequence[str], group: Sequence[Hunk], context: int
) -> Iterator[str]:
    start = max(0, group[0].start - context)
    end = min(len(old), group[-1].end + context)
    new_start = group[0].new_start - (group[0].start - start)
    new_end = group[-1].new_end + (end - group[-1].end)
    yield f"@@ -{_span(start, end)} +{_span(new_start, new_end)} @@\n"
    place = start
    for hunk in group:
        yield from (_row(" ", line) for line in old[place : hunk.start])
        yield from (_row("-", line) for line in old[hunk.start : hunk.end])
        yield from (_row("+", line) for line in new[hunk.new_start : hunk.new_end])
        place = hunk.end
    yield from (_row(" ", line) for line in old[place:end])


def _span(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _row(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return sign + line
    # A lone CR ends a line of the text, but not of a diff.
    return f"{sign}{line}\n" + ("" if line.endswith("\r") else "\\ No newline at end of file\n")
