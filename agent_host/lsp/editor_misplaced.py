"""Finds out what a person's text was before an edit hit it at a wrong place. Pure.

Some editors apply an edit to a newer text than it was made for, at the old places. What they
told afterwards is enough to take such an edit back without a loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_host.core.document import Position
from agent_host.editing.diff import text_edits
from agent_host.editing.merge import merged
from agent_host.lsp.buffer import Buffer
from agent_host.lsp.host import PositionEncoding


@dataclass(frozen=True, slots=True)
class WireEdit:
    """One change as it is sent; positions in the units of the editor's encoding."""

    start: Position
    end: Position
    text: str


def wire_edits(
    buffer: Buffer, before: str, after: str, encoding: PositionEncoding
) -> tuple[WireEdit, ...]:
    """The changes from `before`, which the buffer holds, to `after`."""
    return tuple(
        WireEdit(
            buffer.to_wire(edit.range.start, encoding),
            buffer.to_wire(edit.range.end, encoding),
            edit.text,
        )
        for edit in text_edits(before, after)
    )


def text_without(
    states: Sequence[str], edits: Sequence[WireEdit], encoding: PositionEncoding
) -> str | None:
    """The latest text as it would be without the edit, None if that can't be known.

    `states` are the text that the edit was made for, and what the editor told after that. The
    edit is found if it was told as a step of its own, and not in one with what was typed.
    """
    for index, state in enumerate(states[:-1]):
        made = _hit(state, edits, encoding)
        if made != state and made in states[index + 1 :]:
            return merged(base=made, ours=state, theirs=states[-1])
    return None


def _hit(text: str, edits: Sequence[WireEdit], encoding: PositionEncoding) -> str:
    """What an editor makes of the edits in a text that they were not made for."""
    buffer = Buffer(text)
    for edit in reversed(edits):
        start, end = buffer.from_wire(edit.start, encoding), buffer.from_wire(edit.end, encoding)
        buffer.replace(start, end, edit.text)
    return buffer.text
