"""What is remembered, and how any history becomes one that every vendor accepts."""

import json
import re

import pytest

from agent_host.core.model import ImagePart, ResourcePart, TextPart
from agent_host.runtimes.conversation import (
    INTERRUPTED,
    AgentSaid,
    Called,
    Item,
    Opaque,
    Reasoned,
    Returned,
    UserSaid,
    decode,
    encode,
    interruptions,
    repaired,
    user_said,
)
from agent_host.runtimes.provider import CallIds

MODEL = "vendor/model"
OWN = Opaque(MODEL, {"signature": "s+/="})
FOREIGN = Opaque("vendor/other", {"signature": "x"})
GO = UserSaid((TextPart("go"),))
A, B, C = (Called(name, "fs_read", "{}") for name in "abc")
RA, RB, RC = (Returned(name, name.upper()) for name in "abc")
LOST = Returned("a", INTERRUPTED, interrupted=True)
THOUGHT = Reasoned("hm", OWN)


@pytest.mark.parametrize(
    "item",
    [
        GO,
        UserSaid((TextPart("look"), ImagePart("image/png", "aGk="))),
        AgentSaid("said"),
        AgentSaid("half", interrupted=True),
        AgentSaid("", opaque=OWN),
        Reasoned("hm"),
        THOUGHT,
        Called("id", "fs_read", '{"path": ', OWN),
        RA,
        LOST,
    ],
    ids=lambda item: type(item).__name__,
)
def test_what_is_remembered_comes_back_the_same(item: Item) -> None:
    assert decode(json.loads(json.dumps(encode(item)))) == item


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([GO, A, B, RB, RA], [GO, A, B, RA, RB], id="results in the order of calls"),
        pytest.param([GO, A, RA, B, RB], [GO, A, RA, B, RB], id="turns stay apart"),
        pytest.param(
            [GO, A, AgentSaid("x"), B, RA, RB, C, RC],
            [GO, A, AgentSaid("x"), B, RA, RB, C, RC],
            id="one turn stays together",
        ),
        pytest.param([GO, A], [GO, A, LOST], id="a call without a result"),
        pytest.param([GO, A, GO], [GO, A, LOST, GO], id="a call without a result, then a prompt"),
        pytest.param([GO, A, B, RB, GO], [GO, A, B, LOST, RB, GO], id="one of two results"),
        pytest.param([RB, GO, A, RA], [GO, A, RA], id="a result without a call"),
        pytest.param([GO, A, RA, A, RA], [GO, A, RA], id="a call twice"),
        pytest.param([GO, THOUGHT, A, RA], [GO, THOUGHT, A, RA], id="own thinking"),
        pytest.param([GO, THOUGHT, GO], [GO, GO], id="thinking that led to nothing"),
        pytest.param([GO, THOUGHT], [GO], id="thinking at the end"),
        pytest.param([GO, Reasoned("hm")], [GO], id="thinking that can't go back"),
        pytest.param(
            [GO, Reasoned("hm", FOREIGN), AgentSaid("x", opaque=FOREIGN)],
            [GO, AgentSaid("x")],
            id="another model's hidden data",
        ),
        pytest.param([GO, AgentSaid("", opaque=FOREIGN)], [GO], id="nothing but hidden data"),
        pytest.param(
            [Called("a", "a.b/ü", "{}", FOREIGN), RA],
            [Called("a", "a_b__", "{}"), RA],
            id="a name that vendors refuse",
        ),
    ],
)
def test_history_is_made_acceptable(history: list[Item], expected: list[Item]) -> None:
    assert repaired(history, MODEL) == tuple(expected)
    assert repaired(repaired(history, MODEL), MODEL) == tuple(expected)


def test_each_open_call_is_closed_once() -> None:
    assert interruptions([GO, A, B, RB]) == (LOST,)
    assert interruptions([GO, A, RA]) == ()


@pytest.mark.parametrize(
    "entry",
    [{}, {"type": "odd"}, {"type": "message"}, {"role": "robot", "content": "x"}],
)
def test_what_is_no_item_is_left_out(entry: dict[str, object]) -> None:
    assert decode(entry) is None


def test_a_prompt_is_cleaned_and_a_resource_is_named() -> None:
    prompt = (TextPart("half \ud83d"), ResourcePart("file:///a"))
    assert user_said(prompt).parts == (TextPart("half ?"), TextPart("file:///a"))


def test_call_ids_are_the_vendor_s_unless_another_vendor_would_refuse_them() -> None:
    ids = CallIds.of(["taken"])
    assert ids.take("toolu_01-aB") == "toolu_01-aB"
    wished = ["toolu_01-aB", "taken", "", None, "a b", "x" * 65, "é"]
    made = [ids.take(each) for each in wished]
    assert len({*made, "toolu_01-aB", "taken"}) == len(wished) + 2
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", each) for each in made)


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "5", "null", "[" * 100_000])
def test_arguments_that_are_no_object_count_as_none(arguments: str) -> None:
    assert Called("a", "x", arguments).decoded() == {}
