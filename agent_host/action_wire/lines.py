"""Cutting a byte stream into lines, with a limit."""

from agent_host.action_wire.messages import MAX_LINE, WireError


class Lines:
    """Cuts a byte stream into lines; one longer than `limit` bytes raises WireError."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines."""
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(data)
            return []
        self._keep(head)
        lines = [b"".join(self._parts), *rest.split(b"\n")]
        self._parts, self._size = [], 0
        self._keep(lines.pop())
        return lines

    def rest(self) -> bytes:
        """What came after the last newline."""
        return b"".join(self._parts)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._limit:
            raise WireError(f"a line is longer than {self._limit} bytes")
        if data:
            self._parts.append(data)
