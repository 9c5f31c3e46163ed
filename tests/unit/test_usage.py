"""What tokens cost."""

import json

import pytest

from agent_host.core.model import Usage, told_cost
from agent_host.usage import price


def test_cached_tokens_are_cheaper_and_written_ones_dearer() -> None:
    plain = price("anthropic/claude-sonnet-4-5", Usage(1, 10_000, 100))
    cached = price("anthropic/claude-sonnet-4-5", Usage(1, 10_000, 100, cached_tokens=9_000))
    written = price("anthropic/claude-sonnet-4-5", Usage(1, 10_000, 100, cache_write_tokens=9_000))
    assert plain is not None
    assert cached is not None
    assert written is not None
    assert 0 < cached < plain < written


def test_a_known_price_is_right() -> None:
    # 3 dollars a million in, 15 out.
    assert price("anthropic/claude-sonnet-4-5", Usage(1, 1_000_000, 0)) == pytest.approx(3, rel=2)
    assert price("anthropic/claude-sonnet-4-5", Usage(1, 1000, 1000)) == pytest.approx(0.018)


@pytest.mark.parametrize("model", ["openai/gpt-4o", "gemini/gemini-2.5-pro"])
def test_each_vendor_has_prices(model: str) -> None:
    assert (price(model, Usage(1, 1000, 1000)) or 0) > 0


@pytest.mark.parametrize(
    "model", ["openai/nobody-knows", "local/llama", "scripted/demo", "odd", ""]
)
def test_a_price_that_is_not_known_is_not_zero(model: str) -> None:
    assert price(model, Usage(1, 1000, 1000)) is None


@pytest.mark.parametrize(
    ("told", "cost"),
    [
        ("0.25", 0.25),
        ("0", 0.0),
        ("NaN", None),
        ("Infinity", None),
        ("-1", None),
        ("true", None),
        ('"1"', None),
        ("null", None),
    ],
)
def test_what_a_program_tells_as_its_cost_is_an_amount_or_not_known(
    told: str, cost: float | None
) -> None:
    assert told_cost(json.loads(told)) == cost
