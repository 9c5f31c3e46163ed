"""Notices an agent that makes the same call over and over, or the same few calls in turn, so that
a person is asked about it.

Only what comes right behind each other counts: another call in between may have changed the answer.
"""

from collections import deque
from dataclasses import replace

from agent_host.core.external import digest_of
from agent_host.core.model import ToolCall
from agent_host.core.permission import Decision

MOST_ALIKE = 3
"""From the so-many-th time in a row on, each is asked about; a yes begins anew."""
LONGEST = 4
"""So many calls in turn are known again."""


class Repeats:
    """The calls of one agent, in their order; spaces and the order of keys make no difference."""

    def __init__(self) -> None:
        self._latest: deque[str] = deque(maxlen=LONGEST * MOST_ALIKE)
        self._to_ask: dict[str, str] = {}

    def count(self, call: ToolCall) -> None:
        """Take note of a call that begins."""
        self._latest.append(digest_of([call.name, call.arguments]))
        for size in range(1, LONGEST + 1):
            times = self._times(size)
            if times >= MOST_ALIKE:
                what = "call" if size == 1 else f"{size} calls"
                reason = f"the agent makes the same {what} {times} times in a row"
                self._to_ask[call.call_id] = reason
                return

    def ended(self, call: ToolCall, *, denied: bool) -> None:
        """Take note of how a call went."""
        if self._to_ask.pop(call.call_id, None) is not None and not denied:
            self._latest.clear()

    def judged(self, decision: Decision, call_id: str) -> Decision:
        """The decision about a call; what would be allowed is asked if it is such a repetition."""
        reason = self._to_ask.get(call_id)
        if decision.verdict != "allow" or reason is None:
            return decision
        return replace(decision, verdict="ask", source="repeat", reason=reason, remember=())

    def _times(self, size: int) -> int:
        """How often the last so many calls have come right behind each other."""
        latest = list(self._latest)
        pattern, times = latest[-size:], 0
        while len(latest) >= size and latest[-size:] == pattern:
            del latest[-size:]
            times += 1
        return times
