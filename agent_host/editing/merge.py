"""Two changes of one text made one, when they are apart. Pure."""

from agent_host.editing.diff import hunks
from agent_host.editing.text import split_lines


def merged(base: str, ours: str, theirs: str) -> str | None:
    """`base` with both changes, None when they touch the same or neighbouring lines."""
    old, our_lines, their_lines = split_lines(base), split_lines(ours), split_lines(theirs)
    changes = [(h, our_lines) for h in hunks(old, our_lines)]
    changes += [(h, their_lines) for h in hunks(old, their_lines)]
    changes.sort(key=lambda change: (change[0].start, change[0].end))
    parts: list[str] = []
    done = 0
    last_owner = None
    for hunk, owner in changes:
        touches = hunk.start <= done and last_owner is not None and last_owner is not owner
        if touches or hunk.start < done:
            return None
        parts.extend(old[done : hunk.start])
        parts.extend(owner[hunk.new_start : hunk.new_end])
        done, last_owner = hunk.end, owner
    parts.extend(old[done:])
    return "".join(parts)
