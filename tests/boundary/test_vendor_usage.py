"""What a call has used that never told: a stop or a cut is not for nothing, and is said to be
estimated.
"""

import asyncio

import pytest

from agent_host.core.model import Usage
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
from tests.vendors.runs import Gate, Sink, request, run, runtime

Vendor = type[VendorServer]
ALL = [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor]
each_vendor = pytest.mark.parametrize("vendor", ALL, ids=lambda vendor: vendor.vendor)
LONG = "word " * 400
CALL = Call("fs_list", {"path": "."})


def by_tokens(_: str, usage: Usage) -> float | None:
    return usage.input_tokens + 1000 * usage.output_tokens


async def used_until_stopped(server: VendorServer, place: Place) -> Usage:
    """The last of what was told to have been used, of a run that is stopped at that place."""
    sink = Sink()
    sdk = runtime(server, price=by_tokens)
    wish = request(f"{server.vendor}/test-model", LONG)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(sdk.run(wish, sink, Gate()))
        await server.hanging.wait()
        if place == "text":
            await sink.spoke.wait()
        task.cancel()
    await sdk.close()
    return sink.used[-1]


@each_vendor
@pytest.mark.parametrize("place", ["nothing", "text"])
async def test_a_stopped_call_counts_with_what_it_has_taken_at_the_least(
    vendor: Vendor, place: Place
) -> None:
    tokens = Tokens(input=1000, cached=0, output=0)
    async with vendor(Turn(LONG, hang=place, tokens=tokens)) as server:
        used = await used_until_stopped(server, place)
    assert (used.requests, used.estimated) == (1, True)
    assert used.input_tokens > 500
    assert (used.output_tokens > 200) == (place == "text")
    assert used.cost_usd == by_tokens("", used)


@each_vendor
async def test_what_was_cached_before_is_thought_to_be_cached_still(vendor: Vendor) -> None:
    tokens = Tokens(input=100, cached=60)
    async with vendor(Turn(calls=(CALL,), tokens=tokens), Turn(hang="nothing")) as server:
        used = await used_until_stopped(server, "nothing")
    assert (used.estimated, used.cached_tokens) == (True, 60)
    assert used.input_tokens > 60


@each_vendor
async def test_a_call_that_was_cut_in_its_thinking_counts_beside_the_one_after_it(
    vendor: Vendor,
) -> None:
    async with vendor(Turn(thinking=LONG, cut="thinking"), Turn("Whole.")) as server:
        _, sink = await run(server)
    lost, whole = sink.used
    assert (lost.requests, lost.estimated, whole.estimated) == (1, True, False)
    assert lost.output_tokens > 200
    assert lost.plus(whole).estimated


@each_vendor
async def test_a_request_that_was_refused_took_nothing(vendor: Vendor) -> None:
    async with vendor(Turn(status=429), Turn("Whole.")) as server:
        _, sink = await run(server)
    assert [used.estimated for used in sink.used] == [False]
