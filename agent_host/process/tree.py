"""All live processes of a child's tree, those that left it by daemonising included, from /proc."""

import os
from dataclasses import dataclass

TREE_VARIABLE = "AGENT_HOST_TREE"
"""Marks every process of a tree in its environment, so that those that left it are found."""


def tree(pid: int, mark: str) -> set[int]:
    """The live processes of a tree.

    Those are: `pid`, its descendants, members of its session, and whoever carries `mark` in its
    environment. Empty where there is no /proc.
    """
    alive = {each.pid: each for each in map(_read_process, _pids()) if each is not None}
    found = {pid} | {each.pid for each in alive.values() if each.session == pid}
    while more := {each.pid for each in alive.values() if each.parent in found} - found:
        found |= more
    # A process older than the root can't come from it, which spares most of the reading.
    since = alive[pid].started if pid in alive else 0
    wanted = f"{TREE_VARIABLE}={mark}".encode()
    for each in alive.values():
        if each.started >= since and each.pid not in found and _marked(each.pid, wanted):
            found.add(each.pid)
    return (found & alive.keys()) - {os.getpid()}


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    session: int
    started: int


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return []


def _read_process(pid: int) -> _Process | None:
    # The name in parentheses may itself hold parentheses and blanks.
    fields = _read(f"/proc/{pid}/stat", 4096).rpartition(b")")[2].split()
    # A "zombie" with threads is alive: only its first thread has ended.
    if not fields or (fields[0] in (b"Z", b"X") and int(fields[17]) < 2):
        return None
    return _Process(pid, int(fields[1]), int(fields[3]), int(fields[19]))


def _marked(pid: int, wanted: bytes) -> bool:
    return wanted in _read(f"/proc/{pid}/environ", 4 * 1024 * 1024).split(b"\0")


def _read(path: str, size: int) -> bytes:
    # There may be thousands of these to read at once: no buffers, no decoding.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, size)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
