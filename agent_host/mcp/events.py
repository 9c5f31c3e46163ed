"""Server-sent events from bytes, with a limit. Pure. See the HTML standard, section 9.2.6."""

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Event:
    """`identity` is where to go on after it; `retry` seconds to wait before that."""

    data: str
    identity: str | None = None
    retry: float | None = None


class TooLong(Exception):
    """An event is longer than allowed."""


async def events(pieces: AsyncIterable[bytes], limit: int) -> AsyncIterator[Event]:
    """The events of a stream. Raises TooLong."""
    rest = b""
    draft = _Draft()
    async for piece in pieces:
        rest += piece
        # A carriage return may be one half of a line's end.
        whole, held = (rest[:-1], rest[-1:]) if rest.endswith(b"\r") else (rest, b"")
        *lines, rest = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest += held
        for line in lines:
            if (event := draft.take(line.decode("utf-8", "replace"))) is not None:
                yield event
                draft = _Draft()
        if len(rest) + draft.size > limit:
            raise TooLong
    last = draft.take(rest[:-1].decode("utf-8", "replace")) if rest.endswith(b"\r") else None
    if last is not None:
        yield last


@dataclass(slots=True)
class _Draft:
    data: list[str] = field(default_factory=list[str])
    identity: str | None = None
    retry: float | None = None
    size: int = 0

    def take(self, line: str) -> Event | None:
        """Take a line; the event, if that ends it."""
        if not line:
            nothing = not self.data and self.identity is None and self.retry is None
            return None if nothing else Event("\n".join(self.data), self.identity, self.retry)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        self.size += len(value)
        match name:
            case "data":
                self.data.append(value)
            case "id" if "\0" not in value:
                self.identity = value
            case "retry" if value.isascii() and value.isdecimal():
                self.retry = int(value) / 1000
            case _:
                pass  # a comment, or a name that means nothing here
        return None
