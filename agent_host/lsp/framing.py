"""Content-Length framing, pure: bytes in, message bodies and errors out, at any cut.

It forgives what real editors send, never holds more than the caps, and finds the way back after
every error. Standard library only and cheap to import: early.py needs it. Not here: JSON, I/O.
"""

MAX_BODY = 64 * 1024 * 1024
MAX_HEADER = 16 * 1024

_MAX_DIGITS = 18
_MAX_SKIP = 1024 * 1024 * 1024
_NAME = b"content-length:"
_TOKEN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")


class FrameError:
    """Why bytes could not be taken for a message; `number` is the JSON-RPC error code."""

    __slots__ = ("message", "number")

    def __init__(self, number: int, message: str) -> None:
        self.number = number
        self.message = message


class Framer:
    """Cuts a byte stream into message bodies (bytes, not decoded). Sizes are in bytes."""

    def __init__(self, max_body: int = MAX_BODY, max_header: int = MAX_HEADER) -> None:
        self._max_body = max_body
        self._max_header = max_header
        self._buffer = bytearray()
        self._body: int | None = None
        self._skip = 0
        self._length: int | None = None
        self._in_header = False
        self._header_size = 0
        self._reported = False

    def feed(self, data: bytes) -> list[bytes | FrameError]:
        """Take the next bytes; returns what they completed, in order."""
        self._buffer += data
        found: list[bytes | FrameError] = []
        while self._step(found):
            pass
        return found

    def _step(self, found: list[bytes | FrameError]) -> bool:
        """Do one thing with the buffer; False when more bytes are needed."""
        if self._skip:
            return self._skip_some()
        if self._body is not None:
            return self._take_body(self._body, found)
        return self._take_line(found)

    def _skip_some(self) -> bool:
        count = min(self._skip, len(self._buffer))
        del self._buffer[:count]
        self._skip -= count
        return not self._skip

    def _take_body(self, size: int, found: list[bytes | FrameError]) -> bool:
        if len(self._buffer) < size:
            return False
        found.append(bytes(self._buffer[:size]))
        del self._buffer[:size]
        self._body = None
        return True

    def _take_line(self, found: list[bytes | FrameError]) -> bool:
        end = self._buffer.find(b"\n")
        size = len(self._buffer) if end < 0 else end + 1
        if end >= 0:
            self._header_size += size
        if max(size, self._header_size) > self._max_header:
            self._report(found, "The header of the message is too long.")
            # The end of an overlong line may be the next message's header.
            cut = max(0, size - self._max_header // 2)
            del self._buffer[:cut]
            size -= cut
            self._header_size = 0
        if end < 0:
            return False
        line = bytes(self._buffer[:size]).strip()
        del self._buffer[:size]
        if line:
            self._take_header(line.lower(), found)
        elif self._in_header:
            self._end_header(found)
        return True

    def _take_header(self, line: bytes, found: list[bytes | FrameError]) -> None:
        """Read one lower-case header line; others than Content-Length say nothing to us."""
        self._in_header = True
        name, colon, value = line.partition(b":")
        if self._reported or not (colon and _TOKEN.issuperset(name.strip())):
            # Out of step (say, a body without its header): the next header ends this line.
            _, colon, value = line.rpartition(_NAME)
        elif name.strip() + b":" != _NAME:
            return
        if not colon:
            return
        value = value.strip()
        if value.isdigit() and len(value) <= _MAX_DIGITS:
            self._length = int(value)
        else:
            self._report(found, "Content-Length is not a number of bytes.")

    def _end_header(self, found: list[bytes | FrameError]) -> None:
        length = self._length
        if length is None:
            self._report(found, "A message needs the header Content-Length.")
        elif length > self._max_body:
            limit = self._max_body // (1024 * 1024)
            text = f"The message has {length} bytes; at most {limit} MiB are taken. Send less."
            found.append(FrameError(-32600, text))
            # A length that nobody means is no reason to be deaf: the next header is looked for.
            self._skip = length if length <= _MAX_SKIP else 0
            self._reported = True
        else:
            self._body = length
            self._reported = False
        self._length = None
        self._in_header = False
        self._header_size = 0

    def _report(self, found: list[bytes | FrameError], text: str) -> None:
        """Tell an error, but only the first until a message gets through again."""
        if not self._reported:
            found.append(FrameError(-32700, text))
        self._reported = True


def frame(body: bytes) -> bytes:
    """A message as it goes out."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
