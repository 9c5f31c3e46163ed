"""Whether an edit is in a text that somebody else may have changed at the same time. Pure."""

from collections.abc import Iterable, Sequence

from agent_host.editing.diff import hunks
from agent_host.editing.text import normalised, split_lines


def has_landed(before: str, after: str, now: str, *, apart: bool) -> bool:
    """Whether `now` is `after`, or `after` with changes elsewhere.

    `apart`: changes in touching lines count as doubt. That is for editors which apply an edit
    at its old place to a newer text: the line that it should have replaced is then still there,
    beside the new one.
    """
    if now == after:
        return True
    old, new = split_lines(before), split_lines(after)
    ours = [(h.new_start, h.new_end) for h in hunks(old, new)]
    theirs = [(h.start, h.end) for h in hunks(new, split_lines(now))]
    return bool(ours) and not _meet(ours, theirs, touching=apart)


def is_untouched(before: str, after: str, now: str, *, apart: bool) -> bool:
    """Whether `now` shows nothing of the edit: `before`, or `before` with changes elsewhere."""
    if now == before:
        return True
    old = split_lines(before)
    ours = [(h.start, h.end) for h in hunks(old, split_lines(after))]
    theirs = [(h.start, h.end) for h in hunks(old, split_lines(now))]
    return not _meet(ours, theirs, touching=apart)


def is_part(before: str, after: str, now: str) -> bool:
    """Whether `now` is `before` with some of the places changed that differ in `after`."""
    old, new, there = split_lines(before), split_lines(after), split_lines(now)
    whole = {(h.start, h.end, *new[h.new_start : h.new_end]) for h in hunks(old, new)}
    made = {(h.start, h.end, *there[h.new_start : h.new_end]) for h in hunks(old, there)}
    return bool(made) and made < whole


def is_same_but_for_endings(one: str, other: str) -> bool:
    """Whether only line endings or the final one differ, which editors keep their own way."""
    return normalised(one).removesuffix("\n") == normalised(other).removesuffix("\n")


def _meet(
    ours: Sequence[tuple[int, int]], theirs: Iterable[tuple[int, int]], *, touching: bool
) -> bool:
    # A range without lines (a deletion, an insertion) is a point: to touch it is to meet it.
    return any(
        start <= their_end and their_start <= end
        if touching or start == end or their_start == their_end
        else start < their_end and their_start < end
        for start, end in ours
        for their_start, their_end in theirs
    )
