"""What one run with an ACP agent has used, as far as the agent tells.

What it does not tell is unknown, never 0. Money is told for the whole of its session, so that what
that had cost before is taken off.
"""

from dataclasses import replace

from agent_host.core.model import JsonObject, Usage, told_cost
from agent_host.runtimes.acp_peer import as_object


class Spending:
    """The account of one run. `before`: what its session had cost; None is not known."""

    def __init__(self, before: float | None) -> None:
        self.total: float | None = None
        self._before = before
        self._steps = 0
        self._tokens = Usage()
        self._context = Usage()

    @property
    def usage(self) -> Usage | None:
        """All so far; None: nothing was told."""
        told = replace(
            self._tokens,
            requests=max(self._steps, self._tokens.requests),
            cost_usd=self._cost(),
            context_tokens=self._context.context_tokens,
            context_window=self._context.context_window,
        )
        return None if told == Usage() else told

    def step(self) -> None:
        """Its model is called once more."""
        self._steps += 1

    def measure(self, update: JsonObject, *, live: bool) -> None:
        """Take a `usage_update`; not `live`: of what was before this run."""
        used, size = update.get("used"), update.get("size")
        self._context = Usage(
            context_tokens=used if isinstance(used, int) else None,
            context_window=size if isinstance(size, int) and size else None,
        )
        cost = as_object(update.get("cost"))
        amount = told_cost(cost.get("amount"))
        # An agent that does not know the price says 0.
        if cost.get("currency") != "USD" or not amount:
            return
        if live:
            self.total = amount
        else:
            self._before = amount

    def answered(self, answer: JsonObject) -> None:
        """Take what the answer to the prompt tells of tokens."""
        quota = as_object(as_object(answer.get("_meta")).get("quota"))
        if counts := _numbers(as_object(answer.get("usage"))):
            self._tokens = _tokens(counts)
        elif counts := _numbers(as_object(quota.get("token_count"))):
            self._tokens = Usage(1, counts.get("input_tokens", 0), counts.get("output_tokens", 0))

    def _cost(self) -> float | None:
        if self.total is None or self._before is None:
            return None
        # Some count anew in each process.
        return self.total - self._before if self.total >= self._before else self.total


def _tokens(count: dict[str, int]) -> Usage:
    fresh = count.get("inputTokens", 0)
    cached, stored = count.get("cachedReadTokens", 0), count.get("cachedWriteTokens", 0)
    output, thought = count.get("outputTokens", 0), count.get("thoughtTokens", 0)
    # Whether thoughts are a part of the output, only the sum says.
    if count.get("totalTokens") == fresh + cached + stored + output + thought:
        output += thought
    return Usage(1, fresh + cached + stored, output, cached, stored, thought)


def _numbers(told: JsonObject) -> dict[str, int]:
    return {key: value for key, value in told.items() if isinstance(value, int)}
