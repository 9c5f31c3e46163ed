"""Small text files of people, read whole or up to a stated size, or a reason why not.

A file is read by its true path, without following a link that was put there meanwhile.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MayRead = Callable[[str], str | None]
"""Why a true path must not be read; None if it may."""


class Unreadable(Exception):
    """The file can't be used; `line` counts from 1."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file; `omitted` counts the bytes that are not in it."""

    text: str
    omitted: int


def read_text(path: Path, most: int, may_read: MayRead) -> FileText | None:
    """The file's text, at most `most` bytes of it; None if there is none. Raises Unreadable."""
    try:
        true_path = os.path.realpath(path, strict=True)
        if (why := may_read(true_path)) is not None:
            raise Unreadable(f"It is not read: {why}.")
        return _read(true_path, most)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "unknown reason"
        raise Unreadable(f"It can't be read: {reason}.") from error


def _read(true_path: str, most: int) -> FileText:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(true_path, flags | getattr(os, "O_CLOEXEC", 0)), "rb") as file:  # noqa: PTH123 - a descriptor
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("It is no regular file.")
        data = file.read(most + 1)
    if len(data) <= most:
        return FileText(_decoded(data), 0)
    # Cut at the end of a line, so that no half of a sentence or of a character is left.
    kept = data[: data.rfind(b"\n", 0, most) + 1] or data[:most]
    return FileText(_decoded(kept, cut=True), max(found.st_size, len(data)) - len(kept))


def _decoded(data: bytes, *, cut: bool = False) -> str:
    try:
        text = data.decode("utf-8-sig", "ignore" if cut else "strict")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable("The file is not UTF-8.", line) from error
    return text.replace("\r\n", "\n")
