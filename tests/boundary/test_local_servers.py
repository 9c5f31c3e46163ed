"""Servers that speak chat completions in their own way: what they mean is taken, or said."""

import json
from typing import Any

import pytest

from agent_host.core.errors import AuthFailed, ModelNotFound, RateLimited, RuntimeFailed
from tests.vendors import Call, ChatVendor, Turn
from tests.vendors.runs import Gate, Sink, request, run, runtime

READ = '{"path": "a"}'


def delta(finish: str | None = None, **fields: Any) -> str:
    """A chunk with no more than some servers send."""
    return json.dumps({"choices": [{"delta": fields, "finish_reason": finish}]})


def piece(arguments: object = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    """A piece of a call; None is left out."""
    function = {"name": name, "arguments": arguments}
    return fields | {"function": {k: v for k, v in function.items() if v is not None}}


def turn(*chunks: str) -> Turn:
    return Turn(raw=(*chunks, "[DONE]"))


A, B = ("fs_read", {"path": "a"}), ("fs_list", {"path": "b"})
LIST = '{"path": "b"}'
CALLS: dict[str, tuple[list[dict[str, Any]], list[Any]]] = {
    "in one piece": ([piece(READ, "fs_read", index=0, id="1")], [A]),
    "no index": ([piece(READ, "fs_read", id="1"), piece(LIST, "fs_list", id="2")], [A, B]),
    "no index and no id": ([piece(READ, "fs_read"), piece(LIST, "fs_list")], [A, B]),
    "no id": ([piece(READ, "fs_read", index=0), piece(LIST, "fs_list", index=1)], [A, B]),
    "one id for all": (
        [piece(READ, "fs_read", index=0, id="x"), piece(LIST, "fs_list", index=1, id="x")],
        [A, B],
    ),
    "all of them number 0": (
        [piece(READ, "fs_read", index=0, id=""), piece(LIST, "fs_list", index=0, id="")],
        [A, B],
    ),
    "the same twice, both number 0": ([piece(READ, "fs_read", index=0)] * 2, [A, A]),
    "another id for each piece": (
        [
            piece("", "fs_read", index=0, id="1"),
            piece('{"path"', index=0, id="2"),
            piece(': "a"}', index=0, id="3"),
        ],
        [A],
    ),
    "the name and id again in each piece": (
        [
            piece('{"path"', "fs_read", index=0, id="1"),
            piece(': "a"}', "fs_read", index=0, id="1"),
        ],
        [A],
    ),
    "pieces with nothing but arguments": (
        [piece("", "fs_read", id="1"), piece('{"path"'), piece(': "a"}')],
        [A],
    ),
    "arguments that are an object": ([piece({"path": "a"}, "fs_read", index=0, id="1")], [A]),
    "arguments within a text": ([piece(json.dumps(READ), "fs_read", index=0, id="1")], [A]),
    "empty arguments": ([piece("", "fs_list", index=0, id="1")], [("fs_list", {})]),
    "null as arguments": ([piece("null", "fs_list", index=0, id="1")], [("fs_list", {})]),
    "no arguments": ([piece(None, "fs_list", index=0, id="1")], [("fs_list", {})]),
    "an empty call beside": ([piece(READ, "fs_read", index=0, id="1"), piece(index=1)], [A]),
}


@pytest.mark.parametrize("how", CALLS)
async def test_calls_are_understood(how: str) -> None:
    pieces, expected = CALLS[how]
    gate = Gate()
    chunks = [delta(tool_calls=[each]) for each in pieces]
    async with ChatVendor(turn(*chunks, delta("stop")), Turn("Done.")) as server:
        result, _ = await run(server, gate=gate)
    assert server.refused == []
    assert [(call.name, dict(call.arguments)) for call in gate.calls] == expected
    assert all(call.problem is None for call in gate.calls)
    assert result.output == "Done."


TEXTS: dict[str, tuple[str, ...]] = {
    "no role, no usage": (delta(content="Hi."), delta("stop")),
    "no finish reason but the end mark": (delta(content="Hi."),),
    "an odd finish reason": (delta(content="Hi."), delta("eos")),
    "delta null": (delta(content="Hi."), '{"choices": [{"delta": null, "finish_reason": "stop"}]}'),
    "choices null": (delta(content="Hi."), '{"choices": null, "usage": null}', delta("stop")),
    "parts": (delta(content=[{"type": "text", "text": "Hi."}]), delta("stop")),
    "calls announced": (delta(content="Hi."), delta("tool_calls")),
    "calls null": (delta(content="Hi.", tool_calls=None), delta("stop")),
}


@pytest.mark.parametrize("how", TEXTS)
async def test_text_is_understood(how: str) -> None:
    async with ChatVendor(turn(*TEXTS[how])) as server:
        result, sink = await run(server)
    assert (result.status, result.output) == ("completed", "Hi."), result.error
    assert sink.retries == []


async def test_an_answer_without_usage_counts_as_a_request_of_unknown_price() -> None:
    async with ChatVendor(turn(delta(content="Hi."), delta("stop"))) as server:
        _, sink = await run(server)
    (used,) = sink.used
    assert (used.requests, used.input_tokens, used.cost_usd) == (1, 0, None)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("D681PevKs", True),
        ("functions.fs_read:0", True),
        ("call 1 é", True),
        ("", False),
        (None, False),
    ],
)
async def test_a_call_has_the_id_that_its_server_gave_it_or_one_that_all_take(
    given: str | None, kept: bool
) -> None:
    calls = [piece(READ, "fs_read", id=given, index=None), piece(LIST, "fs_list", id="other")]
    async with ChatVendor(turn(delta(tool_calls=calls)), Turn("Done.")) as server:
        result, _ = await run(server)
    assert server.refused == []
    assert result.output == "Done."
    *_, said, one, other = server.bodies[1]["messages"]
    sent = [call["id"] for call in said["tool_calls"]]
    assert [one["tool_call_id"], other["tool_call_id"]] == sent
    assert (sent[0] == given, sent[1]) == (kept, "other")
    assert [one["content"], other["content"]] == ["fs_read of a", "fs_list of b"]


async def test_an_id_that_a_server_gives_again_in_a_later_turn_is_no_riddle() -> None:
    again = [turn(delta(tool_calls=[piece(READ, "fs_read", id="call_0")]))] * 3
    gate = Gate()
    async with ChatVendor(*again, Turn("Done.")) as server:
        result, sink = await run(server, gate=gate)
    assert (server.refused, result.output) == ([], "Done.")
    assert len({call.call_id for call in gate.calls}) == 3
    assert len([item for item in sink.memory if "output" in item]) == 3


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
async def test_thinking_goes_back_where_it_came_from(field: str) -> None:
    chunks = (delta(**{field: "Hm."}), delta(tool_calls=[piece(READ, "fs_read", id="c")]))
    async with ChatVendor(turn(*chunks), Turn("Done.")) as server:
        server.check = lambda *_: None  # type: ignore[method-assign]
        result, sink = await run(server)
    assert (result.output, sink.thought) == ("Done.", "Hm.")
    (said,) = [m for m in server.bodies[1]["messages"] if m["role"] == "assistant"]
    assert said[field] == "Hm."


@pytest.mark.parametrize(
    "said",
    [
        "'messages.2' : property 'reasoning' is unsupported",
        "[{'type': 'extra_forbidden', 'loc': ['reasoning_content'], 'msg': 'Extra inputs'}]",
    ],
)
async def test_a_server_that_does_not_take_thoughts_back_is_not_given_them(said: str) -> None:
    call = Call("fs_read", {"path": "a"})
    turns = (Turn(thinking="Hm.", calls=(call,)), Turn(status=400, message=said), Turn("Done."))
    async with ChatVendor(*turns) as server:
        server.check = lambda *_: None  # type: ignore[method-assign]
        result, sink = await run(server)
    assert (result.output, sink.retries) == ("Done.", [])
    assert ["Hm." in json.dumps(body) for body in server.bodies] == [False, True, False]


THOUGHT = "<think>\nHm.\n</think>\n\n"
INLINE = {
    "marked": (THOUGHT, f"{THOUGHT}Hi.", 0),
    "the first mark in the prompt": ("\nHm.\n</think>\n\n", "\nHm.\n</think>\n\nHi.", 1),
}


@pytest.mark.parametrize("how", INLINE)
async def test_thinking_within_the_text_is_no_answer_and_goes_back_as_it_came(how: str) -> None:
    back, whole, voided = INLINE[how]
    call = delta(tool_calls=[piece(READ, "fs_read", id="c")])
    chunks = [delta(content=each) for each in whole]
    async with ChatVendor(turn(*chunks, call), turn(*chunks, delta("stop"))) as server:
        result, sink = await run(server)
        assert (result.output, result.status) == ("Hi.", "completed")
        assert "Hm." in sink.thought
        assert [wait for _, wait in sink.retries] == [0.0] * voided * 2
        await run(server, "And on.", history=tuple(sink.memory))
    assert server.refused == []
    (said,) = [m for m in server.bodies[1]["messages"] if m["role"] == "assistant"]
    assert said["content"] == f"{back}Hi."
    assert "Hm." not in json.dumps(server.bodies[2])


async def test_an_answer_that_is_not_streamed_is_taken() -> None:
    message = {"role": "assistant", "content": "Hi."}
    whole = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    async with ChatVendor(Turn(page=("application/json", whole))) as server:
        result, _ = await run(server)
    assert (result.status, result.output) == ("completed", "Hi.")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "slow down", "code": 429}, RateLimited),
        ({"message": "bad key", "code": "401"}, AuthFailed),
        ({"message": "no such model", "type": "model_not_found"}, ModelNotFound),
        ("it fell over", RuntimeFailed),
        ({}, None),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_an_error_with_status_200_is_an_error(
    error: object, kind: type[Exception] | None, streamed: bool
) -> None:
    body = json.dumps({"error": error})
    one = turn(body) if streamed else Turn(page=("application/json", body))
    async with ChatVendor(*[one] * 4) as server:
        result, sink = await run(server)
    if kind is None:
        assert result.status == "failed"
        return
    assert type(result.error) is kind
    said = error["message"] if isinstance(error, dict) else error
    assert str(said) in str(result.error)
    assert len(sink.retries) == (3 if kind in (RateLimited, RuntimeFailed) else 0)


@pytest.mark.parametrize("reason", ["error", "abort"])
async def test_a_server_that_gives_up_is_asked_again(reason: str) -> None:
    async with ChatVendor(turn(delta(reason)), Turn("Done.")) as server:
        result, sink = await run(server)
    assert result.output == "Done."
    assert reason in sink.retries[0][0]


async def test_a_call_that_was_announced_and_did_not_come_is_asked_for_again() -> None:
    async with ChatVendor(turn(delta("tool_calls")), Turn("Done.")) as server:
        result, sink = await run(server)
    assert result.output == "Done."
    assert len(sink.retries) == 1


@pytest.mark.parametrize(
    "name", ["qwen3-coder:30b", "org/model-7b", "hf.co/org/model:Q4_K_M", "a b"]
)
async def test_a_model_may_have_any_name(name: str) -> None:
    async with ChatVendor(Turn("Hi.")) as server:
        sdk = runtime(server)
        result = await sdk.run(request(f"local/{name}"), Sink(), Gate())
        await sdk.close()
    assert result.output == "Hi."
    assert server.bodies[0]["model"] == name


async def test_two_hundred_calls_at_once() -> None:
    calls = tuple(Call("fs_read", {"path": str(n)}) for n in range(200))
    gate = Gate()
    async with ChatVendor(Turn(thinking="All.", calls=calls), Turn("Done.")) as server:
        result, _ = await run(server, gate=gate)
    assert server.refused == []
    assert result.output == "Done."
    assert len({call.call_id for call in gate.calls}) == 200
