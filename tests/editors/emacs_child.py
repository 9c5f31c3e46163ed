"""A real Emacs on a terminal, driven by keys as a person would; looked at by emacsclient."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.editors.terminal import WAIT, Terminal


class Emacs(Terminal):
    """`keys` are typed; `lisp` looks at what is there. Nothing but keys changes anything."""

    def __init__(self, init: Path, file: Path, *, env: dict[str, str], folder: Path) -> None:
        self._client = ["emacsclient", "--socket-name", str(folder / "emacs"), "--eval"]
        self._env = env
        start = f'(progn (setq server-socket-dir "{folder}" server-name "emacs") (server-start))'
        argv = ["emacs", "-nw", "-Q", "-l", init, "--eval", start, file]
        super().__init__(argv, env=env, cwd=file.parent)
        socket = folder / "emacs"
        self.wait(lambda: socket.exists() and self.lisp("t"), "Emacs's start")

    def __enter__(self) -> "Emacs":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lisp(self, form: str) -> Any:
        """The value of a form, by JSON; nil is None and t is True."""
        here = f"(with-current-buffer (window-buffer (selected-window)) {form})"
        told = f"(json-serialize (vector {here}) :null-object nil :false-object :false)"
        code = f"(base64-encode-string {told} t)"
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

    def said(self) -> str:
        """Its messages."""
        return self.lisp('(with-current-buffer "*Messages*" (buffer-string))')

    def seen(self) -> str:
        """What is shown."""
        try:
            return f"{self.said()}\n{self.minibuffer()}\n{self.lisp('(buffer-string)')}"
        except LookupError:
            return super().seen()
