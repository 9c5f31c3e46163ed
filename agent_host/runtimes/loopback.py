"""A small HTTP server on loopback for one runtime process: a token, one Host, no browser.

Every request is checked before its body is read, and bodies are bounded. It lives as long as its
`async with`, and so does every request in it. Not here: what the requests say (mcp_tools.py).
"""

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

MAX_HEAD = 32 * 1024
MAX_BODY = 16 * 1024 * 1024
MAX_CONNECTIONS = 32
IDLE_SECONDS = 600.0
"""After so long without a new request a connection is closed."""

_REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where it listens; `token` is for the Authorization header, and for nobody else's eyes."""

    url: str
    port: int
    token: str


class Refused(Exception):
    """The request is answered with this status and nothing else."""

    def __init__(self, status: int) -> None:
        super().__init__(_REASONS[status])
        self.status = status


class Reply:
    """The answer to one request: one body, or a stream of events."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def whole(self, status: int, body: bytes = b"") -> None:
        """Answer with one body of JSON."""
        self._writer.write(
            _head(status, {"content-type": "application/json", "content-length": str(len(body))})
            + body
        )
        await self._writer.drain()

    async def begin_events(self) -> None:
        """Begin a stream of server-sent events."""
        headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        self._writer.write(_head(200, {**headers, "transfer-encoding": "chunked"}))
        await self._writer.drain()

    async def event(self, data: bytes) -> None:
        """One event; `data` has no newline."""
        await self._chunk(b"event: message\ndata: " + data + b"\n\n")

    async def end_events(self) -> None:
        """End the stream; the connection goes on."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def _chunk(self, data: bytes) -> None:
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()


Answer = Callable[[bytes, Reply], Awaitable[None]]
"""Answers the body of a POST."""


@asynccontextmanager
async def loopback(answer: Answer) -> AsyncGenerator[Address]:
    """Serve POSTs with the right token on a free port of 127.0.0.1."""
    token = secrets.token_urlsafe(32)
    try:
        async with asyncio.TaskGroup() as tasks:
            server = _Server(answer, token, tasks)
            listener = await asyncio.start_server(server.connected, "127.0.0.1", 0, limit=MAX_HEAD)
            port: int = listener.sockets[0].getsockname()[1]
            server.host = f"127.0.0.1:{port}"
            try:
                yield Address(f"http://{server.host}/mcp", port, token)
            finally:
                listener.close()
                server.close()
    except BaseExceptionGroup as group:
        # The exception of the `async with` itself, which the TaskGroup has wrapped.
        raise group.exceptions[0] from group


class _Server:
    def __init__(self, answer: Answer, token: str, tasks: asyncio.TaskGroup) -> None:
        self.host = ""
        self._answer = answer
        self._wanted = f"Bearer {token}".encode()
        self._tasks = tasks
        self._connections: set[asyncio.Task[None]] = set()

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = self._tasks.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def close(self) -> None:
        for task in self._connections:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, EOFError, TimeoutError):
                while await self._exchange(reader, Reply(writer)):
                    pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, reply: Reply) -> bool:
        """One request; whether the connection goes on."""
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                body = await self._request(reader)
        except Refused as refused:
            # Whatever else came is not read, so the connection can't go on.
            await reply.whole(refused.status)
            return False
        await self._answer(body, reply)
        return True

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Refused(431) from None
        method, path, headers = _parsed(head)
        self._check(headers)
        if path != "/mcp":
            raise Refused(404)
        if method != "POST":
            raise Refused(405)
        return await _body(reader, headers)

    def _check(self, headers: Mapping[str, str]) -> None:
        """Only the program that was given the token, and no web page, gets through."""
        if headers.get("host") != self.host:
            raise Refused(421)
        if "origin" in headers:
            raise Refused(403)
        given = headers.get("authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._wanted):
            raise Refused(401)


def _parsed(head: bytes) -> tuple[str, str, Mapping[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    first = lines[0].split(" ")
    if len(first) != 3 or not first[2].startswith("HTTP/1."):
        raise Refused(400)
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not line:
            continue
        # A name given twice may be read in two ways, and a folded line too.
        if not colon or name != name.strip() or (name := name.lower()) in headers:
            raise Refused(400)
        headers[name] = value.strip()
    return first[0], first[1], headers


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    length = headers.get("content-length")
    if "transfer-encoding" in headers:
        if length is not None or headers["transfer-encoding"].lower() != "chunked":
            raise Refused(400)
        return await _chunked(reader)
    if length is None or not (length.isascii() and length.isdecimal()):
        raise Refused(400)
    if int(length) > MAX_BODY:
        raise Refused(413)
    return await reader.readexactly(int(length))


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        try:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        except (ValueError, asyncio.LimitOverrunError):
            raise Refused(400) from None
        if size < 0 or len(body) + size > MAX_BODY:
            raise Refused(413)
        body += (await reader.readexactly(size + 2))[:size]
        if size == 0:
            return body


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {_REASONS[status]}\r\n{lines}\r\n".encode("latin-1")
