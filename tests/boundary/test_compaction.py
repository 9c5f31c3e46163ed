"""Compaction through each vendor's own rules: what is sent afterwards is what it accepts."""

from typing import Any

import pytest

from agent_host.core.errors import ContextOverflow
from agent_host.core.model import ToolCall, ToolResult
from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Tokens,
    Turn,
    VendorServer,
)
from tests.vendors.runs import Gate, Sink, request, runtime

Vendor = type[VendorServer]
VENDORS: tuple[Vendor, ...] = (OpenAIVendor, AnthropicVendor, GeminiVendor, ChatVendor)
each_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda v: v.vendor)
TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum context length"

UNCOUNTED = Tokens(0, 0, 0, 0, 0)
"""So that the estimate is the one from bytes."""


async def read(call: ToolCall) -> ToolResult:
    lines = 1 if call.arguments["path"] == "small" else 300
    return ToolResult("ok", f"{call.call_id} " + "line of text\n" * lines, "done")


def calling(path: str) -> Turn:
    calls = (Call("fs_read", {"path": path}),)
    return Turn(thinking="First look.", calls=calls, tokens=UNCOUNTED)


async def play(
    server: Any, *, window: int | None = None, history: Any = (), **more: Any
) -> tuple[Any, Sink]:
    sink = Sink()
    sdk = runtime(server, window=lambda _: window)
    try:
        wish = request(f"{server.vendor}/test-model", history=tuple(history), **more)
        return await sdk.run(wish, sink, Gate(read)), sink
    finally:
        await sdk.close()


@each_vendor
async def test_a_full_context_is_compacted_between_turns_and_the_run_goes_on(
    vendor: Vendor,
) -> None:
    turns = (
        calling("a"),
        calling("b"),
        Turn(text="The summary."),
        calling("small"),
        Turn(text="ok"),
    )
    async with vendor(*turns) as server:
        result, sink = await play(server, window=2900)
        assert server.refused == []
        assert (result.status, result.output) == ("completed", "ok")
        (how,) = sink.compactions
        assert (how.why, how.summary) == ("full", "The summary.")
        assert how.after < how.before
        asked, after = (str(body) for body in server.bodies[2:4])
        assert "You keep a working memory" in asked
        assert "fs_list" not in asked
        assert "The summary." in after
        assert "You are careful." in after
        assert "The summary." not in sink.said
        # The memory is what a new process would be given: it goes on from there.
        server.turns.append(Turn(text="and on"))
        result, _ = await play(server, history=sink.memory)
        assert server.refused == []
        assert result.output == "and on"
        assert "The summary." in str(server.bodies[-1])


@each_vendor
async def test_what_the_vendor_finds_too_long_is_compacted_once_and_asked_again(
    vendor: Vendor,
) -> None:
    turns = (
        calling("a"),
        calling("b"),
        Turn(status=400, message=TOO_LONG),
        Turn(text="The summary."),
        Turn(text="ok"),
    )
    async with vendor(*turns) as server:
        result, sink = await play(server)
        assert server.refused == []
        assert (result.status, result.output) == ("completed", "ok")
        assert [how.why for how in sink.compactions] == ["overflow"]
        assert len(sink.retries) == 1


@each_vendor
async def test_what_does_not_fit_after_compaction_ends_with_its_reason(vendor: Vendor) -> None:
    no = Turn(status=400, message=TOO_LONG)
    turns = (calling("a"), calling("b"), no, Turn(text="The summary."), no, Turn(text="never"))
    async with vendor(*turns) as server:
        result, sink = await play(server)
        assert result.status == "failed"
        assert isinstance(result.error, ContextOverflow)
        assert "compacting it did not help" in result.error.message
        assert len(sink.compactions) == 1
        assert len(server.bodies) == 5


@each_vendor
async def test_a_tiny_window_and_huge_instructions_end_at_once_with_their_reason(
    vendor: Vendor,
) -> None:
    no = Turn(status=400, message=TOO_LONG)
    async with vendor(no, no, no, no) as server:
        result, sink = await play(server, window=100, instructions="Be careful. " * 5000)
        assert isinstance(result.error, ContextOverflow)
        assert "of 100 tokens, and there is nothing to compact" in result.error.message
        assert len(sink.compactions) + len(server.bodies) <= 2


async def test_a_window_that_is_too_small_for_the_work_does_not_compact_for_ever() -> None:
    (vendor, *_) = VENDORS
    turns = [calling(f"f{number}") for number in range(12)]
    mixed = [each for turn in turns for each in (turn, Turn(text="Sum."))]
    async with vendor(*mixed) as server:
        result, sink = await play(server, window=300, instructions="Be careful. " * 500)
        assert result.status in ("failed", "completed")
        assert len(sink.compactions) <= 2


@each_vendor
async def test_compaction_on_wish_summarises_all_and_asks_nothing_else(vendor: Vendor) -> None:
    async with vendor(calling("a"), Turn(text="ok")) as server:
        _, sink = await play(server)
    async with vendor(Turn(text="The summary.")) as server:
        history = list(sink.memory)
        result, after = await play(server, history=history, purpose="compact")
        assert result.status == "completed"
        assert result.output.startswith("Compacted")
        assert [how.why for how in after.compactions] == ["asked"]
        assert len(after.memory) == 1
        assert len(server.bodies) == 1


async def test_there_may_be_nothing_to_compact() -> None:
    (vendor, *_) = VENDORS
    async with vendor() as server:
        result, sink = await play(server, purpose="compact")
        assert result.output == "There is nothing to compact yet."
        assert sink.compactions == []


async def test_a_summary_that_fails_when_it_was_not_needed_yet_ends_nothing() -> None:
    (vendor, *_) = VENDORS
    turns = (calling("a"), calling("b"), Turn(status=400, message="bad luck"), Turn(text="ok"))
    async with vendor(*turns) as server:
        result, sink = await play(server, window=2900)
        assert (result.status, result.output) == ("completed", "ok")
        assert "could not be compacted" in sink.logs[0]


@each_vendor
async def test_usage_says_how_full_the_context_is(vendor: Vendor) -> None:
    async with vendor(Turn(text="ok")) as server:
        _, sink = await play(server, window=5000)
    last = sink.used[-1]
    assert last.context_tokens == last.input_tokens + last.output_tokens
    assert last.context_window == 5000
