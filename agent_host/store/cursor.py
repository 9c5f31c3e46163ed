"""Places in lists, as opaque text for clients."""

import base64
import binascii
from dataclasses import dataclass

from agent_host.core.errors import InvalidRequest
from agent_host.store import codec


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

    ordinal: int
    seq: int
    through: int
    characters: int


BEGINNING = InSession(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Either of them; exactly one is there."""

    list: InList | None = None
    session: InSession | None = None


def to_text(place: InList | InSession) -> str:
    """The cursor for a place."""
    cursor = _Cursor(list=place) if isinstance(place, InList) else _Cursor(session=place)
    return base64.urlsafe_b64encode(codec.encode(cursor).encode()).decode().rstrip("=")


def list_place(cursor: str) -> InList:
    """The place of a cursor; raises InvalidRequest."""
    place = _read(cursor).list
    if place is None:
        raise _bad()
    return place


def session_place(cursor: str | None) -> InSession:
    """The place of a cursor; None is the beginning. Raises InvalidRequest."""
    if cursor is None:
        return BEGINNING
    place = _read(cursor).session
    if place is None:
        raise _bad()
    return place


def _read(cursor: str) -> _Cursor:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return codec.decode(_Cursor, base64.urlsafe_b64decode(padded).decode())
    except (binascii.Error, UnicodeError, codec.CodecError) as error:
        raise _bad() from error


def _bad() -> InvalidRequest:
    return InvalidRequest("cursor: take it from the answer before, unchanged.")
