"""Where a conversation is cut, what of it is summarised, and how full a context is."""

import pytest

from agent_host.core.model import ImagePart, TextPart, ToolSpec
from agent_host.runtimes.compaction import (
    MOST_IN_TAIL,
    MOST_IN_TRANSCRIPT,
    MOST_REFERENCES,
    Cut,
    asking,
    compacted,
    cut,
    shortened,
    whole,
)
from agent_host.runtimes.context import TOKENS_PER_BYTE, Gauge, Ratios, fixed_size, size_of
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Opaque,
    Reasoned,
    Returned,
    UserSaid,
    repaired,
)
from agent_host.usage import context_window


def said(text: str) -> UserSaid:
    return UserSaid((TextPart(text),))


def turn(number: int, output: str = "ok") -> list[Item]:
    ids = (f"a{number}", f"b{number}")
    return [
        Reasoned("hm", Opaque("v/m", {"signature": "s"})),
        *(Called(each, "fs_read", "{}") for each in ids),
        *(Returned(each, output) for each in ids),
    ]


def conversation(turns: int) -> list[Item]:
    return [said("go"), *(item for number in range(turns) for item in turn(number))]


@pytest.mark.parametrize("tail_bytes", [0, 50, 300, 700])
def test_a_cut_never_parts_a_call_from_its_result_or_thinking_from_its_turn(
    tail_bytes: int,
) -> None:
    items = conversation(8)
    parts = cut(items, tail_bytes)
    assert parts is not None
    assert [*parts.head, *parts.tail] == items
    assert isinstance(parts.tail[0], Reasoned | UserSaid)
    for half in (parts.head, parts.tail):
        assert repaired(half, "v/m") == half
    after = compacted("Sum.", parts)
    assert repaired(after, "v/m") == after


def test_the_last_turn_stays_whole_however_large_it_is() -> None:
    items = [*conversation(3), *turn(9, "x" * 9000)]
    parts = cut(items, 10)
    assert parts is not None
    assert list(parts.tail) == turn(9, "x" * 9000)


@pytest.mark.parametrize(
    "items", [[], [said("go")], [said("go"), AgentSaid("ok")], conversation(1)]
)
def test_where_nothing_can_be_won_nothing_is_cut(items: list[Item]) -> None:
    assert cut(items, 0) is None


def test_a_summary_is_not_summarised_alone() -> None:
    parts = cut(conversation(3), 0)
    assert parts is not None
    assert cut(compacted("Sum.", parts), 0) is None


def test_all_of_a_conversation_can_be_summarised() -> None:
    parts = whole(conversation(2))
    assert parts is not None
    assert parts.tail == ()
    assert whole([said("go")]) is None


def test_what_is_summarised_is_bounded_and_says_what_is_left_out() -> None:
    head = [said("Make it work."), *turn(1, "x" * 50_000), AgentSaid("Done.")]
    (asked,) = asking(head, 100_000, "the tests")
    assert isinstance(asked, UserSaid)
    text = asked.parts[0]
    assert isinstance(text, TextPart)
    assert len(text.text) < 3 * MOST_IN_TRANSCRIPT
    assert "48000 characters of the result are left out" in text.text
    assert "PERSON: Make it work." in text.text
    assert "above all: the tests" in text.text
    (small,) = asking([said("a" * 90_000)], 4000, "")
    assert size_of(small) < 5000


def test_the_last_prompt_and_large_results_of_the_tail() -> None:
    items = [said("first"), *turn(1), said("second"), *turn(2), *turn(3, "x" * 40_000)]
    parts = cut(items, 0)
    assert parts is not None
    first, *tail = compacted("Sum.", parts)
    assert isinstance(first, UserSaid)
    assert "second" in str(first.parts)
    assert "first" not in str(first.parts)
    results = [item.output for item in tail if isinstance(item, Returned)]
    assert all(len(each) < MOST_IN_TAIL + 100 for each in results)
    assert "are left out here" in results[0]


def test_shortened_text_keeps_head_and_tail() -> None:
    assert shortened("abc", 3, "") == "abc"
    text = shortened("a" * 10 + "b" * 10, 4, "of it")
    assert text == "aa\n[16 characters of it are left out here.]\nbb"


# ---- how full


def test_the_estimate_is_set_right_by_what_the_vendor_counted() -> None:
    ratios = Ratios()
    gauge = Gauge("v/m", 1000, ratios, fixed=1000)
    gauge.add([said("x" * 976)])
    assert gauge.size == 2000
    assert gauge.used == round(2000 * TOKENS_PER_BYTE)
    ratios.learn("v/m", gauge.size, 500)
    assert gauge.used == 500
    ratios.learn("v/m", gauge.size, 0)
    assert gauge.used == 500
    gauge.reset([])
    assert gauge.used == 250
    assert Gauge("v/other", None, ratios, fixed=10).used == 3


def test_every_kind_of_item_has_a_size() -> None:
    opaque = Opaque("v/m", {"signature": "s" * 100})
    assert size_of(Reasoned("é", opaque)) > 102
    assert size_of(Called("c", "fs_read", "{}", opaque)) > 109
    image = UserSaid((ImagePart("image/png", "a" * 1_000_000),))
    assert size_of(image) < 10_000
    assert fixed_size("abc", [ToolSpec("t", "d", {})]) > 5


def test_the_window_of_a_model_is_known_or_said_to_be_unknown() -> None:
    assert context_window("anthropic/claude-sonnet-4-5") == 200_000
    assert context_window("openai/no-such-model") is None
    assert context_window("local/qwen") is None
    assert context_window("scripted/x") is None


def ran(number: int, output: str) -> list[Item]:
    return [
        Called(f"c{number}", "terminal_run", f'{{"command": "make {number}"}}'),
        Returned(f"c{number}", output),
    ]


def test_what_a_compaction_cuts_of_results_can_still_be_read() -> None:
    middle = "x" * MOST_IN_TAIL
    old = ran(1, f'a{middle}\n[left out; fs_read, path "result:one".]\n{middle}')
    new = ran(2, f'b{middle}\n[left out; fs_read, path "result:two".]\n{middle}')
    parts = Cut((said("go"), *old), tuple(new))
    summary, _, result = compacted("All fine.", parts)
    assert isinstance(summary, UserSaid)
    assert isinstance(result, Returned)
    assert '- "result:one": terminal_run {"command": "make 1"}' in str(summary.parts)
    assert result.output.endswith('fs_read, path "result:two", reads it.]')
    # And after the next one, which knows the first only by what it has left.
    (again,) = compacted("Still.", Cut((summary, *new), ()))
    for line in ('"result:one": terminal_run {"command": "make 1"}', '"result:two": terminal_run'):
        assert line in str(again)


def test_only_the_latest_long_results_are_named() -> None:
    items = [item for number in range(30) for item in ran(number, f'"result:r{number}"')]
    (summary,) = compacted("Sum.", Cut((said("go"), *items), ()))
    assert str(summary).count('"result:') == MOST_REFERENCES
    assert '"result:r29"' in str(summary)
