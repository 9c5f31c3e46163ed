"""One run of ripgrep: bounded in time, ended with its job, started in a folder held open."""

import os
import re
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence

from agent_host.action_server.failure import Failure
from agent_host.action_wire import Lines, WireError

_FIXED = (
    "--no-config",
    "--no-follow",
    "--no-messages",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--color=never",
)
_STDERR = 4096
_SPECIAL = re.compile(r"[][*?{}!\\]")


class Job:
    """One file call at work; cancelling it ends the programs that it runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._processes: set[subprocess.Popen[bytes]] = set()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for process in self._processes:
                process.kill()

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.add(process)
            if self._cancelled:
                process.kill()

    def end(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)

    @property
    def cancelled(self) -> bool:
        return self._cancelled


def leaving_out(places: Sequence[str]) -> list[str]:
    """The options that keep it out of directories, given relative to where it starts."""
    return [f"--glob=!/{_SPECIAL.sub(_quoted, place)}" for place in places]


def _quoted(found: re.Match[str]) -> str:
    return "\\" + found[0]


class Ripgrep:
    """`timed_out` and `complaint` (stderr) are known once `lines` has ended."""

    def __init__(self, program: str | None, job: Job, deadline: float) -> None:
        """`deadline` by time.monotonic."""
        if program is None:
            raise Failure("unavailable", "ripgrep is not installed beside this program")
        self._program = program
        self._job = job
        self._deadline = deadline
        self.timed_out = False
        self.complaint = ""

    def lines(
        self, arguments: Sequence[str], folder: int, stdin: int | None = None
    ) -> Iterator[bytes]:
        """What it prints, line by line. `folder` is where it starts, a directory descriptor."""
        errors = os.memfd_create("stderr") if sys.platform == "linux" else os.dup(2)
        process = subprocess.Popen(
            [self._program, *_FIXED, *arguments],
            cwd=folder_path(folder),
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={},
        )
        self._job.begin(process)
        try:
            yield from self._read(process)
        finally:
            self._job.end(process)
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
            self.complaint = _text(errors)
            os.close(errors)
        if self._job.cancelled:
            raise Failure("timeout", "it was stopped")

    def _read(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        if process.stdout is None:
            return
        framing = Lines()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                left = self._deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self.timed_out = True
                    return
                data = os.read(process.stdout.fileno(), 256 * 1024)
                if not data:
                    return
                try:
                    yield from framing.feed(data)
                except WireError:
                    self.timed_out = True
                    return


def folder_path(folder: int) -> str:
    """A path that leads to an open directory whatever it is called by now (on Linux)."""
    if sys.platform == "linux":
        return f"/proc/self/fd/{folder}"
    import fcntl

    return fcntl.fcntl(folder, 50, b"\0" * 1024).rstrip(b"\0").decode()  # F_GETPATH of macOS


def _text(descriptor: int) -> str:
    try:
        return os.pread(descriptor, _STDERR, 0).decode("utf-8", "replace")
    except OSError:
        return ""
