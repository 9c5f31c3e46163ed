"""Each vendor's provider against a server that speaks its protocol and refuses wrong requests."""

import asyncio
import base64
import itertools
import json

import pytest

from agent_host.core.errors import (
    AgentHostError,
    AuthFailed,
    ModelNotFound,
    NoApiKey,
    Overloaded,
    RateLimited,
    RuntimeFailed,
    RuntimeMissing,
)
from agent_host.core.model import ImagePart, TextPart, ToolCall, ToolResult, Usage
from agent_host.runtimes import RuntimeSettings
from agent_host.runtimes.sdk import SdkRuntime
from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Place,
    Tokens,
    Turn,
    VendorServer,
)
from tests.vendors.runs import Gate, Pauses, Sink, request, run, runtime

Vendor = type[VendorServer]
ALL = [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor]
each_vendor = pytest.mark.parametrize("vendor", ALL, ids=lambda vendor: vendor.vendor)

READ_A = Call("fs_read", {"path": "a"})
READ_B = Call("fs_read", {"path": "b é"})
LIST = Call("fs_list", {"path": "."})
TWO_TOOL_TURNS = (
    Turn("First I read.", thinking="What is there?", calls=(READ_A, READ_B)),
    Turn(thinking="Now the folder.", calls=(LIST,)),
    Turn("It is all there.", thinking="Good."),
)


@each_vendor
async def test_two_tool_turns_with_calls_at_once(vendor: Vendor) -> None:
    gate = Gate()
    async with vendor(*TWO_TOOL_TURNS) as server:
        result, sink = await run(server, gate=gate)
    assert server.refused == []
    assert (result.status, result.output, result.error) == ("completed", "It is all there.", None)
    assert sink.said == "First I read.It is all there."
    assert "What is there?" in sink.thought
    assert [call.arguments["path"] for call in gate.calls] == ["a", "b é", "."]
    assert len({call.call_id for call in gate.calls}) == 3
    assert gate.most_inside == 2
    assert server.connections == 1


@each_vendor
async def test_what_is_used_is_told_after_each_call(vendor: Vendor) -> None:
    tokens = Tokens(input=100, output=20, cached=60, reasoning=5)
    async with vendor(Turn(calls=(LIST,), tokens=tokens), Turn("Done.", tokens=tokens)) as server:
        _, sink = await run(server)
    expected = Usage(1, 100, 20, 60, reasoning_tokens=5, context_tokens=120)
    assert sink.used == [expected, expected]


@each_vendor
async def test_a_conversation_goes_on_in_a_later_run(vendor: Vendor) -> None:
    turns = (*TWO_TOOL_TURNS, Turn("And on.", thinking="More.", calls=(LIST,)), Turn("End."))
    async with vendor(*turns) as server:
        _, first = await run(server, "one")
        # What is remembered goes through a store, that is, through JSON.
        history = tuple(json.loads(json.dumps(first.memory)))
        result, _ = await run(server, "two", history=history)
    assert server.refused == []
    assert result.output == "End."


@pytest.mark.parametrize(
    ("before", "after"),
    list(itertools.permutations(ALL, 2)),
    ids=lambda vendor: vendor.vendor,
)
async def test_a_conversation_goes_on_with_another_vendor(before: Vendor, after: Vendor) -> None:
    async with before(*TWO_TOOL_TURNS) as one, after(Turn(calls=(LIST,)), Turn("End.")) as other:
        _, first = await run(one, "one")
        result, _ = await run(other, "two", history=tuple(first.memory))
    assert other.refused == []
    assert result.output == "End."
    assert "fs_read of a" in json.dumps(other.bodies[0])


@each_vendor
async def test_what_a_vendor_hides_goes_to_the_same_model_only(vendor: Vendor) -> None:
    async with vendor(*TWO_TOOL_TURNS, Turn("End.")) as server:
        _, first = await run(server)
        other = tuple(
            json.loads(json.dumps(item).replace("/test-model", "/older-model"))
            for item in first.memory
        )
        await run(server, history=other)
    assert server.refused == []
    hidden = ("signature", "thoughtSignature", "encrypted_content")
    keys = _keys(server.bodies[-1]) - {"include"}
    assert keys.isdisjoint(hidden)


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


@each_vendor
async def test_what_the_user_says_in_mid_run_comes_after_the_results(vendor: Vendor) -> None:
    said = [(), (TextPart("Be brief."), TextPart("Please.")), ()]
    async with vendor(*TWO_TOOL_TURNS) as server:
        result, sink = await run(server, take_steering=lambda: said.pop(0))
    assert server.refused == []
    assert result.output == "It is all there."
    assert "Be brief." not in json.dumps(server.bodies[0])
    assert "Be brief." in json.dumps(server.bodies[1])
    assert [item.get("role") for item in sink.memory].count("user") == 2


@each_vendor
async def test_images_go_in(vendor: Vendor) -> None:
    pixel = base64.b64encode(b"\x89PNG pixel").decode()
    async with vendor(Turn("A pixel.")) as server:
        await run(server, "What is it?", ImagePart("image/png", pixel))
    assert server.refused == []
    sent = json.dumps(server.bodies[0])
    assert pixel in sent
    assert "image/png" in sent


@each_vendor
async def test_arguments_that_are_no_json_and_unknown_tools_are_told_to_the_model(
    vendor: Vendor,
) -> None:
    bad = Call("fs_read", '{"path": ' if vendor is not GeminiVendor else {"path": 1})
    unknown = Call("no.such.tool", {"path": "x"})
    gate = Gate()
    async with vendor(Turn(calls=(bad, unknown)), Turn("I see.")) as server:
        result, _ = await run(server, gate=gate)
    assert server.refused == []
    assert result.output == "I see."
    assert [call.name for call in gate.calls] == ["fs_read", "no.such.tool"]
    assert (gate.calls[0].problem is None) == (vendor is GeminiVendor)


@each_vendor
async def test_text_that_is_no_unicode_and_results_that_are_empty_can_be_sent(
    vendor: Vendor,
) -> None:
    async def odd(call: ToolCall) -> ToolResult:
        return ToolResult("ok", "" if call.name == "fs_list" else "name\udcff", "odd")

    async with vendor(Turn(calls=(LIST, READ_A)), Turn("Fine.")) as server:
        result, _ = await run(server, "half \ud83d", gate=Gate(odd))
    assert server.refused == []
    assert result.output == "Fine."


# ---- answers that end otherwise


@each_vendor
async def test_a_refusal_is_no_failure(vendor: Vendor) -> None:
    async with vendor(Turn("No.", finish="refused", message="against the rules")) as server:
        result, _ = await run(server)
    assert result.status == "refused"
    assert result.reason


@each_vendor
async def test_an_answer_cut_at_the_output_limit_is_no_success(vendor: Vendor) -> None:
    gate = Gate()
    turn = Turn("Half an ans", calls=(READ_A,), finish="length")
    async with vendor(turn, Turn("Again.")) as server:
        result, sink = await run(server, gate=gate)
        await run(server, history=tuple(sink.memory))
    assert server.refused == []
    assert result.status == "failed"
    assert result.output == "Half an ans"
    assert isinstance(result.error, RuntimeFailed)
    assert gate.calls == []


@each_vendor
async def test_an_empty_answer_is_no_success(vendor: Vendor) -> None:
    async with vendor(Turn()) as server:
        result, _ = await run(server)
    assert result.status == "failed"


@each_vendor
@pytest.mark.parametrize(
    ("status", "error"),
    [(401, AuthFailed), (404, ModelNotFound), (429, RateLimited), (503, Overloaded)],
)
async def test_refused_requests_are_typed(
    vendor: Vendor, status: int, error: type[AgentHostError]
) -> None:
    said = "API key not valid" if status == 401 else "no"
    async with vendor(*[Turn(status=status, message=said)] * 4) as server:
        result, sink = await run(server)
    assert result.status == "failed"
    assert type(result.error) is error
    assert len(server.bodies) == (1 if status in (401, 404) else 4)
    assert len(sink.retries) == len(server.bodies) - 1


@each_vendor
async def test_an_overloaded_vendor_is_asked_again(vendor: Vendor) -> None:
    turns = (Turn(status=529), Turn(status=429, retry_after=7.0), Turn("Here."))
    pauses = Pauses()
    async with vendor(*turns) as server:
        result, sink = await run(server, pauses=pauses)
    assert result.output == "Here."
    assert [wait for _, wait in sink.retries] == pauses.seconds
    assert pauses.seconds[1] == 7.0
    assert 0 < pauses.seconds[0] < 2


@each_vendor
async def test_a_wait_that_is_too_long_ends_the_run(vendor: Vendor) -> None:
    async with vendor(Turn(status=429, retry_after=3600.0)) as server:
        result, sink = await run(server)
    assert isinstance(result.error, RateLimited)
    assert "3600 s" in result.error.message
    assert sink.retries == []


@each_vendor
async def test_a_conversation_that_is_too_long_says_what_to_do(vendor: Vendor) -> None:
    said = "prompt is too long: 210000 tokens > 200000 maximum context length"
    async with vendor(Turn(status=400, message=said)) as server:
        result, _ = await run(server)
    assert result.error is not None
    assert result.error.code == "context_overflow"
    assert "there is nothing to compact" in result.error.message


@each_vendor
async def test_a_wrong_key_is_named_by_its_source_and_never_shown(vendor: Vendor) -> None:
    async with vendor() as server:
        wish = request(f"{vendor.vendor}/m")
        sdk = runtime(server, key="sk-wrong-and-secret")
        result = await sdk.run(wish, Sink(), Gate())
        await sdk.close()
    assert isinstance(result.error, AuthFailed)
    assert "KEY_OF_THE_TEST" in result.error.message
    assert "wrong-and-secret" not in f"{result!r} {result.error.details} {sdk._configs}"


@each_vendor
async def test_a_missing_key_or_address_names_the_variable(vendor: Vendor) -> None:
    sdk = SdkRuntime(RuntimeSettings())
    result = await sdk.run(request(f"{vendor.vendor}/m"), Sink(), Gate())
    await sdk.close()
    variable = {"local": "LOCAL_BASE_URL"}.get(vendor.vendor, f"{vendor.vendor.upper()}_API_KEY")
    error = RuntimeMissing if vendor is ChatVendor else NoApiKey
    assert isinstance(result.error, error)
    assert variable in result.error.message


@each_vendor
async def test_a_server_that_is_not_there_is_named(vendor: Vendor) -> None:
    server = vendor()
    async with server:
        pass
    result, sink = await run(server)
    assert isinstance(result.error, RuntimeFailed)
    assert str(server.port) in result.error.message
    assert len(sink.retries) == 3


# ---- streams that break off


@each_vendor
@pytest.mark.parametrize("cleanly", [False, True], ids=["torn", "cleanly"])
@pytest.mark.parametrize("place", ["nothing", "thinking", "text", "half_call", "call"])
async def test_a_cut_stream_is_asked_again_only_while_nothing_was_said(
    vendor: Vendor, place: Place, cleanly: bool
) -> None:
    said = "Half." if place == "text" else ""
    cut = Turn(said, thinking="Hm.", calls=(READ_A,), cut=place, cleanly=cleanly)
    gate = Gate()
    async with vendor(cut, Turn("Whole.")) as server:
        result, sink = await run(server, gate=gate)
        assert server.refused == []
        if place == "text":
            assert (result.status, result.output) == ("failed", "Half.")
            assert isinstance(result.error, RuntimeFailed)
            assert sink.retries == []
            again, _ = await run(server, "go on", history=tuple(sink.memory))
            assert again.output == "Whole."
            assert "Half." in json.dumps(server.bodies[-1])
        else:
            assert (result.status, result.output) == ("completed", "Whole.")
            assert len(sink.retries) == 1
        assert server.refused == []
    assert gate.calls == []


@each_vendor
async def test_a_later_turn_that_breaks_off_keeps_both_what_was_done_and_said(
    vendor: Vendor,
) -> None:
    async with vendor(Turn("I read.", calls=(READ_A,)), Turn("Half.", cut="text")) as server:
        result, sink = await run(server)
    assert (result.status, result.output) == ("failed", "Half.")
    said = [
        (item["status"], item["content"]) for item in sink.memory if item.get("role") == "assistant"
    ]
    assert said[-1] == ("incomplete", [{"type": "output_text", "text": "Half."}])
    assert "fs_read of a" in json.dumps(sink.memory)


ODD_EVENTS = (
    "{broken",
    "null",
    "[]",
    "{}",
    '"text"',
    '{"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}}',
    '{"type": "message_start"}',
    '{"type": "response.completed"}',
    '{"type": "response.output_item.done", "item": {"type": "message"}}',
    '{"type": "response.output_text.delta"}',
    '{"choices": [{"delta": {"tool_calls": [{"function": null}]}}]}',
    '{"choices": [null]}',
    '{"candidates": [{"content": {"parts": [{"functionCall": {"args": 5}}]}}]}',
    '{"candidates": 5}',
)


@each_vendor
@pytest.mark.parametrize("event", ODD_EVENTS)
async def test_a_stream_that_makes_no_sense_is_typed(vendor: Vendor, event: str) -> None:
    async with vendor(*[Turn(raw=(event,))] * 4) as server:
        result, _ = await run(server)
    assert result.status == "failed"
    assert isinstance(result.error, RuntimeFailed)
    assert "broke off" in result.error.message


@each_vendor
async def test_an_error_in_mid_stream_is_typed(vendor: Vendor) -> None:
    async with vendor(Turn("Half.", error_in_stream=True)) as server:
        result, sink = await run(server)
    assert (result.status, result.output) == ("failed", "Half.")
    assert type(result.error) is (RuntimeFailed if vendor is ChatVendor else Overloaded)
    assert sink.retries == []


# ---- stop


@each_vendor
@pytest.mark.parametrize("place", ["nothing", "text", "half_call"])
async def test_stop_closes_the_stream_and_keeps_what_was_said(vendor: Vendor, place: Place) -> None:
    turn = Turn("Half." if place == "text" else "", calls=(READ_A,), hang=place)
    sink = Sink()
    async with vendor(turn, Turn("Whole.")) as server:
        sdk = runtime(server)
        wish = request(f"{server.vendor}/test-model")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(sdk.run(wish, sink, Gate()))
            await server.hanging.wait()
            if place == "text":
                await sink.spoke.wait()
            task.cancel()
        assert task.cancelled()
        await server.left.wait()
        said = [item for item in sink.memory if item.get("role") == "assistant"]
        assert [item["status"] for item in said] == (["incomplete"] if place == "text" else [])
        result = await sdk.run(
            request(f"{server.vendor}/test-model", "on", history=tuple(sink.memory)), Sink(), Gate()
        )
        await sdk.close()
    assert server.refused == []
    assert result.output == "Whole."


@each_vendor
async def test_stop_in_the_middle_of_calls_leaves_a_conversation_that_goes_on(
    vendor: Vendor,
) -> None:
    ready = asyncio.Event()

    async def one_of_two(call: ToolCall) -> ToolResult:
        if call.arguments.get("path") == "a":
            return ToolResult("ok", "the text of a", "read")
        ready.set()
        await asyncio.Event().wait()
        raise AssertionError

    sink = Sink()
    gate = Gate(one_of_two)
    turn = Turn("I read.", thinking="Both.", calls=(READ_A, READ_B))
    async with vendor(turn, Turn("Whole.")) as server:
        sdk = runtime(server)
        wish = request(f"{server.vendor}/test-model")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(sdk.run(wish, sink, gate))
            await ready.wait()
            task.cancel()
        assert task.cancelled()
        assert gate.inside == 0
        results = [item for item in sink.memory if item["type"] == "function_call_output"]
        assert [item["status"] for item in results] == ["completed", "incomplete"]
        result = await sdk.run(
            request(f"{server.vendor}/test-model", "on", history=tuple(sink.memory)), Sink(), Gate()
        )
        await sdk.close()
    assert server.refused == []
    assert result.output == "Whole."
    assert "the text of a" in json.dumps(server.bodies[-1])
