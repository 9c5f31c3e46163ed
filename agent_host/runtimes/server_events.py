"""A vendor's answer while it streams: server-sent events, each as a JSON object.

Works on bytes, so that characters may be cut anywhere. A body that is no stream of events is told
apart: one JSON object is its only event, a web page is Trouble. Not here: what an event means.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar, cast

import httpx2

from agent_host.core.model import JsonObject
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.trouble import Vendor, trouble_of_page, trouble_of_stream

DONE: JsonObject = MappingProxyType({"type": "[DONE]"})
"""The end mark of chat completions, as an event."""

_NOTHING: JsonObject = MappingProxyType({})
_LAST = frozenset(
    ("[DONE]", "message_stop", "response.completed", "response.incomplete", "response.failed")
)
"""The types of events behind which there is at most a count of tokens."""
_END_SECONDS = 2.0
_T = TypeVar("_T")
_LONGEST = 64 * 1024 * 1024
"""Bytes of one event: more is no answer of a model."""


async def server_events(
    vendor: Vendor, config: ProviderConfig, response: httpx2.Response
) -> AsyncGenerator[JsonObject]:
    """The events of a response until its body ends.

    Raises Trouble for a web page, ValueError for what is no JSON object, HTTPError for a lost
    connection.
    """
    body = _Body()
    over = False
    pieces = until_over(response.aiter_bytes(), lambda: over)
    async for piece in pieces:
        for data in body.take(piece):
            event = _event(data)
            over = over or event.get("type") in _LAST
            yield event
        if body.waiting > _LONGEST:
            raise trouble_of_stream(vendor, "an event is longer than any answer")
    if body.is_page:
        raise trouble_of_page(vendor, config, body.rest.decode("utf-8", "replace"))
    for data in body.end():
        yield _event(data)


async def until_over(pieces: AsyncIterator[_T], is_over: Callable[[], bool]) -> AsyncGenerator[_T]:
    """The pieces of a stream. Once it is over it is waited for its end, so that the connection can
    be used again, but not for long, and it does not matter if that is lost.
    """
    while True:
        try:
            if is_over():
                async with asyncio.timeout(_END_SECONDS):
                    piece = await anext(pieces)
            else:
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except (TimeoutError, httpx2.HTTPError):
            if is_over():
                return
            raise
        yield piece


# ---- what an event holds


def text(event: JsonObject, key: str) -> str:
    """A text; empty if there is none."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def number(event: JsonObject, key: str) -> int:
    """A whole number; 0 if there is none."""
    value = event.get(key)
    return int(value) if isinstance(value, int | float) else 0


def inner(event: JsonObject, key: str) -> JsonObject:
    """An object; empty if there is none."""
    value = event.get(key)
    return cast("JsonObject", value) if isinstance(value, dict) else _NOTHING


def entries(event: JsonObject, key: str) -> list[JsonObject]:
    """The objects of a list; what is no object is left out."""
    value = event.get(key)
    each = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", entry) for entry in each if isinstance(entry, Mapping)]


# ---- taking bytes apart


def _event(data: bytes) -> JsonObject:
    if data.startswith(b"[DONE]"):
        return DONE
    value: object = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - it is what came, not how it is used
    return cast("JsonObject", value)


class _Body:
    """The bytes of a body as they come, taken apart into the data of events."""

    def __init__(self) -> None:
        self._begun = False
        self._pieces: list[bytes] = []
        self._data: list[bytes] = []
        self._whole = False
        self.waiting = 0

    @property
    def is_page(self) -> bool:
        """Whether it is neither events nor JSON."""
        return self._whole and not self.rest.startswith(b"{")

    @property
    def rest(self) -> bytes:
        """What has come and is no event yet."""
        return b"".join(self._pieces)

    def take(self, piece: bytes) -> Iterator[bytes]:
        """More bytes; gives the events that are complete with them."""
        if not self._begun:
            piece = (self.rest + piece).removeprefix(b"\xef\xbb\xbf").lstrip()
            self._pieces.clear()
            self._begun = bool(piece)
            self._whole = piece.startswith((b"{", b"<"))
        self.waiting += len(piece)
        if self._whole or b"\n" not in piece:
            self._pieces.append(piece)
            return
        *lines, last = (self.rest + piece).split(b"\n")
        self._pieces = [last]
        self.waiting = len(last)
        for line in lines:
            yield from self._take_line(line)

    def end(self) -> Iterator[bytes]:
        """What the last bytes are: an event whose end mark is missing counts if it is whole."""
        if self._whole:
            yield self.rest
            return
        yield from self._take_line(self.rest)
        yield from self._take_line(b"")

    def _take_line(self, line: bytes) -> Iterator[bytes]:
        line = line.rstrip(b"\r")
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            if data:
                yield data
