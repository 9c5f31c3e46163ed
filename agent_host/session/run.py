"""READ THIS FIRST: one run, from its prompt to its result.

A run is told as Started first and Ended last, whatever happens, and its result comes after that.
It ends when its runtime does, or earlier: stopped by somebody, or at a limit. Either way nothing
of it is left when `execute` returns.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_host.core.actions import RunDiff
from agent_host.core.errors import Overloaded, RuntimeFailed
from agent_host.core.events import (
    Compared,
    Delta,
    Ended,
    Logged,
    Started,
    Text,
    ToolRequested,
    Used,
)
from agent_host.core.guidance import GuidanceSource
from agent_host.core.model import (
    Failure,
    JsonObject,
    LimitName,
    Origin,
    PromptPart,
    RunResult,
    TextPart,
)
from agent_host.core.ports import Editor, Runtime, RuntimeResult
from agent_host.core.records import SessionStore
from agent_host.session.agent import Ends, Mind, broke
from agent_host.session.budget import Budget
from agent_host.session.clock import Clock
from agent_host.session.deltas import DeltaStream
from agent_host.session.gate import Crew
from agent_host.session.ledger import Ledger
from agent_host.session.plan import Plan
from agent_host.session.settling import Settler
from agent_host.session.sink import Remember
from agent_host.session.team import Second, Shared, Team
from agent_host.session.watchdog import Watchdog
from agent_host.session.whole_diff import whole_diff

log = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""How long a run's end waits to know what became of edits that were cut short."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run works with; `remember` keeps items of the conversation for the session.

    `take_steering` gives what the user has said to this run since it began; `show` makes a true
    path short; `told` is what the session was told of instructions. `second` settles what an agent
    wishes that calls another.
    """

    editor: Editor
    store: SessionStore
    runtime: Runtime
    crew: Crew
    clock: Clock
    new_id: Callable[[], str]
    remember: Remember
    take_steering: Callable[[], tuple[PromptPart, ...]]
    show: Callable[[str], str]
    guidance: GuidanceSource
    told: set[str]
    settler: Settler
    second: Second


class Run:
    """One run. `execute` is called once; `stop` may be called at any time."""

    def __init__(self, plan: Plan, around: Surroundings) -> None:
        self.plan = plan
        self.stopping = False
        self.ended = False
        self._unpriced = False
        self._around = around
        self._system = Origin("system")
        self._early: RuntimeResult | None = None
        self._work: asyncio.Task[None] | None = None
        self._watchdog: Watchdog | None = None
        self._team: Team | None = None
        self._outcome: RuntimeResult | None = None
        self._budget = Budget(plan.limits)
        self._left_open = dict(plan.left_open)
        self._ledger = Ledger(
            around.store,
            session_id=plan.session_id,
            run_id=plan.run_id,
            new_id=around.new_id,
            now=around.clock.now,
        )
        self._deltas = DeltaStream(
            session_id=plan.session_id,
            run_id=plan.run_id,
            outlet=around.editor,
            keep=around.store.append,
            overflow=self._editor_is_stuck,
            stream=plan.stream,
        )

    async def execute(self) -> RunResult:
        """Run to the end; returns when nothing of the run is left."""
        plan, editor = self.plan, self._around.editor
        self._tell(self._system, Started(plan.role.name, plan.model, plan.runtime_name))
        for note in plan.notes:
            self._tell(self._system, Logged("guidance", note))
        await editor.begin_progress(plan.run_id, f"Agent: {plan.role.name}", plan.progress_token)
        try:
            await self._work_through()
        except Exception:
            # Whatever broke, the editor is told that the run has ended.
            log.exception("run %s broke", plan.run_id)
            self._outcome = broke()
        await self._settle()
        diff = await whole_diff(self._ledger.made, self._around.store, self._around.show)
        result = self._result(self._early or self._outcome or _nothing(), diff)
        if diff is not None:
            of_run = Origin("tool", plan.role.name, plan.model, plan.path)
            self._tell(of_run, Compared(diff.text, diff.omitted))
        reason = result.reason or (result.failure.message if result.failure else None)
        for call_id in tuple(self._left_open):
            self._take_up(call_id)
        self.ended = True
        ended = Ended(result.status, reason, *(self._team.exit if self._team else (None, None)))
        self._tell(self._system, ended)
        # After its last delta: a run that is stored as ended is stored whole.
        # The store has the diff already, as a delta.
        self._around.store.end_run(replace(result, diff=None))
        editor.end_progress(plan.run_id, _farewell(result))
        return result

    async def _settle(self) -> None:
        """Find out what became of edits that were cut short, as far as what is there tells."""
        unsettled = self._ledger.unsettled
        if not unsettled:
            return
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                edits = await self._around.settler.run(self.plan.run_id, pending=True)
        except TimeoutError:
            return
        except Exception:
            log.exception("run %s: its last edits could not be settled", self.plan.run_id)
            return
        for edit in edits:
            if edit.edit_id in unsettled and edit.state != "planned":
                self._ledger.settled(edit.edit_id, made=edit.state == "applied")

    async def _work_through(self) -> None:
        """Have the agents work until they are done or ended; then nothing is going on any more."""
        async with asyncio.TaskGroup() as tasks:
            shared = self._shared()
            team = self._team = Team(shared, self._budget, tasks)
            self._work = tasks.create_task(self._carry_out(team))
            watchdog = self._watchdog = Watchdog(
                self.plan.limits,
                self._around.clock,
                busy=lambda: team.busy,
                asked=shared.crew.asker.asked_seconds,
                at_limit=self._at_limit,
            )
            watchdog.start()
            try:
                if self._early is not None:
                    self._work.cancel()
                await asyncio.wait((self._work,))
            finally:
                watchdog.cancel()
                self._work.cancel()
                await asyncio.wait((self._work,))

    async def _carry_out(self, team: Team) -> None:
        mind = Mind(self._remember, self._take_steering, self._around.told)
        self._outcome = await team.work(self.plan, self._around.runtime, mind)

    def stop(self, reason: str = "stopped by the user") -> None:
        """End the run early; `execute` returns once it is gone."""
        self._end_early(RuntimeResult("stopped", "", reason=reason))

    @property
    def steers(self) -> bool:
        """Whether what is said to it meanwhile reaches its agent."""
        return self._around.runtime.steers

    # ---- ending early

    def _end_early(self, outcome: RuntimeResult) -> None:
        if self._early is None and self._outcome is None:
            self._early = outcome
            self.stopping = True
            if self._work is not None:
                self._work.cancel()

    def _at_limit(self, limit: LimitName, reason: str) -> None:
        self._end_early(RuntimeResult("limit", "", limit=limit, reason=reason))

    def _too_many_denials(self) -> None:
        self._at_limit("denials", "several actions in a row were denied")

    def _editor_is_stuck(self) -> None:
        stuck = Overloaded("The editor has stopped reading; run it again once it responds.")
        self._end_early(RuntimeResult("failed", "", error=stuck))

    # ---- what the agents share

    def _shared(self) -> Shared:
        around = self._around
        return Shared(
            crew=around.crew,
            ledger=self._ledger,
            clock=around.clock,
            ends=Ends(self._too_many_denials, self.stop),
            new_id=around.new_id,
            guidance=around.guidance,
            second=around.second,
            tell=self._tell,
            active=self._show_life,
            used=self._tell_usage,
        )

    # ---- telling

    def _tell(self, origin: Origin, delta: Delta) -> None:
        self._deltas.send(origin, delta)
        if isinstance(delta, ToolRequested):
            self._around.editor.report_progress(self.plan.run_id, delta.title)
            self._take_up(delta.call_id)

    def _take_up(self, call_id: str) -> None:
        """From now on a question that an earlier host left open is this run's, or nobody's."""
        run_id = self._left_open.pop(call_id, None)
        if run_id is not None:
            self._around.store.settle(run_id, call_id)

    def _show_life(self) -> None:
        if self._watchdog is not None:
            self._watchdog.active()

    def _remember(self, items: Sequence[JsonObject], *, boundary: bool = False) -> None:
        plan = self.plan
        self._around.remember(items, boundary=boundary)
        self._around.store.remember(plan.session_id, plan.run_id, items, boundary=boundary)

    def _take_steering(self) -> tuple[PromptPart, ...]:
        parts = self._around.take_steering()
        for part in parts:
            if isinstance(part, TextPart):
                self._tell(Origin("user"), Text(part.text))
        return parts

    def _tell_usage(self) -> None:
        self._tell(self._system, Used(self._budget.used))
        if self._budget.overspent:
            allowed = self.plan.limits.max_cost_usd
            self._at_limit("maxCostUsd", f"the run cost more than {allowed:g} US dollars")
        self._tell_unpriced()

    def _tell_unpriced(self) -> None:
        """Say once that a limit of money can't hold for what has no known price."""
        allowed, used = self.plan.limits.max_cost_usd, self._budget.used
        if allowed is None or self._unpriced or not used.requests or used.cost_usd is not None:
            return
        self._unpriced = True
        told = (
            f"The price of a model of this run is not known: what it costs does not count for the "
            f"limit of {allowed:g} US dollars. Limits of turns and of time hold."
        )
        self._tell(self._system, Logged("limits", told))

    def _result(self, outcome: RuntimeResult, diff: RunDiff | None) -> RunResult:
        failure = None
        if outcome.error is not None:
            failure = Failure(outcome.error.code, outcome.error.message)
        return RunResult(
            session_id=self.plan.session_id,
            run_id=self.plan.run_id,
            status=outcome.status,
            output=outcome.output or (self._team.said if self._team else ""),
            usage=self._budget.used,
            edits=self._ledger.edits,
            failure=failure,
            limit=outcome.limit,
            reason=outcome.reason,
            diff=diff,
        )


def _nothing() -> RuntimeResult:
    return RuntimeResult("failed", "", error=RuntimeFailed("The runtime ended without a result."))


def _farewell(result: RunResult) -> str:
    return result.status if result.limit is None else f"limit: {result.limit}"
