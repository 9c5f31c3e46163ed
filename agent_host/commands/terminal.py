"""A terminal: safe text, color where it is wanted, and lines that are typed.

What a model or a command wrote can't move the cursor or change colors here. Waiting for a line can
be cancelled. Not here: what is shown (view.py), what is asked (asking.py).
"""

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from typing import TextIO

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def printable(text: str) -> str:
    """The text with each control character but newline and tab spelled out."""
    return _CONTROLS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n"))


class Screen:
    """An output stream; knows whether it has color and whether a line is open."""

    def __init__(self, stream: TextIO, *, color: bool) -> None:
        self._stream = stream
        self._color = color
        self._open = False

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str]) -> "Screen":
        """Color only on a terminal, and not if NO_COLOR is set."""
        color = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        return cls(stream, color=color)

    @property
    def color(self) -> bool:
        return self._color

    def write(self, text: str, style: str | None = None) -> None:
        """More text as it comes, controls made visible."""
        if not text:
            return
        safe = printable(text)
        painted = f"\x1b[{_STYLES[style]}m{safe}\x1b[0m" if style and self._color else safe
        self._stream.write(painted)
        self._stream.flush()
        self._open = not safe.endswith("\n")

    def line(self, text: str = "", style: str | None = None) -> None:
        """A line of its own."""
        self.end_line()
        self.write(text, style)
        self._stream.write("\n")
        self._stream.flush()
        self._open = False

    def end_line(self) -> None:
        """Begin a new line unless at the beginning of one."""
        if self._open:
            self._stream.write("\n")
            self._open = False


class Keyboard:
    """Lines of stdin. `attached`: a person can type there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._typed = b""
        self._ended = False

    @property
    def attached(self) -> bool:
        return self._stream.isatty()

    def forget(self) -> None:
        """Drop what was typed before it was asked for, so that it can't be an answer."""
        if not self.attached:
            return
        self._typed = b""
        try:
            import termios
        except ImportError:
            return
        termios.tcflush(self._stream, termios.TCIFLUSH)

    async def line(self) -> str | None:
        """The next line without its end; None at the end of the input."""
        while b"\n" not in self._typed and not self._ended:
            chunk = await self._chunk()
            self._typed += chunk
            self._ended = not chunk
        if not self._typed:
            return None
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        fd = self._stream.fileno()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(fd, _settle, ready)
        except (PermissionError, NotImplementedError):
            # A regular file (always ready), or a platform that can't watch a console.
            return await asyncio.to_thread(os.read, fd, 4096)
        try:
            await ready
        finally:
            loop.remove_reader(fd)
        return os.read(fd, 4096)


def screen_and_side(environ: Mapping[str, str]) -> tuple[Screen, Screen]:
    """Stdout for what is asked for, stderr for what happens beside it."""
    return Screen.of(sys.stdout, environ), Screen.of(sys.stderr, environ)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
