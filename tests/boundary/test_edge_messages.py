"""Every request has exactly one answer, whatever is wrong with it; data arrives unchanged."""

import json

from tests.boundary.edge_client import ABSENT, edge

SECRET_PARTS = ("sk-secret", "/home/", "Traceback", ".py")


BAD_PARAMS: tuple[tuple[object, str], ...] = (
    (ABSENT, "prompt"),
    (None, "prompt"),
    ({}, "prompt"),
    ([], "params"),
    ("text", "params"),
    ({"prompt": 5}, "prompt"),
    ({"prompt": "x", "promt": 1}, "promt"),
    ({"prompt": ["a", {"type": "text", "text": 3}]}, "prompt[1].text"),
    ({"prompt": "x", "limits": {"maxTurns": 1.5}}, "limits.maxTurns"),
    ({"prompt": "x", "runId": "../../etc"}, "runId"),
    ({"prompt": "x", "context": [{"uri": "file:///a", "range": 3}]}, "context[0].range"),
)


async def test_bad_params_are_refused_with_the_field() -> None:
    async with edge() as client:
        await client.initialize()
        for params, field in BAD_PARAMS:
            error = await client.error(client.request("agent/run", params))
            assert error["code"] == -32602
            assert error["data"]["code"] == "invalid_params"
            assert error["data"]["field"] == field
            assert error["message"].startswith(f"{field}: ")
        await client.check_unharmed()


async def test_absent_params_are_an_empty_object() -> None:
    async with edge() as client:
        await client.initialize()
        for method in ("agent/stop", "agent/status", "agent/roles", "agent/models", "agent/ping"):
            for params in (ABSENT, None, {}):
                assert await client.result(client.request(method, params)) is not None


async def test_odd_keys_arrive_unchanged_in_both_directions() -> None:
    odd = {"jsonrpc": "2.0", "method": "m", "id": 1, "class": 1, "type_name": "x", "_p": 2}
    async with edge() as client:
        await client.initialize()
        sent = client.request(
            "workspace/executeCommand", {"command": "agentHost.trust", "arguments": [odd, [odd]]}
        )
        result = await client.result(sent)
        assert result == {"name": "agentHost.trust", "arguments": [odd, [odd]]}
        client.run("hello")
        call = await client.delta("toolCall")
        assert call["delta"]["arguments"] == {
            "jsonrpc": "2.0",
            "method": "x",
            "class": 1,
            "type_name": "T",
            "_p": None,
            "n": None,
        }


UNSOUND: tuple[tuple[bytes, int, object], ...] = (
    (b"{", -32700, None),
    (b"", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b'{"a": NaN}', -32700, None),
    (b"[" * 100_000, -32700, None),
    (b"1" * 5_000, -32700, None),
    (b"[]", -32600, None),
    (b'[{"jsonrpc":"2.0","id":9,"method":"agent/ping"}]', -32600, None),
    (b'"text"', -32600, None),
    (b"null", -32600, None),
    (b'{"jsonrpc":"1.0","id":9,"method":"agent/ping"}', -32600, 9),
    (b'{"id":"nine","method":"agent/ping"}', -32600, "nine"),
    (b'{"jsonrpc":"2.0","id":9,"method":5}', -32600, 9),
    (b'{"jsonrpc":"2.0","id":[9],"method":"agent/ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":null,"method":"agent/ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"agent/ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":9,"method":"agent/nothing"}', -32601, 9),
    (b'{"jsonrpc":"2.0","id":9,"method":"textDocument/hover","params":{}}', -32601, 9),
    (b'{"jsonrpc":"2.0","id":9,"method":"initialize","params":{}}', -32600, 9),
)


async def test_what_is_no_sound_request_is_refused_once() -> None:
    async with edge() as client:
        await client.initialize()
        for body, code, msg_id in UNSOUND:
            client.received.clear()
            client.send_body(body)
            error = await client.error(msg_id)
            assert error["code"] == code, body
            assert error["data"]["error"] == error["message"]
            assert error["data"]["code"]
            await client.check_unharmed()
            assert len([m for m in client.received if "error" in m]) == 1


async def test_ids_come_back_as_they_were() -> None:
    async with edge() as client:
        await client.initialize()
        for msg_id in ("text", 0, -7, 2**53, 1.0):
            client.send({"jsonrpc": "2.0", "id": msg_id, "method": "agent/ping"})
            assert (await client.answer(msg_id))["id"] == msg_id


async def test_unknown_notifications_and_late_answers_are_ignored() -> None:
    async with edge() as client:
        await client.initialize()
        for message in (
            {"method": "agent/nothing", "params": {}},
            {"method": "$/setTrace", "params": {"value": "off"}},
            {"method": "$/cancelRequest", "params": {"id": 99}},
            {"method": "$/cancelRequest", "params": {"id": [1]}},
            {"method": "$/cancelRequest"},
            {"method": "textDocument/didOpen", "params": {"textDocument": 5}},
            {"method": "textDocument/didOpen", "params": [1]},
            {"id": "agent-host:99", "result": None},
            {"id": 99, "error": {"code": 1, "message": "x"}},
            {"id": None, "error": {"code": 1, "message": "x"}},
            {"id": [1], "result": 1},
            {"result": 1},
        ):
            client.send({"jsonrpc": "2.0", **message})
        await client.check_unharmed()


async def test_before_initialize_only_it_is_answered() -> None:
    async with edge() as client:
        client.notify("textDocument/didOpen", {})
        assert (await client.error(client.request("agent/ping")))["code"] == -32002
        assert (await client.error(client.request("shutdown")))["code"] == -32002
        await client.initialize()
        await client.check_unharmed()


async def test_a_client_that_forgets_initialized_is_served() -> None:
    async with edge() as client:
        await client.result(client.request("initialize", {"capabilities": {}}))
        assert (await client.result(client.run("text")))["output"] == "text"
        client.notify("initialized", {})
        await client.check_unharmed()


async def test_after_shutdown_requests_are_refused() -> None:
    async with edge() as client:
        await client.initialize()
        assert await client.result(client.request("shutdown")) is None
        assert (await client.error(client.request("agent/ping")))["code"] == -32600
        client.notify("textDocument/didClose", {})
        client.notify("exit")
        assert await client.exit_code() == 0


async def test_a_bug_of_ours_is_told_without_its_insides() -> None:
    async with edge() as client:
        await client.initialize()
        error = await client.error(client.run("raise"))
        assert error["code"] == -32603
        assert error["data"]["code"] == "internal_error"
        assert not any(part in json.dumps(client.received) for part in SECRET_PARTS)
        await client.check_unharmed()
        assert "ValueError" in client.stderr


async def test_errors_for_the_user_say_what_to_do() -> None:
    async with edge() as client:
        await client.initialize()
        error = await client.error(client.run("busy"))
        assert error["code"] == -32012
        sentence = "The session is busy. Stop its run first."
        assert error["message"] == sentence
        assert error["data"] == {"error": sentence, "code": "session_busy", "runId": "r0"}
        error = await client.error(client.request("agent/stop", {"runId": "r9"}))
        assert error["code"] == -32010
        assert error["data"]["code"] == "run_not_found"


async def test_many_requests_at_once_have_one_answer_each() -> None:
    async with edge() as client:
        await client.initialize()
        sent = [client.request("agent/ping") for _ in range(500)]
        runs = [client.run(f"text {number}") for number in range(100)]
        for number, msg_id in enumerate(runs):
            assert (await client.result(msg_id))["output"] == f"text {number}"
        for msg_id in sent:
            assert await client.result(msg_id) == {"pong": True}
        ids = [m["id"] for m in client.received if "method" not in m]
        assert len(ids) == len(set(ids)) == 1 + 600


# ---- framing, as bytes


PING = b'{"jsonrpc":"2.0","id":"odd","method":"agent/ping"}'


HEADERS = (
    b"content-length: %d\r\n\r\n",
    b"CONTENT-LENGTH:%d\r\n\r\n",
    b"Content-Length:   %d  \r\n\r\n",
    b"Content-Length: %d\n\n",
    b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
    b"\r\n\r\nContent-Length: %d\r\nX-Other: a: b\r\n\r\n",
)
JUNK = (
    b"Content-Length: many\r\n\r\n",
    b"X-Other: 1\r\n\r\n",
    b'{"no":"header"}',
    b"x" * 100_000,
    b"Content-Length: -5\r\n\r\n",
)


async def test_headers_as_others_write_them_and_junk_between() -> None:
    async with edge() as client:
        await client.initialize()
        for bytes_before in (*(head % len(PING) for head in HEADERS), *map(_junk_and_head, JUNK)):
            client.received.clear()
            client.send_bytes(bytes_before + PING)
            assert await client.result("odd") == {"pong": True}
            await client.check_unharmed()


def _junk_and_head(junk: bytes) -> bytes:
    return junk + b"Content-Length: %d\r\n\r\n" % len(PING)


async def test_a_message_over_the_cap_is_refused_and_skipped() -> None:
    size = 64 * 1024 * 1024 + 1
    async with edge() as client:
        await client.initialize()
        client.send_bytes(b"Content-Length: %d\r\n\r\n" % size)
        error = await client.error(None)
        assert error["code"] == -32600
        assert "64 MiB" in error["message"]
        client.send_bytes(b"x" * size)
        await client.check_unharmed()


async def test_large_messages_pass_in_both_directions() -> None:
    text = "é" * 3_000_000
    async with edge() as client:
        await client.initialize()
        assert (await client.result(client.run(text)))["output"] == text


async def test_a_message_may_come_byte_by_byte() -> None:
    async with edge() as client:
        await client.initialize()
        for byte in b"Content-Length: %d\r\n\r\n%b" % (len(PING), PING):
            client.send_bytes(bytes([byte]))
        assert await client.result("odd") == {"pong": True}
