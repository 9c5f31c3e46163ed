"""A host that was killed leaves the beginning of a conversation: every vendor accepts it, wherever
it was cut, also when it goes on with another vendor and when an open question is put once more.
"""

import json
from typing import Any

import pytest

from tests.boundary.test_vendors import ALL, LIST, READ_A, READ_B, Vendor
from tests.vendors import Turn, VendorServer
from tests.vendors.runs import Gate, run

LONG = (
    Turn("First I read.", thinking="What is there?", calls=(READ_A, READ_B)),
    Turn(thinking="Now the folder.", calls=(LIST,)),
    Turn("Once more.", calls=(READ_A,)),
    Turn("It is all there.", thinking="Good."),
)
PAIRS = list(zip(ALL, [*ALL[1:], ALL[0]], strict=True))


async def conversation(server: VendorServer) -> list[dict[str, Any]]:
    """A run as the store keeps it."""
    server.turns += LONG
    _, sink = await run(server, "one")
    return json.loads(json.dumps(sink.memory))


def without_result(history: list[dict[str, Any]]) -> tuple[str, ...]:
    done = {item["call_id"] for item in history if item["type"] == "function_call_output"}
    called = [item["call_id"] for item in history if item["type"] == "function_call"]
    return tuple(each for each in called if each not in done)


@pytest.mark.parametrize(
    ("before", "after"),
    [*zip(ALL, ALL, strict=True), *PAIRS],
    ids=lambda vendor: vendor.vendor,
)
async def test_a_conversation_that_was_cut_anywhere_goes_on(before: Vendor, after: Vendor) -> None:
    async with before() as first, after() as second:
        whole = await conversation(first)
        assert len(whole) > 10
        server = first if before is after else second
        put_again = [await goes_on(server, whole[:end]) for end in range(len(whole) + 1)]
    assert first.refused == second.refused == []
    assert sum(put_again) > 2


async def goes_on(server: VendorServer, history: list[dict[str, Any]]) -> bool:
    """One more run, and one that puts open calls once more if there are any."""
    unanswered = without_result(history)
    for wished in {(), unanswered}:
        server.turns += [Turn("Went on.", calls=(LIST,)), Turn("Done.")]
        gate = Gate()
        result, sink = await run(
            server, "go on", gate=gate, history=tuple(history), unanswered=wished
        )
        assert (result.status, result.output) == ("completed", "Done."), (history, server.refused)
        assert [call.call_id for call in gate.calls[:-1]] == list(wished)
        # What is remembered from now on is whole by itself.
        assert without_result(history + json.loads(json.dumps(sink.memory))) == ()
    return unanswered != ()
