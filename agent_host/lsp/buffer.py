"""One text as lines, changed in place and addressed in any of LSP's position encodings.

Invariant: the lines joined are the text, each but the last ends with CRLF, LF or CR, the last
with nothing. A keystroke costs one line, not the text.
"""

from agent_host.core.document import Position
from agent_host.editing.text import ending_of, split_lines
from agent_host.lsp.host import PositionEncoding


class Buffer:
    """A mutable text. The wire's positions count in `encoding` units, the core's in code points."""

    def __init__(self, text: str = "") -> None:
        self._lines = _lines_of(text)
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The whole text; joined when asked for after a change."""
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def line_count(self) -> int:
        """The number of lines, the one after the last ending included."""
        return len(self._lines)

    def line(self, number: int) -> str:
        """A line with its ending, "" for one that is not there."""
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    def replace(self, start: Position, end: Position, text: str) -> None:
        """Replace what is between two positions in code points; both must exist."""
        first, last = start.line, end.line
        before = self._lines[first][: start.character]
        after = self._lines[last][end.character :]
        # A line feed put right after a lone CR makes one ending of both.
        if not before and first > 0 and self._lines[first - 1].endswith("\r"):
            first -= 1
            before = self._lines[first]
        self._text = None
        joined = _paired(before + text + after)
        new = _lines_of(joined)
        if last < len(self._lines) - 1 and new[-1] == "":
            new.pop()
        self._lines[first : last + 1] = new

    def from_wire(self, position: Position, encoding: PositionEncoding) -> Position:
        """A position of the wire in code points, clamped to what exists."""
        line, character = position.line, position.character
        if line < 0:
            return Position(0, 0)
        if line >= len(self._lines):
            return Position(len(self._lines) - 1, len(self._lines[-1]))
        content = self._lines[line]
        length = len(content) - len(ending_of(content))
        return Position(line, min(length, _to_points(content, max(0, character), encoding)))

    def on_a_line(self, position: Position) -> Position:
        """The same or the last position on a line that every editor has.

        What comes after the last line ending is no line in some (Neovim).
        """
        last = len(self._lines) - 1
        if last > 0 and not self._lines[last]:
            last -= 1
        if position.line <= last:
            return position
        content = self._lines[last]
        return Position(last, len(content) - len(ending_of(content)))

    def to_wire(self, position: Position, encoding: PositionEncoding) -> Position:
        """A position in code points as the wire counts it."""
        line = self._lines[min(position.line, len(self._lines) - 1)]
        return Position(position.line, _to_units(line, position.character, encoding))


def _lines_of(text: str) -> list[str]:
    lines = split_lines(text)
    if not lines or ending_of(lines[-1]):
        lines.append("")
    return lines


def _paired(text: str) -> str:
    """The text with halves of a surrogate pair that came one after the other made one character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _to_points(line: str, units: int, encoding: PositionEncoding) -> int:
    """How many code points the first `units` are; inside of one counts as before it."""
    if encoding == "utf-32" or line.isascii():
        return units
    if encoding == "utf-8":
        data = line.encode("utf-8", "surrogatepass")
        if units >= len(data):
            return len(line)
        while units and data[units] & 0xC0 == 0x80:
            units -= 1
        return len(data[:units].decode("utf-8", "surrogatepass"))
    data = line.encode("utf-16-le", "surrogatepass")
    if 2 * units >= len(data):
        return len(line)
    if units and _is_low(data, units) and _is_high(data, units - 1):
        units -= 1
    return len(data[: 2 * units].decode("utf-16-le", "surrogatepass"))


def _to_units(line: str, points: int, encoding: PositionEncoding) -> int:
    if encoding == "utf-32" or line.isascii():
        return points
    if encoding == "utf-8":
        return len(line[:points].encode("utf-8", "surrogatepass"))
    return len(line[:points].encode("utf-16-le", "surrogatepass")) // 2


def _is_high(data: bytes, unit: int) -> bool:
    return data[2 * unit + 1] & 0xFC == 0xD8


def _is_low(data: bytes, unit: int) -> bool:
    return data[2 * unit + 1] & 0xFC == 0xDC
