"""Bytes to text and back, and lines: what must stay byte-identical around an edit.

Lines end with CRLF, LF or CR and with nothing else. Text that would not give its own bytes
back is refused. Not here: where an edit goes (locate.py).
"""

import codecs
import io
from dataclasses import dataclass
from typing import Literal

from agent_host.core.errors import ActionFailed

Ending = Literal["\n", "\r\n", "\r"]

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text without its byte order mark, and what it takes to write it back."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def encoded(self, text: str) -> bytes:
        """Other text in this file's encoding; raises ActionFailed `invalid` if it can't be."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            raise ActionFailed(
                "invalid", f"U+{code:04X} at character {error.start} can't be written as text"
            ) from None


def decode(data: bytes) -> FileText:
    """The text of a file's bytes; raises ActionFailed `binary` for what can't be given back."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _strictly(data[len(mark) :], encoding)
            if text is not None:
                return FileText(text, encoding, mark)
    if b"\0" in data:
        raise ActionFailed("binary", "this is a binary file: it holds zero bytes")
    try:
        return FileText(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ActionFailed(
            "binary",
            f"this is not UTF-8 text: byte 0x{data[error.start]:02X} at offset {error.start}",
        ) from None


def split_lines(text: str) -> list[str]:
    r"""The lines with their endings; only `\r\n`, `\n` and `\r` end a line."""
    return list(io.StringIO(text, newline=""))


def ending_of(line: str) -> str:
    """The ending of one line, "" when it has none."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1:] if line[-1:] in ("\n", "\r") else ""


def normalised(text: str) -> str:
    r"""The text with `\n` as its only line ending."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def endings(text: str) -> dict[Ending, int]:
    """How often each line ending occurs; those that don't are left out."""
    crlf = text.count("\r\n")
    counts: dict[Ending, int] = {
        "\n": text.count("\n") - crlf,
        "\r\n": crlf,
        "\r": text.count("\r") - crlf,
    }
    return {ending: count for ending, count in counts.items() if count}


def majority_ending(text: str) -> Ending:
    """The most frequent ending; LF when there is none, and when it is a draw with LF."""
    counts = endings(text)
    if not counts:
        return "\n"
    return max(counts, key=lambda ending: (counts[ending], ending == "\n"))


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return text if text.encode(encoding) == data else None
