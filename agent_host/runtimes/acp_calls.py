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
from agent_host.runtimes.acp_wishes import ACTING, AgentCall, choice, wish
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
        """The titles of calls that come to us by MCP, where the gate judges them."""
        self._terms = terms
        self._sink = sink
        self._gate = gate
        self._remember = remember
        self._tell_acted = acted
        self._calls: dict[str, AgentCall] = {}
        self._permitted: set[str] = set()
        self._asked: set[str] = set()
        self._over: set[str] = set()
        self._refused: dict[str, str] = {}
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
        self._remember(Returned(name, call.text))
        if name in self._permitted:
            self._permitted.discard(name)
            status = "ok" if call.status == "completed" else "failed"
            self._gate.settle(name, ToolResult(status, call.text, call.title[:200] or call.kind))
        elif call.status == "completed" and call.kind in ACTING and not self._served(call):
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

    @property
    def denied(self) -> bool:
        """Whether anything that it asked for was not allowed."""
        return bool(self._refused)

    def close(self) -> None:
        """Tell of those that were refused and never told as over."""
        for name, reason in self._refused.items():
            if name in self._calls:
                self._remember(Returned(name, f"It was refused: {reason}."))

    def runs(self, line: str) -> None:
        """A command is run by us for the agent."""
        if not self._is_permitted(lambda call: _command_of(call) == line):
            self._ran += 1

    def has_written(self, path: str) -> None:
        """A file was written by us for the agent."""
        if not self._is_permitted(lambda call: call.kind == "edit" and path in call.paths):
            self._written.add(path)

    async def _may(self, call: AgentCall, *, can_allow: bool) -> bool:
        if call.kind == "other" and call.title in self.ours:
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
        self._refused[call.call_id] = reason
        self._sink.log(self._terms.name, f"refused {call.kind} {call.title!r}: {reason}")

    def _merged(self, update: JsonObject) -> AgentCall:
        name = str(update.get("toolCallId", ""))
        known = self._calls.get(name)
        call = (known or AgentCall(name)).told(update)
        if known is None:
            wished = json.dumps({"title": call.title, **call.given})
            self._remember(Called(name, call.kind, wished))
        self._calls[name] = call
        return call

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
        if self.confined and call.kind == "execute":
            told = f"has run this in its own sandbox, to read only: {call.title[:200]}"
        elif not self._terms.native:
            self._tell_acted(ungated(self._terms.name, told))
            return
        self._sink.log(self._terms.name, f"{self._terms.name} {told}")

    def _is_permitted(self, is_it: Callable[[AgentCall], bool]) -> bool:
        """Whether it is a part of a call that was permitted, which the agent has us do."""
        known = (self._calls.get(name) for name in self._permitted)
        return any(call is not None and is_it(call) for call in known)


def _command_of(call: AgentCall) -> object:
    wished = wish(call) if call.kind == "execute" else None
    return None if wished is None else wished.arguments["command"]
