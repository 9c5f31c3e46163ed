"""Notices an agent that makes the same call over and over, so that a person is asked about it.

Only calls right behind each other count: whatever comes in between may have changed the answer.
"""

import json
from dataclasses import replace

from agent_host.core.model import ToolCall
from agent_host.core.permission import Decision

MOST_ALIKE = 3
"""From the so-many-th of the same calls in a row on, each is asked about; a yes begins anew."""


class Repeats:
    """The calls of one agent, in their order."""

    def __init__(self) -> None:
        self._last = ""
        self._alike = 0
        self._to_ask: set[str] = set()

    def count(self, call: ToolCall) -> None:
        """Take note of a call that begins."""
        key = json.dumps([call.name, call.arguments], sort_keys=True, default=str)
        self._alike = self._alike + 1 if key == self._last else 1
        self._last = key
        if self._alike >= MOST_ALIKE:
            self._to_ask.add(call.call_id)

    def ended(self, call: ToolCall, *, denied: bool) -> None:
        """Take note of how a call went."""
        if call.call_id in self._to_ask:
            self._to_ask.discard(call.call_id)
            self._alike = self._alike if denied else 0

    def judged(self, decision: Decision, call_id: str) -> Decision:
        """The decision about a call; what would be allowed is asked if it is such a repetition."""
        if decision.verdict != "allow" or call_id not in self._to_ask:
            return decision
        reason = f"the agent makes the same call {self._alike} times in a row"
        return replace(decision, verdict="ask", source="repeat", reason=reason, remember=())
