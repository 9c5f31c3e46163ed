"""The agents of one run: its own, and those that they call; each works by itself.

One that was called has its own conversation, at most the rights of its caller, and its part of the
run's limits. Its answer is the result of the call. The run's end is the end of all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_host.core.actions import CallAgent
from agent_host.core.errors import AgentHostError
from agent_host.core.events import Delta
from agent_host.core.guidance import GuidanceSource
from agent_host.core.model import JsonObject, LimitName, Origin, PromptPart, ToolResult
from agent_host.core.ports import Runtime, RuntimeResult
from agent_host.session.agent import Agent, Ends, Means, Mind
from agent_host.session.budget import Budget
from agent_host.session.call import failed
from agent_host.session.clock import Clock
from agent_host.session.gate import Crew
from agent_host.session.ledger import Ledger
from agent_host.session.plan import Plan
from agent_host.session.watchdog import Watchdog

MAX_AT_WORK = 8
"""So many called agents work at once in a run."""

Second = Callable[[Plan, CallAgent], Awaitable[tuple[Plan, Runtime]]]
"""Settles what a caller wishes. Raises AgentHostError."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the agents of a run share. `active` says that one of them shows a sign of life.

    `used` is called whenever the budget has changed.
    """

    crew: Crew
    ledger: Ledger
    clock: Clock
    ends: Ends
    new_id: Callable[[], str]
    guidance: GuidanceSource
    second: Second
    tell: Callable[[Origin, Delta], None]
    active: Callable[[], None]
    used: Callable[[], None]


class Team:
    """The agents of one run; `tasks` owns what they have going on, `budget` is the run's."""

    def __init__(self, shared: Shared, budget: Budget, tasks: asyncio.TaskGroup) -> None:
        self._shared = shared
        self._budget = budget
        self._tasks = tasks
        self._lead: Agent | None = None
        self._called: list[Agent] = []

    @property
    def busy(self) -> bool:
        """Whether an action of any agent is on its way."""
        lead = (self._lead,) if self._lead is not None else ()
        return any(agent.busy for agent in (*lead, *self._called))

    @property
    def said(self) -> str:
        """The text of the run's answer so far."""
        return self._lead.sink.said if self._lead is not None else ""

    @property
    def exit(self) -> tuple[int | None, str | None]:
        """Exit code and signal of the process of the run's own agent, if it had one."""
        sink = self._lead.sink if self._lead is not None else None
        return (sink.exit_code, sink.signal) if sink is not None else (None, None)

    async def work(self, plan: Plan, runtime: Runtime, mind: Mind) -> RuntimeResult:
        """Have the run's own agent do what was asked; `mind` is the session's."""
        self._lead = Agent(plan, runtime, self._means(self._budget, mind))
        return await self._lead.work()

    async def _call(self, caller: Agent, action: CallAgent, call_id: str) -> ToolResult:
        """Have another agent do a part of a caller's work; its answer is the result."""
        if len(self._called) >= MAX_AT_WORK:
            return failed(f"{MAX_AT_WORK} agents are at work; call it when one has answered.")
        try:
            plan, runtime = await self._shared.second(caller.plan, action)
        except AgentHostError as error:
            return failed(f"{action.role} can't be called. {error.message}")
        budget = caller.budget.part(plan.limits)
        mind = Mind(_forget, _nothing_said, set())
        timer = _Timer(plan, self._shared, self._busy_below)

        def active() -> None:
            timer.active()
            caller.active()

        means = self._means(budget, mind, active)
        agent = Agent(plan, runtime, means, call_id)
        self._called.append(agent)
        try:
            outcome = await timer.hold(agent)
        finally:
            self._called.remove(agent)
        return _answer(agent, outcome)

    def _busy_below(self, path: tuple[str, ...]) -> bool:
        """Whether an action of the agent with that path is on its way, or of one that it called."""
        return any(a.busy for a in self._called if a.plan.path[: len(path)] == path)

    def _means(self, budget: Budget, mind: Mind, active: Callable[[], None] | None = None) -> Means:
        shared = self._shared
        return Means(
            crew=shared.crew,
            ledger=shared.ledger,
            tasks=self._tasks,
            budget=budget,
            mind=mind,
            guidance=shared.guidance,
            ends=shared.ends,
            new_id=shared.new_id,
            tell=shared.tell,
            active=active or shared.active,
            used=shared.used,
            call_agent=self._call,
        )


class _Timer:
    """The limits of time of an agent that was called; its own, within those of the run."""

    def __init__(self, plan: Plan, shared: Shared, busy: Callable[[tuple[str, ...]], bool]) -> None:
        self._reached: tuple[LimitName, str] | None = None
        self._scope = asyncio.timeout(None)
        self._watchdog = Watchdog(
            plan.limits,
            shared.clock,
            busy=lambda: busy(plan.path),
            asked=shared.crew.asker.asked_seconds,
            at_limit=self._at_limit,
        )
        self.active = self._watchdog.active

    async def hold(self, agent: Agent) -> RuntimeResult:
        """Have the agent work as long as it may."""
        try:
            async with self._scope:
                self._watchdog.start()
                return await agent.work()
        except TimeoutError:
            if self._reached is None:
                raise
            limit, reason = self._reached
            return RuntimeResult("limit", "", limit=limit, reason=reason)
        finally:
            self._watchdog.cancel()

    def _at_limit(self, limit: LimitName, reason: str) -> None:
        if self._reached is None:
            self._reached = limit, reason
            self._scope.reschedule(asyncio.get_running_loop().time())


def _answer(agent: Agent, outcome: RuntimeResult) -> ToolResult:
    name = agent.plan.role.name
    said = outcome.output or agent.sink.said
    if outcome.status == "completed":
        return ToolResult("ok", said or "It ended without a word.", f"{name} has answered")
    why = outcome.error.message if outcome.error is not None else outcome.reason
    if outcome.limit is not None:
        why = f"limit {outcome.limit}: {why or 'reached'}"
    result = failed(f"{name} did not finish ({why or outcome.status}).")
    if not said:
        return result
    return ToolResult("failed", f"{result.text} So far it said:\n{said}", result.summary)


def _forget(items: Sequence[JsonObject], *, boundary: bool = False) -> None:
    """The conversation of an agent that was called is no part of the session's."""
    del items, boundary


def _nothing_said() -> tuple[PromptPart, ...]:
    return ()
