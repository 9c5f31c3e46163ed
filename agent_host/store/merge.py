"""Deltas as rows: consecutive texts of one origin become one row, up to a size. Pure.

A row that is full or was followed by something else never changes again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from agent_host.core.events import Delta, NumberedDelta, Reasoning, Text, ToolOutput
from agent_host.core.model import Origin
from agent_host.store import codec

ROW_CHARACTERS = 16_384
"""A text row is not added to beyond this; each batch rewrites the row that it adds to."""

SIZES = "sizes"
"""The key of `Row.sizes` in a row's body, beside the delta's own."""

Mergeable = Text | Reasoning | ToolOutput


@dataclass(frozen=True, slots=True)
class Row:
    """One row of events; `stored` when the table has an earlier state of it.

    `sizes` are the characters of each delta that was merged into it, so that whoever has read some
    of them can go on after those.
    """

    seq: int
    through: int
    at: float
    origin: Origin
    delta: Delta
    stored: bool = False
    sizes: tuple[int, ...] = ()

    def values(self, run_id: str) -> dict[str, object]:
        """The row's columns."""
        return {
            "run_id": run_id,
            "seq": self.seq,
            "through": self.through,
            "kind": codec.delta_kind(self.delta),
            "at": self.at,
            "origin": codec.encode(self.origin),
            "body": self._body(),
        }

    def _body(self) -> str:
        body = codec.encode(self.delta)
        if len(self.sizes) < 2:
            return body
        return f'{body[:-1]},"{SIZES}":{codec.dumps(self.sizes)}}}'


def merged(
    last: Row | None,
    deltas: Iterable[tuple[NumberedDelta, float]],
    *,
    most: int = ROW_CHARACTERS,
) -> list[Row]:
    """The rows to write for `deltas` of one run, given the `last` row written so far.

    The first of them may be `last` grown. Times are those at which the deltas were made. `most` is
    how many characters a row is filled up to.
    """
    rows: list[Row] = []
    growing = _Growing(last, most) if last is not None else None
    for numbered, at in deltas:
        if growing is not None and growing.takes(numbered):
            growing.add(numbered)
            continue
        if growing is not None and growing.changed:
            rows.append(growing.row())
        row = Row(numbered.seq, numbered.seq, at, numbered.origin, numbered.delta)
        growing = _Growing(row, most, changed=True)
    if growing is not None and growing.changed:
        rows.append(growing.row())
    return rows


class _Growing:
    """A row that may still be added to; its parts are joined once."""

    def __init__(self, row: Row, most: int, *, changed: bool = False) -> None:
        self.changed = changed
        self._most = most
        self._row = row
        self._through = row.through
        self._parts: list[str] = []
        self._size = len(row.delta.text) if isinstance(row.delta, Mergeable) else 0
        self._sizes = list(row.sizes) or [self._size]

    def takes(self, numbered: NumberedDelta) -> bool:
        row, delta = self._row, numbered.delta
        if not isinstance(row.delta, Mergeable) or not isinstance(delta, Mergeable):
            return False
        fits = self._size + len(delta.text) <= self._most
        follows = numbered.seq == self._through + 1 and numbered.origin == row.origin
        return fits and follows and replace(delta, text="") == replace(row.delta, text="")

    def add(self, numbered: NumberedDelta) -> None:
        if isinstance(numbered.delta, Mergeable):
            self._parts.append(numbered.delta.text)
            self._size += len(numbered.delta.text)
            self._sizes.append(len(numbered.delta.text))
            self._through = numbered.seq
            self.changed = True

    def row(self) -> Row:
        if not self._parts or not isinstance(self._row.delta, Mergeable):
            return self._row
        text = "".join([self._row.delta.text, *self._parts])
        delta = replace(self._row.delta, text=text)
        return replace(self._row, through=self._through, delta=delta, sizes=tuple(self._sizes))
