"""Which process this is, and whether another one that wrote to the store is still alive.

A process is known to be gone only by its own machine (and its own view of processes); of all
others only the age of the last heartbeat tells.
"""

import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

LAPSE_SECONDS = 15.0
"""A host that was not heard of for this long has lost what it owned."""

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Host:
    """A process that uses the store. `place` names what its `pid` means something in.

    `started` tells the process from a later one of the same number; `heartbeat` is seconds since
    the epoch.
    """

    host_id: str
    place: str
    pid: int
    started: str
    heartbeat: float


def this_host(host_id: str, *, place: str | None = None) -> Host:
    """The host that this process is."""
    pid = os.getpid()
    return Host(host_id, place or _place(), pid, _started(pid) or "", 0.0)


def is_alive(host: Host, here: str, now: float) -> bool:
    """Whether `host` must be taken for alive at the place `here` at the time `now`."""
    if now - host.heartbeat > LAPSE_SECONDS:
        return False
    return host.place != here or not _is_gone(host)


def _is_gone(host: Host) -> bool:
    if _PROC.joinpath("self").exists():
        return _started(host.pid) != host.started
    if os.name != "posix":
        return False
    try:
        os.kill(host.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _started(pid: int) -> str | None:
    """When a living process began, in the kernel's ticks; "" where that can't be told."""
    try:
        text = _PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, so count from its end.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _place() -> str:
    """The machine, since its last start, and the container: where process numbers are unique."""
    parts = [socket.gethostname()]
    for name in ("sys/kernel/random/boot_id", "self/ns/pid"):
        path = _PROC / name
        try:
            parts.append(str(path.readlink()) if name.endswith("pid") else path.read_text("utf-8"))
        except OSError:
            parts.append("")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
