"""Results that are too long for a model: it gets head and tail, and can read on in the rest.

What is left out is always said, and how to get it. Not here: where the whole is kept (a port).
"""

from dataclasses import dataclass, replace
from typing import Protocol

from agent_host.core.actions import Action, ReadFile
from agent_host.core.errors import ActionFailed
from agent_host.core.model import ToolResult

LONGEST = 64 * 1024
"""Characters of a result that a model is given as it is."""
LONG = 16 * 1024
"""Longer ones are kept too: a compaction may cut them, and then they can be read again."""
HEAD, TAIL = 24 * 1024, 8 * 1024
PAGE = 32 * 1024
"""Characters of a long result that are read at once."""
MOST_LINES = 2000
LINE = 2000
"""Longer lines of a long result are read in pieces of so many characters, each a line."""
REFERENCE = "result:"


class KeepResults(Protocol):
    """Keeps long results of a session."""

    async def keep(self, session_id: str, text: str) -> str | None:
        """Keep a text; returns its id, None if it could not be kept."""
        ...

    async def read(self, session_id: str, result_id: str) -> str:
        """A text that was kept. Raises ActionFailed."""
        ...


def is_reference(action: Action) -> bool:
    """Whether a long result is to be read, and no file."""
    return isinstance(action, ReadFile) and action.path.startswith(REFERENCE)


@dataclass(frozen=True, slots=True)
class LongResults:
    """The long results of all sessions."""

    files: KeepResults

    async def shortened(self, session_id: str, action: Action, result: ToolResult) -> ToolResult:
        """The result as the model gets it."""
        size = len(result.text)
        if isinstance(action, ReadFile) and size > LONGEST:
            return replace(result, text=_first_lines(result.text, action.offset))
        if size <= LONG or isinstance(action, ReadFile):
            return result
        result_id = await self.files.keep(session_id, result.text)
        if size <= LONGEST:
            return result if result_id is None else replace(result, text=_kept(result, result_id))
        left = len(result.text) - HEAD - TAIL
        how = (
            f'read on with fs_read, path "{REFERENCE}{result_id}"'
            if result_id is not None
            else "they could not be kept"
        )
        told = f"\n[{left} characters are left out here; {how}.]\n"
        return replace(result, text=result.text[:HEAD] + told + result.text[-TAIL:])

    async def read(self, session_id: str, action: ReadFile) -> ToolResult:
        """A part of a long result, by lines. Raises ActionFailed."""
        text = await self.files.read(session_id, action.path.removeprefix(REFERENCE))
        lines = [piece for line in text.split("\n") for piece in _pieces(line)]
        if action.offset > len(lines):
            raise ActionFailed("invalid", f"The result has only {len(lines)} lines.")
        shown: list[str] = []
        room = PAGE
        for number in range(action.offset, len(lines) + 1):
            line = f"{number}\t{lines[number - 1]}"
            room -= len(line)
            if room < 0 or len(shown) == min(action.limit or MOST_LINES, MOST_LINES):
                break
            shown.append(line)
        last = action.offset + len(shown) - 1
        if last < len(lines):
            shown.append(f"[Lines {last + 1} to {len(lines)} are left out; read them with offset.]")
        return ToolResult("ok", "\n".join(shown), f"Read on in a long result, {len(lines)} lines")


def _kept(result: ToolResult, result_id: str) -> str:
    return f'{result.text}\n[This is kept: fs_read, path "{REFERENCE}{result_id}", reads it again.]'


def _pieces(line: str) -> list[str]:
    return [line[at : at + LINE] for at in range(0, max(len(line), 1), LINE)]


def _first_lines(text: str, offset: int) -> str:
    """The first lines of a file's text; the rest can be read from the file itself."""
    kept = text[:LONGEST]
    whole_lines = kept.rfind("\n")
    if whole_lines < 0:
        left = len(text) - LONGEST
        return f"{kept}\n[{left} more characters are left out: the line is too long to be shown.]"
    kept = kept[:whole_lines]
    following = offset + kept.count("\n") + 1
    return f"{kept}\n[The rest is left out: it is too long; go on with offset {following}.]"
