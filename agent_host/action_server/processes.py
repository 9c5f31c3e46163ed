"""Who descends from whom, asked of /proc process by process. Empty answers where there is none."""

import os
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """The processes below `pid`, zombies among them.

    One that forks meanwhile may be missed: who must know all asks again until nobody is left.
    """
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


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
