"""The editor's text as the core sees it. Positions count from 0, columns count code points."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Position:
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    start: Position
    end: Position


# ---- the editor's text


@dataclass(frozen=True, slots=True)
class Document:
    """An open document as the editor last told it; `path` is None for untitled ones.

    `doubtful`: what the editor told does not fit together, so `text` may be wrong. `true_path`:
    where its links lead, None for the path itself.
    """

    uri: str
    path: str | None
    version: int
    text: str
    language_id: str
    doubtful: bool = False
    true_path: str | None = None


@dataclass(frozen=True, slots=True)
class BufferEdit:
    """One undo step: the document must hold `before` now and holds `after` then.

    Some editors say each `label` aloud; "" is said by none. `confirm`: the editor is to show it
    first, and the person accepts it place by place.
    """

    uri: str
    before: str
    after: str
    label: str
    confirm: bool = False


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """`applied` was verified; `stale`: the text is not `before` any more; `refused`: not applied.

    `text` is what the document holds now, as far as the host knows. `part` and `discarded` are of
    an edit to confirm: a person accepted some of its places, or none. `may_come`: a refused edit
    may still be made, or be made already without the editor telling of it.
    """

    status: Literal["applied", "part", "discarded", "stale", "refused"]
    text: str
    reason: str | None = None
    may_come: bool = False
