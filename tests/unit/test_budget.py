"""One budget for agents that call agents: what the deepest one takes is gone for all above it."""

import asyncio

import pytest

from agent_host.core.model import Limits, Usage
from agent_host.core.ports import LimitReached
from agent_host.session.budget import Budget

NONE = Limits()


def line(outer: Limits, inner: Limits = NONE) -> list[Budget]:
    """Budgets of a run's agent, one that it called, and one that this called."""
    top = Budget(outer)
    middle = top.part(inner)
    return [top, middle, middle.part(NONE)]


async def take(budget: Budget, cost: float | None = None) -> None:
    async with budget.turn():
        budget.add(Usage(1, 10, 1, cost_usd=cost))


async def test_turns_of_the_deepest_count_for_all_above_it() -> None:
    top, middle, deep = line(Limits(max_turns=3))
    for budget in (deep, middle, deep):
        await take(budget)
    assert [each.turns for each in (top, middle, deep)] == [3, 3, 2]
    assert top.used.requests == 3
    for budget in (top, middle, deep):
        assert budget.left.max_turns == 0
        with pytest.raises(LimitReached, match="all of the 3 turns"):
            await take(budget)


async def test_money_of_the_deepest_counts_for_all_above_it() -> None:
    top, middle, deep = line(Limits(max_cost_usd=1.0))
    await take(deep, 0.75)
    await take(middle, 0.5)
    assert (top.spent, middle.spent, deep.spent) == (1.25, 1.25, 0.75)
    for budget in (top, middle, deep):
        with pytest.raises(LimitReached, match="more than 1 US dollars"):
            await take(budget)


async def test_what_has_no_price_is_unknown_above_and_the_rest_still_counts() -> None:
    top, middle, deep = line(Limits(max_cost_usd=1.0))
    await take(deep)
    await take(middle, 0.5)
    assert (top.used.cost_usd, top.spent, top.left.max_cost_usd) == (None, 0.5, 0.5)


async def test_a_limit_in_the_middle_holds_below_it_only() -> None:
    top, middle, deep = line(Limits(max_turns=5), Limits(max_turns=1))
    await take(deep)
    for budget in (middle, deep):
        with pytest.raises(LimitReached):
            await take(budget)
    await take(top)
    assert top.turns == 2


async def test_calls_at_once_wait_until_it_is_known_what_one_costs() -> None:
    top, middle, deep = line(Limits(max_cost_usd=1.0))
    inside: list[Budget] = []
    go_on = asyncio.Event()

    async def turn(budget: Budget) -> None:
        async with budget.turn():
            inside.append(budget)
            await go_on.wait()
            budget.add(Usage(1, 10, 1, cost_usd=0.6))

    async with asyncio.TaskGroup() as tasks:
        works = [tasks.create_task(_refused(turn(each))) for each in (deep, middle, top)]
        await asyncio.wait(works, timeout=0, return_when=asyncio.FIRST_COMPLETED)
        while not inside:
            await asyncio.sleep(0)
        assert len(inside) == 1
        go_on.set()
    assert sum(work.result() for work in works) == 1, "two have cost more than is allowed"
    assert top.spent == pytest.approx(1.2)


async def _refused(work: object) -> bool:
    try:
        await work  # type: ignore[misc]
    except LimitReached:
        return True
    return False
