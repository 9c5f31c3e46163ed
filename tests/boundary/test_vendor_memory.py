"""What vendors don't take back, and what only they know of a model: learnt, told, gone on with."""

import json
import re

import pytest

from tests.vendors import AnthropicVendor, Call, GeminiVendor, OpenAIVendor, Turn, VendorServer
from tests.vendors.runs import Gate, Sink, request, run, runtime

SIGNED = [AnthropicVendor, OpenAIVendor, GeminiVendor]


@pytest.mark.parametrize("vendor", SIGNED, ids=lambda vendor: vendor.vendor)
async def test_what_a_vendor_no_longer_takes_back_is_left_out_and_told(
    vendor: type[VendorServer],
) -> None:
    """As after a change of the account: sessions go on, with one notice for each run."""
    turns = (Turn("I look.", thinking="Hm.", calls=(Call("fs_read", {"path": "a"}),)), Turn("So."))
    later = (Turn("I look.", thinking="Hm.", calls=(Call("fs_read", {"path": "b"}),)), Turn("End."))
    async with vendor(*turns, *later) as server:
        _, sink = await run(server)
        broken = re.sub(
            r"[0-9a-f]{40}|(?<=thought_signature\": \")....", "AAAA", json.dumps(sink.memory)
        )
        assert broken != json.dumps(sink.memory)
        result, sink = await run(server, "on", history=tuple(json.loads(broken)))
    assert (result.status, result.output) == ("completed", "End."), result.error
    assert len(server.refused) == 1
    assert len(sink.retries) == 1
    assert "left out" in sink.retries[0][0]


async def test_the_most_that_a_model_may_say_is_learnt_from_its_refusal() -> None:
    refused = Turn(status=400, message="max_tokens: 32000 > 8192, which is the maximum allowed")
    async with AnthropicVendor(refused, Turn("Hi."), Turn("Hi.")) as server:
        sdk = runtime(server)
        for _ in range(2):
            result = await sdk.run(request("anthropic/gateway/model:x"), Sink(), Gate())
            assert result.output == "Hi."
        await sdk.close()
    assert [body["max_tokens"] for body in server.bodies] == [32_000, 8192, 8192]


@pytest.mark.parametrize("reason", ["pause_turn", "something_new"])
async def test_an_end_that_is_not_known_is_no_success(reason: str) -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    async with AnthropicVendor(Turn(raw=tuple(map(json.dumps, events)))) as server:
        result, _ = await run(server)
    assert (result.status, result.output) == ("failed", "Hi.")
    assert reason in str(result.error)
