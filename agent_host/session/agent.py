"""One agent at work: a role that converses with its runtime until there is an outcome.

All that it does passes its own gate, which is closed and empty when `work` returns. Not here: what
it shares with the other agents of its run (team.py).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent_host.core.actions import CallAgent
from agent_host.core.errors import AgentHostError, RuntimeFailed
from agent_host.core.events import Delta, Logged
from agent_host.core.guidance import GuidanceSource
from agent_host.core.model import (
    JsonObject,
    Origin,
    PromptPart,
    ToolResult,
    ToolSpec,
    Usage,
)
from agent_host.core.ports import LimitReached, Runtime, RuntimeRequest, RuntimeResult
from agent_host.session.attachments import attach
from agent_host.session.budget import Budget
from agent_host.session.gate import Crew, Gate, Scene, Ways
from agent_host.session.guide import Guide
from agent_host.session.ledger import Ledger
from agent_host.session.plan import Plan
from agent_host.session.sink import Remember, Sink
from agent_host.tools import external_spec

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ends:
    """How whatever an agent does may end its run: by denials, by a person who said so."""

    too_many_denials: Callable[[], None]
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Mind:
    """What an agent knows of its conversation. `told` is what that was told of instructions."""

    remember: Remember
    take_steering: Callable[[], tuple[PromptPart, ...]]
    told: set[str]


@dataclass(frozen=True, slots=True)
class Means:
    """What an agent works with. `call_agent` has another do a part of it.

    `active` says that it shows a sign of life, `used` that its budget has changed.
    """

    crew: Crew
    ledger: Ledger
    tasks: asyncio.TaskGroup
    budget: Budget
    mind: Mind
    guidance: GuidanceSource
    ends: Ends
    new_id: Callable[[], str]
    tell: Callable[[Origin, Delta], None]
    active: Callable[[], None]
    used: Callable[[], None]
    call_agent: Callable[["Agent", CallAgent, str], Awaitable[ToolResult]]


class Agent:
    """A role at work. `call_id` is of the call that it answers, empty for the run's own agent."""

    def __init__(self, plan: Plan, runtime: Runtime, means: Means, call_id: str = "") -> None:
        self.plan = plan
        self.budget = means.budget
        self._runtime = runtime
        self._means = means
        self._said = Origin("agent", plan.role.name, plan.model, plan.path)
        self._done = Origin("tool", plan.role.name, plan.model, plan.path)
        self._call_id = call_id
        self._allowed: asyncio.Timeout | None = None
        self._beyond: LimitReached | None = None
        self.sink = Sink(self._tell, self._remember, self._add_usage, self._set_usage, means.active)
        guide = Guide(means.guidance, plan.known, means.mind.told)
        self._gate = Gate(
            Scene(plan.session_id, plan.run_id, plan.role, plan.cwd, guide, plan.path, call_id),
            means.crew,
            means.ledger,
            means.tasks,
            Ways(
                tell=lambda delta: means.tell(self._done, delta),
                too_many_denials=means.ends.too_many_denials,
                stop=means.ends.stop,
                call_agent=lambda action, call: means.call_agent(self, action, call),
            ),
        )

    @property
    def busy(self) -> bool:
        """Whether something that it has called for is being done, by no other agent."""
        return self._gate.busy

    def active(self) -> None:
        """It, or one that it called, shows a sign of life."""
        self._means.active()

    async def work(self) -> RuntimeResult:
        """Converse until the runtime has an outcome; whatever it does, there is one."""
        try:
            return await self._converse()
        except LimitReached as reached:
            return RuntimeResult("limit", "", limit=reached.limit, reason=reached.reason)
        except AgentHostError as error:
            return RuntimeResult("failed", "", error=error)
        except Exception:
            # A runtime is other people's code: the run must end with a reason all the same.
            log.exception("run %s: the runtime %s broke", self.plan.run_id, self.plan.runtime_name)
            return broke()
        finally:
            await self._gate.close()

    async def _converse(self) -> RuntimeResult:
        plan, means = self.plan, self._means
        prompt = await attach(plan.prompt, self._gate, means.new_id)
        external = await self._external_tools()
        request = RuntimeRequest(
            session_id=self._named(plan.session_id),
            run_id=self._named(plan.run_id),
            role=plan.role,
            model=plan.model,
            instructions=plan.instructions,
            prompt=prompt,
            tools=(*plan.tools, *external),
            history=plan.history,
            limits=self.budget.left,
            cwd=plan.cwd,
            options=plan.options,
            take_steering=means.mind.take_steering,
            purpose=plan.purpose,
            turn=self.budget.turn,
            unanswered=plan.unanswered,
        )
        outcome = await self._run(request)
        # What the runtime itself has added up counts more than the sum of its parts.
        if outcome.usage is not None:
            self._set_usage(outcome.usage)
        # One that tells only in the end what it has used could not be ended before.
        if outcome.status == "completed" and (beyond := self.budget.beyond) is not None:
            return replace(outcome, status="limit", limit=beyond.limit, reason=beyond.reason)
        return outcome

    async def _run(self, request: RuntimeRequest) -> RuntimeResult:
        try:
            async with asyncio.timeout(None) as self._allowed:
                return await self._runtime.run(request, self.sink, self._gate)
        except TimeoutError:
            if self._beyond is None:
                raise
            raise self._beyond from None
        finally:
            self._allowed = None

    async def _external_tools(self) -> tuple[ToolSpec, ...]:
        """The tools of MCP servers that the role may use; what is missing is told."""
        if self.plan.purpose != "answer":
            return ()
        offer = await self._means.crew.servers.offered(self.plan.role)
        for note in offer.notes:
            self._tell(Logged("mcp", note))
        self._gate.offers(offer.tools)
        return tuple(external_spec(tool) for tool in offer.tools)

    def _named(self, name: str) -> str:
        """What a runtime knows this conversation by: no other agent's."""
        return f"{name}/{self._call_id}" if self._call_id else name

    # ---- what the runtime tells

    def _tell(self, delta: Delta) -> None:
        self._means.active()
        self._means.tell(self._said, delta)

    def _remember(self, items: Sequence[JsonObject], *, boundary: bool = False) -> None:
        self._means.active()
        self._means.mind.remember(items, boundary=boundary)

    def _add_usage(self, usage: Usage) -> None:
        self._means.active()
        self.budget.add(usage)
        self._count()

    def _set_usage(self, usage: Usage) -> None:
        if self.budget.settle(usage):
            self._count()

    def _count(self) -> None:
        """End a runtime that calls its model itself once it has gone beyond its limits."""
        self._means.used()
        beyond = self.budget.beyond
        if beyond is not None and self._beyond is None and self._allowed is not None:
            self._beyond = beyond
            self._allowed.reschedule(0)


def broke() -> RuntimeResult:
    """The outcome of what broke without a word."""
    reason = RuntimeFailed("The runtime broke; the host's log says where. Try again.")
    return RuntimeResult("failed", "", error=reason)
