"""The process tree below a host, read from /proc; ends are waited for with pidfds, never polled."""

import os
import select
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process as it was seen; `started` tells it from a later one with the same pid."""

    pid: int
    started: str
    command: str = field(compare=False)


def descendants(root: int) -> list[Process]:
    """All living processes below `root`, nearest first, without itself."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found: list[Process] = []
    queue = list(children.get(root, ()))
    while queue:
        pid = queue.pop(0)
        if process := _process(pid):
            found.append(process)
        queue += children.get(pid, ())
    return found


def with_command(marker: str) -> list[Process]:
    """All living processes whose command line holds `marker`, whoever their parent is."""
    found: list[Process] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            process = _process(int(entry.name))
            if process and marker in process.command:
                found.append(process)
    return found


def wait_gone(processes: list[Process], seconds: float) -> list[Process]:
    """Wait until all have ended; returns those that are still alive after `seconds`."""
    deadline = time.monotonic() + seconds
    return [process for process in processes if not _ended(process, deadline)]


def _ended(process: Process, deadline: float) -> bool:
    try:
        pidfd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        if _process(process.pid) != process:
            return True
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
    finally:
        os.close(pidfd)


def _process(pid: int) -> Process | None:
    """A living process; zombies have ended."""
    stat = _stat(pid)
    if stat is None or stat[0] in "ZX":
        return None
    try:
        command = (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return None
    return Process(pid, stat[19], command)


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on (state, ppid, ...)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()
