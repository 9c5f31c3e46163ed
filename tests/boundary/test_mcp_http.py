"""MCP servers by streamable HTTP: the real one of the `mcp` package, and answers that are odd."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from agent_host.core.errors import ActionFailed
from agent_host.core.external import ServerConfig
from agent_host.mcp.events import Event, TooLong, events
from agent_host.process import ChildProcess
from tests.boundary.mcp_support import ROLE, TESTS, servers


def at(url: str, **fields: object) -> ServerConfig:
    return ServerConfig("web", "c.yaml:1", url=url, **fields)  # type: ignore[arg-type]


@asynccontextmanager
async def real(*more: str) -> AsyncIterator[str]:
    """The address of a real server."""
    argv = (sys.executable, str(TESTS / "mcp_server.py"), "http", *more)
    child = await ChildProcess.start(argv, env={"PATH": "/usr/bin:/bin"}, cwd=str(TESTS))
    try:
        async with asyncio.timeout(60):
            yield (await anext(child.lines())).decode().strip()
    finally:
        await child.close(grace=1.0)


@pytest.mark.parametrize("how", [(), ("json",)])
async def test_a_real_server_is_spoken_to(how: tuple[str, ...]) -> None:
    async with real(*how) as url, servers(at(url)) as those:
        assert (await those.call("add", a=2, b=3)).text == "5"
        results = await asyncio.gather(*(those.call("add", a=n, b=1) for n in range(10)))
        assert [result.text for result in results] == [str(n + 1) for n in range(10)]
        assert (await those.call("broken")).status == "failed"
        assert len((await those.call("long", count=2_000_000)).text) == 2_000_000
        those.configs[:] = [at(url, timeout=3.0)]
        with pytest.raises(ActionFailed, match="gave no sign of life"):
            await those.call("slow", seconds=60)
        if not how:
            assert (await those.call("slow", seconds=4, progress=True)).text == "done"
        assert (those.status.state, those.status.pid) == ("ready", None)


async def test_a_server_that_is_not_there_is_told() -> None:
    async with servers(at("http://127.0.0.1:9/mcp", start_timeout=10.0)) as those:
        assert "it can't be reached" in await those.notes()
        assert those.status.remedy == "correct `url`"


Respond = Callable[[dict[str, object], dict[str, str]], bytes]


@asynccontextmanager
async def odd(respond: Respond) -> AsyncIterator[str]:
    """A server that answers POSTs with the bytes of `respond`, and nothing else."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value
                for name, _, value in (line.partition(": ") for line in lines[1:])
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method = lines[0].split(" ")[0]
            found = json.loads(body) if body else {}
            writer.write(respond({"http": method, **found}, headers))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def http(status: int, body: bytes = b"", kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}connection: close\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def usual(message: dict[str, object]) -> object:
    match message.get("method"):
        case "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {}}
        case "tools/list":
            return {"tools": [{"name": "go"}]}
        case _:
            return {"content": [{"type": "text", "text": "gone"}]}


def answer(message: dict[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": usual(message)}).encode()


def other(message: dict[str, object]) -> bytes | None:
    """What is no request has a usual answer, too."""
    if message["http"] != "POST":
        return http(405)
    return None if "id" in message else http(202)


@pytest.mark.parametrize(
    ("response", "reason", "remedy"),
    [
        (http(401), "it does not let us in (HTTP 401)", "`headers`"),
        (http(307, more="location: https://else.example/\r\n"), "redirects to https://else", "url"),
        (http(404), "no JSON-RPC (HTTP 404)", "`url`"),
        (http(500, kind="text/plain"), "it answered HTTP 500", ""),
        (http(200, b"<html>", "text/html"), "no JSON-RPC (HTTP 200)", "`url`"),
        (http(202), "it answered a request with nothing", ""),
        (http(200, b": nothing\n\n", "text/event-stream"), "its answer broke off", ""),
        (b"SSH-2.0-x\r\n", "the connection broke", ""),
    ],
)
async def test_what_is_no_answer_is_told(response: bytes, reason: str, remedy: str) -> None:
    async with odd(lambda *_: response) as url, servers(at(url)) as those:
        await those.all.offered(ROLE)
        assert those.status.state == "failed"
        assert reason in (those.status.reason or "")
        assert remedy in (those.status.remedy or "")


async def test_headers_session_and_version_go_along_and_the_session_is_ended() -> None:
    seen: list[tuple[object, dict[str, str]]] = []

    def respond(message: dict[str, object], headers: dict[str, str]) -> bytes:
        seen.append((message.get("method", message["http"]), headers))
        more = "mcp-session-id: s1\r\n" if message.get("method") == "initialize" else ""
        return other(message) or http(200, answer(message), more=more)

    async with odd(respond) as url:
        config = at(url, headers={"Authorization": "Bearer ${WEB}"})
        async with servers(config, environment={"WEB": "k"}) as those:
            assert (await those.call("go")).text == "gone"
    assert {headers["authorization"] for _, headers in seen} == {"Bearer k"}
    calls = {str(name): headers for name, headers in seen}
    assert "mcp-session-id" not in calls["initialize"]
    for name in ("notifications/initialized", "tools/list", "tools/call", "DELETE"):
        assert calls[name]["mcp-session-id"] == "s1"
        assert calls[name]["mcp-protocol-version"] == "2025-06-18"


async def test_a_session_that_was_ended_is_begun_anew() -> None:
    calls: list[str] = []

    def respond(message: dict[str, object], headers: dict[str, str]) -> bytes:
        calls.append(str(message.get("method")))
        if message.get("method") == "tools/call" and calls.count("tools/call") == 1:
            return http(404)
        return other(message) or http(200, answer(message), more="mcp-session-id: s\r\n")

    async with odd(respond) as url, servers(at(url)) as those:
        with pytest.raises(ActionFailed, match="it has ended the session"):
            await those.call("go")
        async with asyncio.timeout(30):
            while "go" not in await those.tools():
                await asyncio.sleep(0.1)
        assert (await those.call("go")).text == "gone"
        assert calls.count("initialize") == 2


async def test_a_stream_that_broke_is_taken_up_again() -> None:
    def respond(message: dict[str, object], headers: dict[str, str]) -> bytes:
        kind = "text/event-stream"
        if message.get("method") == "tools/call":
            pending.append(answer(message))
            return http(200, b"id: 7\nretry: 10\ndata:\n\n", kind)
        if message["http"] == "GET" and headers.get("last-event-id") == "7":
            return http(200, b"data: " + pending[0] + b"\n\n", kind)
        return other(message) or http(200, answer(message))

    pending: list[bytes] = []
    async with odd(respond) as url, servers(at(url)) as those:
        assert (await those.call("go")).text == "gone"


# ---- events


async def taken(*pieces: bytes, limit: int = 1000) -> list[Event]:
    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return [event async for event in events(stream(), limit)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"data: a\n\n", [Event("a")]),
        (b"data:a\r\ndata: b\r\n\r\n", [Event("a\nb")]),
        (b"data: a\r\rdata: b\r\r", [Event("a"), Event("b")]),
        (b": hm\n\nevent: message\nid: 3\nretry: 20\ndata: x\n\n", [Event("x", "3", 0.02)]),
        (b"data: cut off", []),
        ("data: \u00e4\n\n".encode(), [Event("\u00e4")]),
    ],
)
async def test_events_come_whole_however_they_are_cut(text: bytes, found: list[Event]) -> None:
    assert await taken(text) == found
    assert await taken(*(text[at : at + 1] for at in range(len(text)))) == found


async def test_an_event_without_an_end_is_refused() -> None:
    waits: list[Awaitable[list[Event]]] = [
        taken(b"data: " + b"x" * 2000),
        taken(*[b"data: xxxxxxxxxxxxxxxx\n"] * 100),
    ]
    for each in waits:
        with pytest.raises(TooLong):
            await each
