"""A program on a terminal of its own, typed to as a person would."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

WAIT = 40.0
KEYS = {
    "<CR>": "\r",
    "<Esc>": "\x1b",
    "<M-x>": "\x1bx",
    "<M->>": "\x1b>",
    "<C-_>": "\x1f",
    **{f"<C-{letter}>": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
}


class Terminal:
    """`output` is all that the program has written; `seen` tells what a failure shows."""

    def __init__(self, argv: Sequence[str | Path], *, env: dict[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.output = bytearray()
        self._process = subprocess.Popen(
            argv,
            env=env | {"TERM": "xterm-256color"},
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._drain)
        self._reader.start()

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._master)

    def keys(self, keys: str) -> None:
        """Type; `<CR>` is Return, `<M-x>` begins a command, `<C-g>` quits."""
        for name, sent in KEYS.items():
            keys = keys.replace(name, sent)
        os.write(self._master, keys.encode())

    def wait(self, is_true: Callable[[], object], what: str) -> None:
        """Look again and again until it is true."""
        deadline = time.monotonic() + WAIT
        while not is_true():
            assert time.monotonic() < deadline, f"{what} never happened:\n{self.seen()}"
            select.select([], [], [], 0.05)

    def seen(self) -> str:
        """What was drawn last."""
        return self.output.decode(errors="replace")[-2000:]

    def _drain(self) -> None:
        try:
            while data := os.read(self._master, 65536):
                self.output += data
        except OSError:
            return  # the terminal is gone with the program
