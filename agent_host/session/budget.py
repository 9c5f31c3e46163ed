"""What may be spent: one budget for all the agents of a run, and within it one for each of them.

Calls of models that go on at the same time are let in as long as the dearest call so far would
leave all of them within the limit, so that it is exceeded by one call at most.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace

from agent_host.core.model import Limits, Usage
from agent_host.core.ports import LimitReached


class Budget:
    """Counts turns and money against `limits`; `within` is the budget that this is a part of."""

    def __init__(self, limits: Limits, within: "Budget | None" = None) -> None:
        self._limits = limits
        self._within = within
        self._own = Usage()
        self._parts: list[Budget] = []
        self._entered = 0
        self._own_entered = 0
        self._calls = 0
        self._own_dearest: float | None = None
        self._own_spent = 0.0
        self._freed = asyncio.Event()

    def part(self, limits: Limits) -> "Budget":
        """A budget within this one, for an agent that is called."""
        part = Budget(limits, within=self)
        self._parts.append(part)
        return part

    @property
    def dearest(self) -> float | None:
        """What the dearest call so far has cost; None: not known."""
        known = (self._own_dearest, *(part.dearest for part in self._parts))
        return max((price for price in known if price is not None), default=None)

    @property
    def used(self) -> Usage:
        """What was used so far, by all; how full the context is, of the budget's own agent."""
        total = self._own
        for part in self._parts:
            total = total.plus(replace(part.used, context_tokens=None, context_window=None))
        return total

    @property
    def turns(self) -> int:
        """Calls of models, by all: those that were let in, and those that a runtime made itself."""
        return self._entered + self.not_let_in

    @property
    def not_let_in(self) -> int:
        """Calls that runtimes have made which ask nobody."""
        own = max(self._own.requests - self._own_entered, 0)
        return own + sum(part.not_let_in for part in self._parts)

    @property
    def spent(self) -> float:
        """US dollars that were spent at the least: what has no known price is not in it."""
        return self._own_spent + sum(part.spent for part in self._parts)

    @property
    def left(self) -> Limits:
        """The limits of an agent that starts now."""
        turns, money = self._limits.max_turns, self._limits.max_cost_usd
        own = replace(
            self._limits,
            max_turns=None if turns is None else max(turns - self.turns, 0),
            max_cost_usd=None if money is None else max(money - self.spent, 0.0),
        )
        return own if self._within is None else own.narrowed(self._within.left)

    @property
    def overspent(self) -> bool:
        """Whether more was spent than is allowed, as far as the cost is known."""
        allowed = self._limits.max_cost_usd
        return allowed is not None and self.spent > allowed

    @property
    def beyond(self) -> LimitReached | None:
        """The limit that its own agent, which calls its model itself, has gone beyond."""
        turns, money = self._limits.max_turns, self._limits.max_cost_usd
        if turns is not None and self.turns > turns:
            return LimitReached("maxTurns", f"all of the {turns} turns were taken")
        if self.overspent:
            return LimitReached("maxCostUsd", f"more than {money:g} US dollars were spent")
        return None if self._within is None else self._within.beyond

    def add(self, usage: Usage) -> None:
        """Count what one call of the budget's own agent has used."""
        self._own = self._own.plus(usage)
        if usage.cost_usd is not None:
            self._own_spent += usage.cost_usd
            self._own_dearest = max(self._own_dearest or 0.0, usage.cost_usd)

    def settle(self, usage: Usage) -> bool:
        """What its own agent has used in all, as its runtime says; False: that was known."""
        news = usage != self._own
        self._own = usage
        if usage.cost_usd is not None:
            self._own_spent = usage.cost_usd
        return news

    @asynccontextmanager
    async def turn(self, *, of_part: bool = False) -> AsyncGenerator[None]:
        """Around one call of a model: waits for its place. Raises LimitReached."""
        self._check()  # before those around it count a call that is not let in
        outer: AbstractAsyncContextManager[None] = nullcontext()
        if self._within is not None:
            outer = self._within.turn(of_part=True)
        async with outer:
            await self._begin()
            self._own_entered += not of_part
            try:
                yield
            finally:
                self._calls -= 1
                self._freed.set()

    async def _begin(self) -> None:
        self._check()
        while self._calls and not self._has_room():
            self._freed.clear()
            await self._freed.wait()
            self._check()
        self._entered += 1
        self._calls += 1

    def _check(self) -> None:
        turns, money = self._limits.max_turns, self._limits.max_cost_usd
        if turns is not None and self.turns >= turns:
            raise LimitReached("maxTurns", f"all of the {turns} turns were taken")
        if self.overspent:
            raise LimitReached("maxCostUsd", f"more than {money:g} US dollars were spent")

    def _has_room(self) -> bool:
        allowed = self._limits.max_cost_usd
        if allowed is None:
            return True
        dearest = self.dearest
        if dearest is None:
            return bool(self.used.requests)  # nothing known yet, or nothing to be known
        return self.spent + (self._calls + 1) * dearest <= allowed
