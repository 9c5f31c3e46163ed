"""The table of a tool call's life is complete: each pair is defined or known to be impossible."""

import itertools

import pytest

from agent_host.session.lifecycle import EVENTS, IMPOSSIBLE, STATES, TRANSITIONS, after


def test_every_pair_is_defined_or_impossible_and_never_both() -> None:
    pairs = set(itertools.product(STATES, EVENTS))
    assert set(TRANSITIONS) | IMPOSSIBLE == pairs
    assert not set(TRANSITIONS) & IMPOSSIBLE


@pytest.mark.parametrize("pair", sorted(IMPOSSIBLE))
def test_an_impossible_pair_is_a_bug(pair: tuple[str, str]) -> None:
    with pytest.raises(AssertionError, match="can't"):
        after(*pair)  # type: ignore[arg-type]
