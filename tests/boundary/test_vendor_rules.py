"""The vendors' servers of the tests refuse what the vendors refuse: each rule, broken once."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Turn,
    VendorServer,
)
from tests.vendors.runs import run
from tests.vendors.server import Refused

TURNS = (
    Turn(thinking="Hm.", calls=(Call("fs_read", {"path": "a"}), Call("fs_list", {"path": "b"}))),
    Turn(thinking="So.", calls=(Call("fs_read", {"path": "c"}),)),
    Turn("Done."),
)
Body = dict[str, Any]
Break = Callable[[Body], object]


def _blocks(body: Body, number: int) -> list[Any]:
    return body["messages"][number]["content"]


def _mark_all(body: Body) -> None:
    for number in range(1, 5):
        for block in _blocks(body, number):
            if block["type"] != "thinking":
                block["cache_control"] = {"type": "ephemeral"}


def _parts(body: Body, number: int) -> list[Any]:
    return body["contents"][number]["parts"]


def _kind(body: Body, kind: str) -> list[int]:
    return [n for n, item in enumerate(body["input"]) if item.get("type") == kind]


def _pop(body: Body, kind: str, which: int = 0) -> None:
    body["input"].pop(_kind(body, kind)[which])


def _swap(values: list[Any], one: int, other: int) -> None:
    values[one], values[other] = values[other], values[one]


ANTHROPIC: dict[str, tuple[Break, str]] = {
    "a call without its result": (lambda b: _blocks(b, 2).pop(), "need tool_result"),
    "a result without its call": (lambda b: _blocks(b, 1).pop(), "need tool_result"),
    "words before a result": (
        lambda b: _blocks(b, 2).insert(0, {"type": "text", "text": "x"}),
        "must come first",
    ),
    "no result at all": (lambda b: b["messages"].pop(2), "need tool_result"),
    "the agent begins": (lambda b: b["messages"].pop(0), "first message"),
    "the agent ends": (lambda b: b["messages"].pop(), "prefill|need tool_result"),
    "another signature": (lambda b: _blocks(b, 3)[0].update(signature="x"), "Invalid `signature`"),
    "other thinking": (lambda b: _blocks(b, 3)[0].update(thinking="x"), "Invalid `signature`"),
    "no thinking in the last turn": (lambda b: _blocks(b, 3).pop(0), "Expected `thinking`"),
    "no thinking before": (lambda b: _blocks(b, 1).pop(0), "Expected `thinking`"),
    "the other turn's thinking": (
        lambda b: _blocks(b, 3).insert(0, _blocks(b, 1)[0]),
        "cannot be modified",
    ),
    "thinking behind the call": (lambda b: _swap(_blocks(b, 3), 0, 1), "cannot be modified"),
    "an id twice": (lambda b: _blocks(b, 1).insert(1, _blocks(b, 1)[1]), "need tool_result|unique"),
    "an empty text": (
        lambda b: _blocks(b, 0).append({"type": "text", "text": " "}),
        "non-whitespace",
    ),
    "too many marks": (_mark_all, "maximum of 4 blocks"),
    "a tool twice": (lambda b: b["tools"].append(b["tools"][0]), "unique"),
    "a call by the user": (lambda b: b["messages"][1].update(role="user"), "may not be in user"),
}
OPENAI: dict[str, tuple[Break, str]] = {
    "a call without its result": (lambda b: _pop(b, "function_call_output"), "No tool output"),
    "a result without its call": (lambda b: _pop(b, "function_call", 1), "No tool call found"),
    "a result before its call": (
        lambda b: b["input"].insert(0, b["input"].pop(_kind(b, "function_call_output")[0])),
        "No tool call found",
    ),
    "two results": (
        lambda b: b["input"].append(b["input"][_kind(b, "function_call_output")[0]]),
        "two outputs",
    ),
    "a call without its reasoning": (lambda b: _pop(b, "reasoning"), "required 'reasoning' item"),
    "reasoning without its call": (
        lambda b: (_pop(b, "function_call", 2), _pop(b, "function_call_output", 2)),
        "following item",
    ),
    "other reasoning": (
        lambda b: b["input"][_kind(b, "reasoning")[0]].update(encrypted_content="x"),
        "could not be verified",
    ),
    "reasoning without its content": (
        lambda b: b["input"][_kind(b, "reasoning")[0]].pop("encrypted_content"),
        "not found",
    ),
    "an item twice": (
        lambda b: b["input"].insert(0, b["input"][_kind(b, "reasoning")[0]]),
        "Duplicate item",
    ),
    "state at the vendor's": (lambda b: b.update(store=True), "no state"),
    "a tool twice": (lambda b: b["tools"].append(b["tools"][0]), "unique"),
}
GEMINI: dict[str, tuple[Break, str]] = {
    "a call without its result": (lambda b: _parts(b, 2).pop(), "number of function response"),
    "a result without its call": (lambda b: _parts(b, 1).pop(), "number of function response"),
    "results in another order": (lambda b: _swap(_parts(b, 2), 0, 1), "another name"),
    "words among the results": (
        lambda b: b["contents"][2].update(parts=[{"text": "x"}]),
        "number of function response",
    ),
    "a lost signature": (
        lambda b: [part.pop("thoughtSignature", None) for part in _parts(b, 3)],
        "missing a thought_signature",
    ),
    "a signature lost before": (
        lambda b: [part.pop("thoughtSignature", None) for part in _parts(b, 1)],
        "missing a thought_signature",
    ),
    "another signature": (
        lambda b: [p.update(thoughtSignature="x") for p in _parts(b, 3) if "thoughtSignature" in p],
        "Corrupted thought signature",
    ),
    "the agent begins": (lambda b: b["contents"].pop(0), "must come after a user turn"),
    "a tool twice": (
        lambda b: b["tools"].append(b["tools"][0]),
        "Duplicate function declaration",
    ),
}
CHAT: dict[str, tuple[Break, str]] = {
    "a call without its result": (lambda b: b["messages"].pop(), "have no result"),
    "a result without its call": (
        lambda b: b["messages"].append({"role": "tool", "tool_call_id": "x", "content": ""}),
        "without a call",
    ),
    "the user twice": (
        lambda b: b["messages"].insert(1, {"role": "user", "content": "x"}),
        "must alternate",
    ),
    "lost thinking": (
        lambda b: [message.pop("reasoning_content", None) for message in b["messages"]],
        "Missing `reasoning_content`",
    ),
    "a tool twice": (lambda b: b["tools"].append(b["tools"][0]), "unique"),
    "the system in the middle": (
        lambda b: b["messages"].append({"role": "system", "content": "x"}),
        "must come first",
    ),
}
CASES = [
    pytest.param(vendor, *rule, id=f"{vendor.vendor}: {name}")
    for vendor, rules in (
        (AnthropicVendor, ANTHROPIC),
        (OpenAIVendor, OPENAI),
        (GeminiVendor, GEMINI),
        (ChatVendor, CHAT),
    )
    for name, rule in rules.items()
]


@pytest.mark.parametrize(("vendor", "breaks", "said"), CASES)
async def test_a_broken_rule_is_refused(
    vendor: type[VendorServer], breaks: Break, said: str
) -> None:
    async with vendor(*TURNS) as server:
        await run(server)
        assert server.refused == []
        body = copy.deepcopy(server.bodies[-1])
        server.check(*server.asked[-1], body)
        breaks(body)
        with pytest.raises(Refused, match=said):
            server.check(*server.asked[-1], body)
