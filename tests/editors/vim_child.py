"""A real Vim on a terminal, driven by keys as a person would; looked at over a channel."""

import json
import socket
from pathlib import Path
from typing import Any

from tests.editors.terminal import WAIT, Terminal


class Vim(Terminal):
    """`keys` are typed; `look` evaluates an expression. Nothing but keys changes anything."""

    def __init__(self, init: Path, file: Path, *, env: dict[str, str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(WAIT)
            opening = f"let g:looked_at = ch_open('127.0.0.1:{server.getsockname()[1]}')"
            super().__init__(["vim", "-u", init, "-c", opening, file], env=env, cwd=file.parent)
            self._channel, _ = server.accept()
        self._channel.settimeout(WAIT)

    def __enter__(self) -> "Vim":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._channel.close()

    def look(self, expression: str) -> Any:
        """The value of an expression."""
        self._channel.sendall(json.dumps(["expr", expression, -1]).encode())
        answer = b""
        while not answer.endswith(b"]\n"):
            more = self._channel.recv(65536)
            assert more, f"Vim has gone:\n{self.seen()}"
            answer += more
        return json.loads(answer)[1]

    def text(self, path: Path) -> str:
        """What the buffer of a file holds."""
        return "\n".join(self.look(f"getbufline('{path.name}', 1, '$')"))

    def wait_text(self, path: Path, words: str) -> str:
        """Wait until the buffer holds these words; its text."""
        self.wait(lambda: words in self.text(path), f"{words!r} in {path.name}")
        return self.text(path)
