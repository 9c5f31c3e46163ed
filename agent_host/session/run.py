"""READ THIS FIRST: one run, from its prompt to its result.

A run is told as Started first and Ended last, whatever happens, and its result comes after that.
It ends when its runtime does, or earlier: stopped by somebody, or at a limit. Either way nothing
of it is left when `execute` returns.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agent_host.core.actions import RunDiff
from agent_host.core.errors import AgentHostError, Overloaded, RuntimeFailed
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
    Limits,
    ModelOptions,
    Origin,
    PromptPart,
    Role,
    RunResult,
    TextPart,
    ToolSpec,
    Usage,
)
from agent_host.core.ports import Editor, Runtime, RuntimeRequest, RuntimeResult
from agent_host.core.records import SessionStore
from agent_host.session.attachments import attach
from agent_host.session.clock import Clock
from agent_host.session.deltas import DeltaStream
from agent_host.session.gate import Crew, Gate, Scene
from agent_host.session.guide import Guide, Known
from agent_host.session.ledger import Ledger
from agent_host.session.settling import Settler
from agent_host.session.sink import Remember, Sink
from agent_host.session.watchdog import Watchdog
from agent_host.session.whole_diff import whole_diff

log = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""How long a run's end waits to know what became of edits that were cut short."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is settled before a run starts. `history` is the session's, oldest first.

    `prompt` is for the runtime; `said` is what the person wrote, where that is something else.
    """

    session_id: str
    run_id: str
    prompt: tuple[PromptPart, ...]
    role: Role
    model: str
    runtime_name: str
    instructions: str
    tools: tuple[ToolSpec, ...]
    history: tuple[JsonObject, ...]
    limits: Limits
    cwd: str
    options: ModelOptions = field(default_factory=ModelOptions)
    stream: bool = True
    progress_token: str | int | None = None
    said: tuple[PromptPart, ...] = ()
    known: Known = field(default_factory=Known)
    notes: tuple[str, ...] = ()
    purpose: Literal["answer", "compact"] = "answer"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run works with; `remember` keeps items of the conversation for the session.

    `take_steering` gives what the user has said to this run since it began; `show` makes a true
    path short; `told` is what the session was told of instructions.
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


class Run:
    """One run. `execute` is called once; `stop` may be called at any time."""

    def __init__(self, plan: Plan, around: Surroundings) -> None:
        self.plan = plan
        self.stopping = False
        self._around = around
        self._agent = Origin("agent", plan.role.name, plan.model, (plan.role.name,))
        self._tool = Origin("tool", plan.role.name, plan.model, (plan.role.name,))
        self._system = Origin("system")
        self._early: RuntimeResult | None = None
        self._work: asyncio.Task[None] | None = None
        self._watchdog: Watchdog | None = None
        self._outcome: RuntimeResult | None = None
        self._usage = Usage()
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
        self._sink = Sink(self._tell_agent, self._remember, self._add_usage)

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
            self._outcome = _broke()
        await self._settle()
        diff = await whole_diff(self._ledger.made, self._around.store, self._around.show)
        result = self._result(self._early or self._outcome or _nothing(), diff)
        if diff is not None:
            self._tell(self._tool, Compared(diff.text, diff.omitted))
        reason = result.reason or (result.failure.message if result.failure else None)
        ended = Ended(result.status, reason, self._sink.exit_code, self._sink.signal)
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
        """Converse until the runtime ends or is ended, then clean up."""
        plan = self.plan
        async with asyncio.TaskGroup() as tasks:
            gate = self._gate(tasks)
            self._work = tasks.create_task(self._converse(gate))
            watchdog = self._watchdog = Watchdog(
                plan.limits,
                self._around.clock,
                busy=lambda: gate.busy,
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
                await gate.close()
                await asyncio.wait((self._work,))

    def stop(self, reason: str = "stopped by the user") -> None:
        """End the run early; `execute` returns once it is gone."""
        self._end_early(RuntimeResult("stopped", "", reason=reason))

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

    # ---- the conversation

    def _gate(self, tasks: asyncio.TaskGroup) -> Gate:
        plan = self.plan
        guide = Guide(self._around.guidance, plan.known, self._around.told)
        return Gate(
            Scene(plan.session_id, plan.run_id, plan.role, plan.cwd, guide),
            self._around.crew,
            self._ledger,
            tasks,
            tell=self._tell_tool,
            too_many_denials=self._too_many_denials,
            stop=self.stop,
        )

    async def _converse(self, gate: Gate) -> None:
        """Let the runtime run; whatever it does, there is an outcome afterwards."""
        plan = self.plan
        try:
            prompt = await attach(plan.prompt, gate, self._around.new_id)
            request = RuntimeRequest(
                session_id=plan.session_id,
                run_id=plan.run_id,
                role=plan.role,
                model=plan.model,
                instructions=plan.instructions,
                prompt=prompt,
                tools=plan.tools,
                history=plan.history,
                limits=plan.limits,
                cwd=plan.cwd,
                options=plan.options,
                take_steering=self._take_steering,
                purpose=plan.purpose,
            )
            self._outcome = await self._around.runtime.run(request, self._sink, gate)
            self._take_usage(self._outcome.usage)
        except AgentHostError as error:
            self._outcome = RuntimeResult("failed", "", error=error)
        except Exception:
            # A runtime is other people's code: the run must end with a reason all the same.
            log.exception("run %s: the runtime %s broke", plan.run_id, plan.runtime_name)
            self._outcome = _broke()

    # ---- telling

    def _tell(self, origin: Origin, delta: Delta) -> None:
        self._deltas.send(origin, delta)

    def _tell_agent(self, delta: Delta) -> None:
        self._show_life()
        self._tell(self._agent, delta)

    def _tell_tool(self, delta: Delta) -> None:
        self._tell(self._tool, delta)
        if isinstance(delta, ToolRequested):
            self._around.editor.report_progress(self.plan.run_id, delta.title)

    def _show_life(self) -> None:
        if self._watchdog is not None:
            self._watchdog.active()

    def _remember(self, items: Sequence[JsonObject], *, boundary: bool = False) -> None:
        self._show_life()
        plan = self.plan
        self._around.remember(items, boundary=boundary)
        self._around.store.remember(plan.session_id, plan.run_id, items, boundary=boundary)

    def _take_steering(self) -> tuple[PromptPart, ...]:
        parts = self._around.take_steering()
        for part in parts:
            if isinstance(part, TextPart):
                self._tell(Origin("user"), Text(part.text))
        return parts

    def _add_usage(self, usage: Usage) -> None:
        self._show_life()
        self._usage = self._usage.plus(usage)
        self._tell(self._system, Used(self._usage))
        allowed, spent = self.plan.limits.max_cost_usd, self._usage.cost_usd
        if allowed is not None and spent is not None and spent > allowed:
            self._at_limit("maxCostUsd", f"the run cost more than {allowed:g} US dollars")

    def _take_usage(self, usage: Usage | None) -> None:
        """What the runtime itself has added up counts more than the sum of its parts."""
        if usage is not None and usage != self._usage:
            self._usage = usage
            self._tell(self._system, Used(usage))

    def _result(self, outcome: RuntimeResult, diff: RunDiff | None) -> RunResult:
        failure = None
        if outcome.error is not None:
            failure = Failure(outcome.error.code, outcome.error.message)
        return RunResult(
            session_id=self.plan.session_id,
            run_id=self.plan.run_id,
            status=outcome.status,
            output=outcome.output or self._sink.said,
            usage=self._usage,
            edits=self._ledger.edits,
            failure=failure,
            limit=outcome.limit,
            reason=outcome.reason,
            diff=diff,
        )


def _broke() -> RuntimeResult:
    broke = RuntimeFailed("The runtime broke; the host's log says where. Try again.")
    return RuntimeResult("failed", "", error=broke)


def _nothing() -> RuntimeResult:
    return RuntimeResult("failed", "", error=RuntimeFailed("The runtime ended without a result."))


def _farewell(result: RunResult) -> str:
    return result.status if result.limit is None else f"limit: {result.limit}"
