"""What carries JSON-RPC messages to a server and back, whichever way (stdio.py, http.py)."""

from collections.abc import Callable
from typing import Protocol, cast

from agent_host.core.model import JsonObject

MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message from a server; a longer one ends the connection."""

Hear = Callable[[JsonObject], None]
"""Takes a message that is no answer to a request of ours; never raises."""


class ServerGone(Exception):
    """The server can't be reached (any more); `remedy` says what a person can do, if known."""

    def __init__(self, reason: str, remedy: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Transport(Protocol):
    """A connection to one server; `pid` is of its process, if it is one of ours."""

    @property
    def pid(self) -> int | None: ...

    async def request(self, message: JsonObject) -> JsonObject:
        """Send a request; its answer, a whole JSON-RPC message. Raises ServerGone."""
        ...

    async def notify(self, message: JsonObject) -> None:
        """Send what has no answer: a notification, or an answer of ours. Raises ServerGone."""
        ...

    async def ended(self) -> ServerGone:
        """Wait until the connection has ended by itself, and say why."""
        ...

    async def close(self) -> None:
        """End it; nothing of it is left when this returns."""


def as_object(value: object) -> JsonObject:
    """The value, or an empty object where it is none."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value, or an empty list where it is none."""
    return cast("list[object]", value) if isinstance(value, list) else []
