"""An HTTP server on loopback that plays turns as a model vendor, and refuses wrong requests.

Subclasses know their vendor: what a request must be like, and what the stream looks like.
"""

import asyncio
import gzip
import json
import re
import ssl
from collections.abc import Iterable, Iterator
from typing import Any, Self

from tests.vendors.turns import Place, Turn

Frames = Iterator[tuple[Place | None, Any]]
"""Data of events, each with the place that is reached once it has gone out."""


_STREAM_HEAD = b"\r\n".join(
    (
        b"HTTP/1.1 200 OK",
        b"content-type: text/event-stream",
        b"transfer-encoding: chunked",
        b"\r\n",
    )
)


class Refused(Exception):
    """The vendor would not take this request."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class VendorServer:
    """Use it as `async with`. Each good request is answered by the next turn."""

    KEY = "key-of-the-test"
    vendor = ""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.bodies: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        """Path and headers of each request in `bodies`."""
        self.refused: list[str] = []
        self.models: tuple[str, ...] = ()
        """What it lists as its models."""
        self.connections = 0
        self.open = 0
        self.hanging = asyncio.Event()
        self.left = asyncio.Event()
        """Set once a client has left in the middle of an answer."""
        self.tls: ssl.SSLContext | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self.tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._group.__aexit__(*error)

    @property
    def url(self) -> str:
        """The base URL as the vendor's SDK wants it."""
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    # ---- what a vendor is

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        """Raise Refused for a request that the vendor would refuse."""
        raise NotImplementedError

    def aside(self, body: dict[str, Any]) -> Turn | None:
        """The answer to a request that is no part of the conversation, such as for a title."""
        return None

    def frames(self, turn: Turn, body: dict[str, Any]) -> Frames:
        """The stream's data for a turn."""
        raise NotImplementedError

    def listed(self) -> dict[str, Any]:
        """The answer to who asks for its models."""
        return {"object": "list", "data": [{"id": m, "type": "model"} for m in self.models]}

    def error(self, status: int, turn: Turn) -> dict[str, Any]:
        """The body of an error."""
        return {"error": {"type": "error", "message": turn.message, "code": None}}

    def stream_error(self, turn: Turn) -> dict[str, Any]:
        """An error as an event in the middle of a stream."""
        return self.error(500, turn)

    def encode(self, data: Any) -> bytes:
        """One event of the stream."""
        if isinstance(data, str):
            found = re.search(r'"type": "([a-z_.]+)"', data)
            return f"event: {found[1] if found else 'odd'}\ndata: {data}\n\n".encode()
        kind = f"event: {data['type']}\n" if "type" in data else ""
        return f"{kind}data: {json.dumps(data)}\n\n".encode()

    # ---- HTTP

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._group.create_task(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.connections += 1
        self.open += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        pairs = (line.split(":", 1) for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, value in pairs}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or "{}")
        if method == "GET" and path.partition("?")[0].endswith("/models"):
            return await _send_json(writer, 200, self.listed())
        try:
            self.check(path, headers, body)
        except Refused as refused:
            self.refused.append(str(refused))
            turn = Turn(message=str(refused))
            return await _send_json(writer, refused.status, self.error(refused.status, turn))
        turn = self.aside(body)
        if turn is None:
            self.bodies.append(body)
            self.asked.append((path, headers))
            turn = self.turns.pop(0) if self.turns else Turn(status=500, message="no turn is left")
        more = {} if turn.retry_after is None else {"retry-after": str(turn.retry_after)}
        more |= {} if turn.date is None else {"date": turn.date}
        if turn.page is not None:
            kind, text = turn.page
            return await _send(writer, turn.status or 200, text.encode(), more, kind)
        if turn.status is not None:
            return await _send_json(writer, turn.status, self.error(turn.status, turn), more)
        if turn.piece or turn.cut_bytes is not None:
            return await self._stream_bytes(writer, turn, body)
        return await self._stream(reader, writer, turn, body)

    async def _stream_bytes(
        self, writer: asyncio.StreamWriter, turn: Turn, body: dict[str, Any]
    ) -> bool:
        """The same stream, cut anywhere."""
        sent = b"".join(self.encode(data) for _, data in self._played(turn, body))
        cut = turn.cut_bytes is not None
        sent = sent[: turn.cut_bytes] if cut else sent
        zipped = b"content-encoding: gzip\r\n\r\n"
        writer.write(_STREAM_HEAD[:-2] + zipped if turn.zipped else _STREAM_HEAD)
        sent = gzip.compress(sent) if turn.zipped else sent
        size = turn.piece or len(sent) or 1
        for start in range(0, len(sent), size):
            piece = sent[start : start + size]
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        if cut and not turn.cleanly:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _stream(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        turn: Turn,
        body: dict[str, Any],
    ) -> bool:
        writer.write(_STREAM_HEAD)
        end = turn.cut or turn.hang
        if end != "nothing":
            for data in _until(end, self._played(turn, body)):
                encoded = self.encode(data)
                writer.write(f"{len(encoded):x}\r\n".encode() + encoded + b"\r\n")
                try:
                    await writer.drain()
                except ConnectionError:
                    self.left.set()
                    raise
        if turn.cut is not None and not turn.cleanly:
            return False
        if turn.hang is not None:
            self.hanging.set()
            assert await reader.read(1) == b""
            self.left.set()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _played(self, turn: Turn, body: dict[str, Any]) -> Frames:
        if turn.raw:
            yield from ((None, event) for event in turn.raw)
            return
        for place, data in self.frames(turn, body):
            yield place, data
            if turn.error_in_stream and place == "text":
                yield None, self.stream_error(turn)
                return


def _until(end: Place | None, frames: Frames) -> Iterable[Any]:
    for place, data in frames:
        yield data
        if end is not None and place == end:
            return


async def _send_json(
    writer: asyncio.StreamWriter, status: int, value: object, more: dict[str, str] | None = None
) -> bool:
    data = json.dumps(value).encode()
    return await _send(writer, status, data, more or {}, "application/json")


async def _send(
    writer: asyncio.StreamWriter, status: int, data: bytes, more: dict[str, str], kind: str
) -> bool:
    headers = {"content-type": kind, "content-length": str(len(data))} | more
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {status} x\r\n{lines}\r\n".encode() + data)
    await writer.drain()
    return True


def need(condition: object, message: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise Refused(message)


def unique(values: Iterable[Any], message: str) -> None:
    """Refuse what is there twice."""
    listed = list(values)
    need(len(listed) == len(set(listed)), message)


def only(value: Any, allowed: str, where: str) -> None:
    """Refuse fields that the vendor does not know; `allowed` is a list in words."""
    need(isinstance(value, dict), f"{where}: must be an object")
    for name in value:
        need(name in allowed.split(), f"{where}.{name}: Extra inputs are not permitted")


def halves(text: str) -> tuple[str, str]:
    """A text in two parts."""
    middle = (len(text) + 1) // 2
    return text[:middle], text[middle:]
