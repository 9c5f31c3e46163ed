"""What a sidecar is told: lines of JSON from stdin, read on a thread, checked one by one.

A line that is too long is one bad message, and what follows it is read as if nothing had happened.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import BinaryIO, cast

MAX_LINE = 16 * 1024 * 1024
"""Bytes."""
END, TOO_LONG = b"", b"\n\n"

Message = Mapping[str, object]


class Wrong(Exception):
    """A message that can't be followed."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


def decoded(line: bytes) -> Message:
    """The object in a line. Raises Wrong."""
    if line == TOO_LONG:
        raise Wrong("too_long", f"A line was longer than {MAX_LINE} bytes, and was passed over.")
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        raise Wrong("invalid_json", "A line was no JSON.") from None
    if not isinstance(found, dict):
        raise Wrong("invalid_message", "A line was JSON, but no object.")
    return cast("Message", found)


def text(message: Message, key: str, default: str | None = None) -> str:
    """A field that is a text, and not empty unless there is a default. Raises Wrong."""
    value = message.get(key) or default
    if not isinstance(value, str):
        raise Wrong("invalid_message", f"`{key}` must be a text.")
    if "\0" in value:
        raise Wrong("invalid_message", f"`{key}` must not hold a NUL.")
    return value


def read(loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[bytes]") -> None:
    """Queue the lines of stdin until it ends, which is END; blocks."""
    source = sys.stdin.buffer
    while line := source.readline(MAX_LINE):
        if not line.endswith(b"\n") and len(line) == MAX_LINE:
            _skip_line(source)
            line = TOO_LONG
        if line.strip() or line == TOO_LONG:
            loop.call_soon_threadsafe(lines.put_nowait, line)
    loop.call_soon_threadsafe(lines.put_nowait, END)


def _skip_line(source: BinaryIO) -> None:
    while (more := source.readline(MAX_LINE)) and not more.endswith(b"\n"):
        pass
