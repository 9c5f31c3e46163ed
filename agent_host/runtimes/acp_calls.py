"""The tool calls of an ACP agent's own: told, judged by the gate before, and watched for acts.

An act is right that was permitted, or was done by our own methods; each counts once. What was
permitted and is done by our methods is not asked about again (the gate knows its permits).
"""

import json
from collections.abc import Callable

from agent_host.core.errors import AgentHostError
from agent_host.core.model import JsonObject, ToolResult
from agent_host.core.ports import RunSink, ToolGate
from agent_host.runtimes.acp_begin import Terms
from agent_host.runtimes.acp_peer import as_object
from agent_host.runtimes.acp_trouble import ungated
from agent_host.runtimes.acp_wishes import (
    ACTING,
    AgentCall,
    choice,
    comes_to_us,
    line_of,
    only_runs,
    wish,
)
from agent_host.runtimes.conversation import Called, Item, Returned


class Calls:
    """The calls of one run. `acted` is told of an act that nobody allowed."""

    def __init__(
        self,
        terms: Terms,
        sink: RunSink,
        gate: ToolGate,
        remember: Callable[[Item], None],
        acted: Callable[[AgentHostError], None],
    ) -> None:
        self.confined = False
        """Whether a command that it runs without asking can change nothing."""
        self.ours: frozenset[str] = frozenset()
        """The tools that we offer by MCP, where the gate judges their calls."""
        self.denied = False
        """Whether anything that it asked for was not allowed."""
        self._terms = terms
        self._sink = sink
        self._gate = gate
        self._remember = remember
        self._tell_acted = acted
        self._calls: dict[str, AgentCall] = {}
        self._permitted: set[str] = set()
        self._asked: set[str] = set()
        self._over: set[str] = set()
        self._called: set[str] = set()
        self._returned: set[str] = set()
        self._written: set[str] = set()
        self._ran = 0

    def follow(self, update: JsonObject) -> None:
        """Take what the agent tells of a call."""
        name = str(update.get("toolCallId", ""))
        if name in self._over:
            return
        call = self._merged(update)
        if call.status not in ("completed", "failed"):
            return
        del self._calls[name]
        self._over.add(name)
        self._tell_returned(call, call.text)
        if name in self._permitted:
            self._permitted.discard(name)
            status = "ok" if call.status == "completed" else "failed"
            self._gate.settle(name, ToolResult(status, call.text, call.title[:200] or call.kind))
        elif self._is_act(call):
            self._acted(call)
        else:
            self._sink.log(self._terms.name, f"{call.kind}: {call.title} ({call.status})")

    async def permit(self, params: JsonObject) -> JsonObject:
        """Answer `session/request_permission`."""
        call = self._merged(as_object(params.get("toolCall")))
        options = params.get("options")
        allowed = await self._may(call, can_allow=choice(options, allowed=True) is not None)
        chosen = choice(options, allowed=allowed)
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def close(self) -> None:
        """Tell of those that are not over."""
        for call in self._calls.values():
            self._tell_called(call)

    def runs(self, line: str) -> None:
        """A command is run by us for the agent."""
        if not self._is_permitted(lambda call: call.kind == "execute" and line_of(call) == line):
            self._ran += 1

    def has_written(self, path: str) -> None:
        """A file was written by us for the agent."""
        if not self._is_permitted(lambda call: call.kind == "edit" and path in call.paths):
            self._written.add(path)

    async def _may(self, call: AgentCall, *, can_allow: bool) -> bool:
        if comes_to_us(call, self.ours):
            return can_allow
        wished = wish(call, titled=self._terms.agent.titled)
        reason = ""
        if not call.call_id or call.call_id in self._asked:
            reason = "the same call was asked about before"
        elif wished is None:
            reason = "it can't be judged: it does not say what it would do"
        elif not can_allow:
            reason = "it can't be allowed for this once only"
        if reason or wished is None:
            self._refuse(call, reason)
            return False
        self._asked.add(call.call_id)
        decision = await self._gate.permit(wished)
        if decision.verdict != "allow":
            self._refuse(call, decision.reason)
            return False
        self._permitted.add(call.call_id)
        return True

    def _refuse(self, call: AgentCall, reason: str) -> None:
        self.denied = True
        # Not all tell of it once more, and its model goes on with this.
        self._tell_returned(call, f"It was refused: {reason}.")
        self._sink.log(self._terms.name, f"refused {call.kind} {call.title!r}: {reason}")

    def _merged(self, update: JsonObject) -> AgentCall:
        name = str(update.get("toolCallId", ""))
        self._calls[name] = call = self._calls.get(name, AgentCall(name)).told(update)
        return call

    def _tell_called(self, call: AgentCall) -> None:
        """Once, and only when all is known of what it is to do: that comes piece by piece."""
        if call.call_id in self._called:
            return
        self._called.add(call.call_id)
        wished = wish(call, titled=self._terms.agent.titled)
        given = call.given or (wished.arguments if wished else {})
        self._remember(Called(call.call_id, call.kind, json.dumps({"title": call.title, **given})))

    def _tell_returned(self, call: AgentCall, text: str) -> None:
        self._tell_called(call)
        if call.call_id not in self._returned:
            self._returned.add(call.call_id)
            self._remember(Returned(call.call_id, text))

    def _is_act(self, call: AgentCall) -> bool:
        """Whether it was done by the agent, and changes something."""
        if call.status != "completed" or call.kind not in ACTING or comes_to_us(call, self.ours):
            return False
        return not self._served(call)

    def _served(self, call: AgentCall) -> bool:
        """Whether it was done by our methods, each of which counts once."""
        if call.kind == "execute":
            self._ran -= 1
            return self._ran >= 0
        done = call.paths & self._written
        self._written -= done
        return bool(done)

    def _acted(self, call: AgentCall) -> None:
        told = f"has done this without asking: {call.kind}: {call.title[:200]}"
        unasked = self._terms.agent.unasked
        if self.confined and call.kind == "execute":
            told = f"has run this in its own sandbox, to read only: {call.title[:200]}"
        elif call.kind == "execute" and only_runs(line_of(call), unasked):
            told = f"has run this without asking, which only reads: {call.title[:200]}"
        elif not self._terms.native:
            self._tell_acted(ungated(self._terms.name, told))
            return
        self._sink.log(self._terms.name, f"{self._terms.name} {told}")

    def _is_permitted(self, is_it: Callable[[AgentCall], bool]) -> bool:
        """Whether it is a part of a call that was permitted, which the agent has us do."""
        known = (self._calls.get(name) for name in self._permitted)
        return any(call is not None and is_it(call) for call in known)
