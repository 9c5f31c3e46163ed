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
from agent_host.core.model import JsonObject, Origin, PromptPart, ToolResult
from agent_host.core.ports import Runtime, RuntimeResult
from agent_host.session.agent import Agent, Ends, Means, Mind
from agent_host.session.budget import Budget
from agent_host.session.call import failed
from agent_host.session.gate import Crew
from agent_host.session.ledger import Ledger
from agent_host.session.plan import Plan

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
        agent = Agent(plan, runtime, self._means(budget, mind), call_id)
        self._called.append(agent)
        try:
            outcome = await _in_time(agent)
        finally:
            self._called.remove(agent)
        return _answer(agent, outcome)

    def _means(self, budget: Budget, mind: Mind) -> Means:
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
            active=shared.active,
            used=shared.used,
            call_agent=self._call,
        )


async def _in_time(agent: Agent) -> RuntimeResult:
    seconds = agent.plan.limits.wall_seconds
    try:
        async with asyncio.timeout(seconds):
            return await agent.work()
    except TimeoutError:
        reason = f"it took longer than {seconds:g} s"
        return RuntimeResult("limit", "", limit="wallSeconds", reason=reason)


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
