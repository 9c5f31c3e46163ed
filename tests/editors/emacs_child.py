"""A real Emacs on a terminal, driven by keys as a person would; looked at by emacsclient."""

import base64
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAIT = 40.0
KEYS = {
    "<CR>": "\r",
    "<M-x>": "\x1bx",
    "<M->>": "\x1b>",
    "<C-_>": "\x1f",
    **{f"<C-{letter}>": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
}


class Emacs:
    """`keys` are typed; `lisp` looks at what is there. Nothing but keys changes anything."""

    def __init__(self, init: Path, file: Path, *, env: dict[str, str], folder: Path) -> None:
        self._client = ["emacsclient", "--socket-name", str(folder / "emacs"), "--eval"]
        self._env = env | {"TERM": "xterm-256color"}
        start = f'(progn (setq server-socket-dir "{folder}" server-name "emacs") (server-start))'
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.output = bytearray()
        self._process = subprocess.Popen(
            ["emacs", "-nw", "-Q", "-l", init, "--eval", start, file],
            env=self._env,
            cwd=file.parent,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._drain)
        self._reader.start()
        socket = folder / "emacs"
        self.wait(lambda: socket.exists() and self.lisp("t"), "Emacs's start")

    def __enter__(self) -> "Emacs":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._master)

    def keys(self, keys: str) -> None:
        """Type; `<CR>` is Return, `<M-x>` begins a command, `<C-g>` quits."""
        for name, sent in KEYS.items():
            keys = keys.replace(name, sent)
        os.write(self._master, keys.encode())

    def lisp(self, form: str) -> Any:
        """The value of a form, by JSON; nil is None and t is True."""
        code = (
            "(base64-encode-string (json-serialize (vector "
            f"(with-current-buffer (window-buffer (selected-window)) {form})) :null-object nil :false-object :false) t)"
        )
        done = subprocess.run(
            [*self._client, code],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )
        if done.returncode:
            raise LookupError(done.stderr)
        return json.loads(base64.b64decode(done.stdout))[0]

    def text(self, path: Path) -> str:
        """What the buffer of a file holds."""
        return self.lisp(
            f'(with-current-buffer (get-file-buffer "{path}") '
            "(buffer-substring-no-properties 1 (point-max)))"
        )

    def minibuffer(self) -> str:
        """What the person is asked there, and what is typed so far; "" if it is not in use."""
        return self.lisp(
            "(if (active-minibuffer-window) "
            "(with-current-buffer (window-buffer (minibuffer-window)) "
            '(buffer-substring-no-properties 1 (point-max))) "")'
        )

    def wait_minibuffer(self, words: str) -> str:
        """Wait until it asks with these words; all that it asks with."""
        self.wait(lambda: words in self.minibuffer(), f"{words!r} in the minibuffer")
        return self.minibuffer()

    def wait_text(self, path: Path, words: str) -> str:
        """Wait until the buffer holds these words; its text."""
        self.wait(lambda: words in self.text(path), f"{words!r} in {path.name}")
        return self.text(path)

    def wait(self, is_true: Callable[[], object], what: str) -> None:
        """Look again and again until it is true."""
        deadline = time.monotonic() + WAIT
        while not is_true():
            assert time.monotonic() < deadline, f"{what} never happened:\n{self._seen()}"
            select.select([], [], [], 0.05)

    def said(self) -> str:
        """Its messages."""
        return self.lisp('(with-current-buffer "*Messages*" (buffer-string))')

    def _seen(self) -> str:
        try:
            return f"{self.said()}\n{self.minibuffer()}\n{self.lisp('(buffer-string)')}"
        except LookupError:
            return self.output.decode(errors="replace")[-2000:]

    def _drain(self) -> None:
        try:
            while data := os.read(self._master, 65536):
                self.output += data
        except OSError:
            return  # the terminal is gone with Emacs
