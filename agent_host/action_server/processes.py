"""Who descends from whom, asked of /proc process by process. Empty answers where there is none."""

import os
from collections import deque
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The processes below `pid`, parents before children, zombies among them.

    One that forks meanwhile may be missed: who must know all asks again until nobody is left.
    """
    found = {pid: None}
    waiting = deque(found)
    while waiting:
        below = [child for child in _children(waiting.popleft()) if child not in found]
        found.update(dict.fromkeys(below))
        waiting.extend(below)
    return list(found)[1:]


def _children(pid: int) -> list[int]:
    # Children belong to the thread that made them.
    out: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii")
            out += map(int, children.split())
    except OSError:
        return out
    return out
