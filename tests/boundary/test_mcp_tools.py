"""The loopback MCP server: who gets in, what it answers, and the MCP package's own client."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from agent_host.core.model import ImagePart, ToolCall, ToolResult, ToolSpec
from agent_host.runtimes.loopback import MAX_BODY, Address
from agent_host.runtimes.mcp_tools import offered

READ = ToolSpec("fs_read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})


async def answered(call: ToolCall) -> ToolResult:
    if call.problem is not None:
        return ToolResult("failed", call.problem, "")
    return ToolResult("ok", f"{call.call_id} {call.name} {dict(call.arguments)}", "")


async def send(address: Address, head: str, body: bytes = b"") -> bytes:
    """One request as it is written; all that comes back until the connection or the answer ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
    writer.write(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
    writer.write_eof()
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return answer


def head(address: Address, body: bytes = b"", **changed: str | None) -> str:
    headers: dict[str, str | None] = {
        "Host": f"127.0.0.1:{address.port}",
        "Authorization": f"Bearer {address.token}",
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }
    lines = "".join(f"{name}: {value}\n" for name, value in headers.items() if value is not None)
    return f"POST /mcp HTTP/1.1\n{lines}"


async def post(client: httpx2.AsyncClient, address: Address, message: object) -> httpx2.Response:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    headers = {"authorization": f"Bearer {address.token}"}
    return await client.post(address.url, content=data, headers=headers)


def request(method: str, params: Mapping[str, Any] | None = None, number: int = 1) -> object:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": None}, 421),
        ({"Origin": "http://127.0.0.1:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"host": "127.0.0.1:{port}"}, 400),
        ({"Content_Length": None}, 400),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": str(MAX_BODY + 1)}, 413),
        ({"Transfer_Encoding": "chunked"}, 400),
        ({"Content_Length": None, "Transfer_Encoding": "gzip"}, 400),
        ({"X": "x" * 100_000}, 431),
    ],
)
async def test_only_the_program_that_has_the_token_gets_in(
    changed: dict[str, str | None], status: int
) -> None:
    called: list[ToolCall] = []

    async def call(wish: ToolCall) -> ToolResult:
        called.append(wish)
        return await answered(wish)

    async with offered((READ,), call) as address:
        body = json.dumps(request("tools/call", {"name": "fs_read"})).encode()
        fields = {k: v and v.replace("{port}", str(address.port)) for k, v in changed.items()}
        answer = await send(address, head(address, body, **fields), body)
        assert answer.split(b" ")[1] == str(status).encode()
        assert address.token.encode() not in answer
    assert called == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
async def test_only_posts_are_taken(method: str) -> None:
    async with offered((READ,), answered) as address:
        asked = head(address).replace("POST", method)
        assert (await send(address, asked)).split(b" ")[1] == b"405"
        elsewhere = head(address).replace("/mcp", "/")
        assert (await send(address, elsewhere)).split(b" ")[1] == b"404"
        assert (await send(address, "what is this\n")).split(b" ")[1] == b"400"


async def test_it_lives_only_as_long_as_it_is_needed() -> None:
    async with offered((READ,), answered) as address:
        assert (await send(address, head(address))).startswith(b"HTTP/1.1 400")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", address.port)


async def test_what_is_no_request_is_answered_all_the_same() -> None:
    async with httpx2.AsyncClient() as client, offered((READ,), answered) as address:
        for body in (b"{", b"[]", b"3", b"{}", b"[" * 100_000):
            answer = await post(client, address, body)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] in (-32700, -32600)
        unknown = (await post(client, address, request("resources/list"))).json()
        assert unknown["error"]["code"] == -32601
        nameless = (await post(client, address, request("tools/call"))).json()
        assert nameless["error"]["code"] == -32602
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await post(client, address, told)).status_code == 202
        old = {"protocolVersion": "1999-01-01"}
        answer = (await post(client, address, request("initialize", old))).json()
        assert answer["result"]["protocolVersion"] == "2025-11-25"


async def test_a_chunked_body_is_read() -> None:
    async def pieces() -> Any:
        yield b'{"jsonrpc": "2.0", "id": 1,'
        yield b' "method": "ping"}'

    async with httpx2.AsyncClient() as client, offered((READ,), answered) as address:
        headers = {"authorization": f"Bearer {address.token}"}
        answer = await client.post(address.url, content=pieces(), headers=headers)
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_arguments_that_are_no_object_are_the_models_problem() -> None:
    async with httpx2.AsyncClient() as client, offered((READ,), answered) as address:
        wish = {"name": "fs_read", "arguments": ["a"]}
        answer = await post(client, address, request("tools/call", wish))
        (event,) = [line for line in answer.text.splitlines() if line.startswith("data:")]
        result = json.loads(event[5:])["result"]
        assert result == {
            "content": [{"type": "text", "text": "not a JSON object"}],
            "isError": True,
        }


async def test_images_of_a_result_are_handed_on() -> None:
    async def call(_: ToolCall) -> ToolResult:
        shown = (ImagePart("image/png", "AAAA"), ImagePart("application/pdf", "BBBB"))
        return ToolResult("ok", "Look.", "", images=shown)

    async with httpx2.AsyncClient() as client, offered((READ,), call) as address:
        answer = await post(client, address, request("tools/call", {"name": "fs_read"}))
        (event,) = [line for line in answer.text.splitlines() if line.startswith("data:")]
        _, image, document = json.loads(event[5:])["result"]["content"]
    assert image == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert document["resource"]["blob"] == "BBBB"


async def test_a_call_that_is_withdrawn_ends() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def call(_: ToolCall) -> ToolResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with (
        httpx2.AsyncClient() as client,
        offered((READ,), call) as address,
        asyncio.TaskGroup() as tasks,
    ):
        wish = request("tools/call", {"name": "fs_read", "arguments": {}}, 7)
        answer = tasks.create_task(post(client, address, wish))
        await begun.wait()
        gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        await post(client, address, gone)
        await ended.wait()
        assert '"isError": true' in (await answer).text


async def test_one_is_answered_while_others_hang() -> None:
    """Connections that say nothing, half of a request, and a call that takes for ever."""

    async def call(_: ToolCall) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    async with httpx2.AsyncClient() as client, offered((READ,), call) as address:
        wish = json.dumps(request("tools/call", {"name": "fs_read"})).encode()
        whole = head(address, wish).replace("\n", "\r\n").encode() + b"\r\n" + wish
        writers: list[asyncio.StreamWriter] = []
        for said in (b"", whole[:40], whole[:-5], whole):
            _, writer = await asyncio.open_connection("127.0.0.1", address.port)
            writer.write(said)
            await writer.drain()
            writers.append(writer)
        async with asyncio.timeout(10):
            listed = await post(client, address, request("tools/list"))
        assert [tool["name"] for tool in listed.json()["result"]["tools"]] == ["fs_read"]
        for writer in writers:
            writer.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_packages_own_client_finds_and_calls_our_tools(mode: Any) -> None:
    async with offered((READ,), answered) as address:
        headers = {"authorization": f"Bearer {address.token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(address.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                (tool,) = (await client.list_tools()).tools
                assert (tool.name, tool.description) == ("fs_read", "Reads.")
                results = await asyncio.gather(
                    *(client.call_tool("fs_read", {"path": str(n)}) for n in range(5))
                )
                texts = [result.content[0].text for result in results]
                assert [text.partition(" ")[2] for text in texts] == [
                    f"fs_read {{'path': '{n}'}}" for n in range(5)
                ]
