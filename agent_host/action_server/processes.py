"""Who descends from whom, read from /proc. Empty answers where there is none."""

import os
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """The live processes below `pid`, itself and zombies left out."""
    parents = dict(_parents())
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def _parents() -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return out
    for name in names:
        if not name.isdecimal():
            continue
        try:
            stat = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The program's name in parentheses may itself hold parentheses and blanks.
        fields = stat.rpartition(")")[2].split()
        # A "zombie" with threads is alive: only its first thread has ended.
        if fields[0] not in ("Z", "X") or int(fields[17]) > 1:
            out.append((int(name), int(fields[1])))
    return out
