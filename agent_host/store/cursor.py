"""Places in lists, as opaque text for clients."""

import base64
import binascii
from dataclasses import dataclass
from typing import TypeVar

from agent_host.core.errors import InvalidRequest
from agent_host.store import codec

_Place = TypeVar("_Place")


@dataclass(frozen=True, slots=True)
class InList:
    """After the session of that time and id."""

    updated: float
    session_id: str


@dataclass(frozen=True, slots=True)
class InSession:
    """In run number `ordinal`, after `characters` of the row `seq`, whose last delta was `through`.

    A text row may have grown since; what follows `characters` is then new.
    """

    ordinal: int = 0
    seq: int = 0
    through: int = 0
    characters: int = 0


def to_text(place: InList | InSession) -> str:
    """The cursor for a place."""
    return base64.urlsafe_b64encode(codec.encode(place).encode()).decode().rstrip("=")


def list_place(cursor: str) -> InList:
    """The place of a cursor; raises InvalidRequest."""
    return _place(InList, cursor)


def session_place(cursor: str | None) -> InSession:
    """The place of a cursor; None is the beginning. Raises InvalidRequest."""
    return InSession() if cursor is None else _place(InSession, cursor)


def _place(kind: type[_Place], cursor: str) -> _Place:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return codec.decode(kind, base64.urlsafe_b64decode(padded).decode())
    except (binascii.Error, UnicodeError, codec.CodecError) as error:
        raise InvalidRequest("cursor: take it from the answer before, unchanged.") from error
