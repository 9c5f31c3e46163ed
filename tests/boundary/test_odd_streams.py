"""Streams that are cut anywhere, and bodies that are none: asked again or told, never taken."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from agent_host.core.errors import AuthFailed, ModelNotFound, RateLimited, RuntimeFailed
from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Turn,
    VendorServer,
)
from tests.vendors.runs import Gate, Pauses, run

Vendor = type[VendorServer]
ALL = [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor]
each_vendor = pytest.mark.parametrize("vendor", ALL, ids=lambda vendor: vendor.vendor)
LOGIN = "<!DOCTYPE html><html><head><title>Sign in &amp; go</title></head><body>no</body></html>"
SAID = "日本 é 🙂"


@each_vendor
@pytest.mark.parametrize("size", [1, 7])
async def test_characters_may_be_cut_anywhere(vendor: Vendor, size: int) -> None:
    calls = (Call("fs_read", {"path": "é 🙂"}),)
    gate = Gate()
    turns = (Turn(thinking="ü", calls=calls, piece=size), Turn(SAID, piece=size))
    async with vendor(*turns) as server:
        result, sink = await run(server, gate=gate)
    assert server.refused == []
    assert (result.output, sink.retries) == (SAID, [])
    assert gate.calls[0].arguments == {"path": "é 🙂"}


def noisy(event: bytes, vendor: Vendor) -> bytes:
    """With lines that end otherwise, and with signs of life as proxies send them."""
    event = event.replace(b"\n", b"\r\n")
    # Gemini's SDK, which reads its streams, takes no comments.
    return event if vendor is GeminiVendor else b": ping\r\n\r\n" + event + b":\r\n\r\n"


@each_vendor
@pytest.mark.parametrize("size", [3, 100_000])
async def test_signs_of_life_other_line_ends_and_compression_are_taken(
    vendor: Vendor, size: int
) -> None:
    turns = (Turn(thinking="ü", calls=(Call("fs_read", {"path": "é"}),)), Turn(SAID))
    gate = Gate()
    async with vendor(*(replace(each, piece=size, zipped=True) for each in turns)) as server:
        encode = server.encode
        server.encode = lambda data: noisy(encode(data), vendor)  # type: ignore[method-assign]
        result, sink = await run(server, gate=gate)
    assert (result.output, sink.retries) == (SAID, [])
    assert gate.calls[0].arguments == {"path": "é"}


@each_vendor
@pytest.mark.parametrize("cleanly", [False, True], ids=["torn", "cleanly"])
@pytest.mark.parametrize("at", [0, 1, 30, 200])
async def test_a_stream_cut_in_an_event_is_asked_for_again(
    vendor: Vendor, at: int, cleanly: bool
) -> None:
    cut = Turn(calls=(Call("fs_read", {"path": "a"}),), cut_bytes=at, cleanly=cleanly)
    gate = Gate()
    async with vendor(cut, Turn("Whole.")) as server:
        result, sink = await run(server, gate=gate)
    assert (result.output, len(sink.retries), gate.calls) == ("Whole.", 1, [])


@each_vendor
async def test_a_page_in_place_of_an_answer_is_told_with_what_to_check(vendor: Vendor) -> None:
    async with vendor(Turn(page=("text/html", LOGIN)), Turn("never")) as server:
        result, _ = await run(server)
    assert type(result.error) is RuntimeFailed
    for said in ("Sign in & go", "check the URL", "proxy", str(server.port)):
        assert said in result.error.message
    assert "<" not in result.error.message


@each_vendor
@pytest.mark.parametrize(
    ("status", "kind", "advice"),
    [
        (403, AuthFailed, "KEY_OF_THE_TEST"),
        (404, ModelNotFound, "check its name and the URL"),
        (307, RuntimeFailed, "set the URL to where it points"),
        (407, RuntimeFailed, "http://name:password@host:port"),
    ],
)
async def test_a_page_with_a_status_is_told_in_one_sentence(
    vendor: Vendor, status: int, kind: type[Exception], advice: str
) -> None:
    async with vendor(Turn(status=status, page=("text/html", LOGIN))) as server:
        result, _ = await run(server)
    assert type(result.error) is kind
    assert advice in result.error.message
    assert "<" not in result.error.message


@each_vendor
async def test_an_error_with_status_200_is_no_empty_answer(vendor: Vendor) -> None:
    async with vendor() as server:
        body: Any = server.error(429, Turn(message="slow down please"))
    if vendor is OpenAIVendor:
        body["error"]["code"] = "rate_limit_exceeded"
    if vendor is ChatVendor:
        body["error"]["code"] = 429
    again = [Turn(page=("application/json", json.dumps(body)))] * 4
    async with vendor(*again) as server:
        result, sink = await run(server)
    assert type(result.error) is RateLimited
    assert "slow down please" in result.error.message
    assert len(sink.retries) == 3


@each_vendor
async def test_a_wait_may_be_given_as_a_date(vendor: Vendor) -> None:
    then, now = "Wed, 21 Oct 2026 07:28:09 GMT", "Wed, 21 Oct 2026 07:28:00 GMT"
    pauses = Pauses()
    page = ("application/json", '{"error": {"message": "later", "code": 429}}')
    turn = Turn(status=429, retry_after=then, date=now, page=page)
    async with vendor(turn, Turn("Here.")) as server:
        result, _ = await run(server, pauses=pauses)
    assert (result.output, pauses.seconds) == ("Here.", [9.0])


@each_vendor
@pytest.mark.parametrize(
    ("written", "meant", "problem"),
    [
        ("", {}, False),
        (" ", {}, False),
        ("null", {}, False),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}, False),
        ('[{"path": "a"}]', {}, True),
        ('"a"', {}, True),
        ("{'path': 'a'}", {}, True),
    ],
)
async def test_arguments_are_understood_or_told_to_the_model(
    vendor: Vendor, written: str, meant: object, *, problem: bool
) -> None:
    if vendor is GeminiVendor:  # whose arguments are always objects
        return
    gate = Gate()
    async with vendor(Turn(calls=(Call("fs_list", written),)), Turn("I see.")) as server:
        result, _ = await run(server, gate=gate)
    assert (server.refused, result.output) == ([], "I see.")
    assert (gate.calls[0].arguments, gate.calls[0].problem is not None) == (meant, problem)


@each_vendor
@pytest.mark.parametrize("how", ["hang", "cut"])
async def test_an_answer_that_is_whole_needs_no_end_of_the_connection(
    vendor: Vendor, how: str
) -> None:
    whole = Turn("Whole.", **{how: "end"})
    async with asyncio.timeout(20), vendor(whole) as server:
        result, sink = await run(server)
    assert (result.status, result.output) == ("completed", "Whole.")
    assert (sink.retries, sink.used[-1].input_tokens) == ([], 100)
