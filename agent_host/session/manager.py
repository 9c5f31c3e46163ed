"""All sessions and their runs: one run at a time in a session, as many sessions as wanted.

A run belongs to the manager, not to the request that started it. `stop` returns when the runs
are really gone.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent_host.core.actions import CallAgent
from agent_host.core.errors import (
    AgentHostError,
    InvalidRequest,
    ShuttingDown,
)
from agent_host.core.model import SDK, PromptPart, RunRequest, RunResult, SessionStatus
from agent_host.core.ports import Runtime
from agent_host.core.records import EditRecord, StoreProblem
from agent_host.session.gate import Crew
from agent_host.session.legacy import legacy_of, with_legacy
from agent_host.session.pending import Steered, Waiting, When
from agent_host.session.plan import Plan
from agent_host.session.register import register
from agent_host.session.run import Run, Surroundings
from agent_host.session.session import Session
from agent_host.session.staff import Staff
from agent_host.session.tenure import Tenure
from agent_host.session.ticket import BY_USER, Ticket
from agent_host.session.titles import make_title, title_model

log = logging.getLogger(__name__)

MAX_ENDED = 1000
"""How many ended runs are remembered, for a client that asks again by the same id."""

MAX_SESSIONS = 100
"""How many sessions are remembered while nothing goes on in them."""

_ID = re.compile(r"[A-Za-z0-9._:@+-]{1,128}")


@dataclass(frozen=True, slots=True)
class Stopped:
    """The runs that are gone, and what was said to their sessions that no run has taken."""

    run_ids: tuple[str, ...]
    handed_back: tuple[Waiting, ...] = ()


class SessionManager:
    """The sessions of one host; `tasks` owns their runs."""

    def __init__(self, staff: Staff, tasks: asyncio.TaskGroup) -> None:
        self._staff = staff
        self._tasks = tasks
        self._sessions: dict[str, Session] = {}
        self._tickets: dict[str, Ticket] = {}
        self._tenure = Tenure(staff.store)
        self._cut_short: dict[str, dict[str, EditRecord]] = {}
        self._naming: set[asyncio.Task[None]] = set()
        self._closing = False

    async def run(self, request: RunRequest) -> RunResult:
        """Run one prompt to its end; cancelling stops the run first. Raises AgentHostError."""
        ticket = self._tickets.get(request.run_id or "")
        if ticket is None:
            await self._last_words(request.session_id)
            ticket = self._start(request)
        try:
            return await asyncio.shield(ticket.outcome)
        except asyncio.CancelledError:
            await self._stop((ticket,))
            raise

    async def stop(self, *, run_id: str | None = None, session_id: str | None = None) -> Stopped:
        """Stop a run, a session's run, or all; returns once they are gone.

        What waited in their sessions is handed back, not run.
        """
        if run_id is not None:
            if run_id not in self._tickets:
                await self._tenure.over(run_id)
                return Stopped(())
            return await self._stop((self._tickets[run_id],))
        if session_id is not None:
            if session_id not in self._sessions:
                await self._tenure.idle(session_id)
                return Stopped(())
            current = self._sessions[session_id].current
            return await self._stop((current,) if current else ())
        return await self._stop(self._open())

    async def steer(self, session_id: str, prompt: tuple[PromptPart, ...], when: When) -> Steered:
        """Say something to a session: to its run, or as a run of its own after it.

        What is said "now" to an agent that can't hear it is queued.
        """
        session = self._sessions.get(session_id)
        if session is None:
            await self._staff.store.session(session_id)  # raises SessionNotFound
        while session is not None and session.current is not None and session.current.stopping:
            await asyncio.wait((session.current.outcome,))  # what is being stopped takes no more
        running = session.current if session is not None else None
        if running is not None and not running.steers:
            when = "next"
        waiting = Waiting(self._staff.new_id(), prompt, when)
        if session is None or running is None:
            ticket = self._start(RunRequest(prompt, session_id))
            await ticket.begins()
            return Steered("started", waiting.id, ticket.run_id)
        session.pending.add(waiting)
        return Steered("steered" if when == "now" else "queued", waiting.id)

    def waiting(self, session_id: str) -> tuple[Waiting, ...]:
        """What was said to a session and waits."""
        session = self._sessions.get(session_id)
        return tuple(session.pending.prompts) if session else ()

    def take_back(self, session_id: str, waiting_id: str) -> bool:
        """Take back what waits; False if it is not waiting any more."""
        session = self._sessions.get(session_id)
        return session is not None and session.pending.remove(waiting_id)

    def has_begun(self, run_id: str) -> bool:
        """Whether that run is one of this host: then its deltas are told as they happen."""
        ticket = self._tickets.get(run_id)
        return ticket is not None and ticket.run is not None

    def status(self) -> tuple[SessionStatus, ...]:
        """What goes on in each session."""
        return tuple(session.status for session in self._sessions.values())

    def stop_soon(self, run_id: str | None = None, reason: str = BY_USER) -> None:
        """Have a run, or all, end early for a reason, without waiting for it."""
        for ticket in self._open():
            if run_id is None or ticket.run_id == run_id:
                ticket.stop(reason)

    def keep_in_mind(self, session_id: str, edits: Sequence[EditRecord]) -> None:
        """Edits that were cut short and settled as somebody looked at an idle session: its next
        run is told of them all the same.
        """
        if edits:
            known = self._cut_short.setdefault(session_id, {})
            known.update({edit.edit_id: edit for edit in edits})

    def heed(self, problem: StoreProblem) -> None:
        """Two hosts must not go on with one conversation: what was lost to another ends here."""
        if problem.code == "lost":
            for run_id in problem.runs:
                self.stop_soon(run_id, "another host has taken the session over")

    def forget(self, session_id: str) -> None:
        """Let go of a session that was deleted."""
        self._sessions.pop(session_id, None)

    async def close(self) -> None:
        """Take no run any more, stop all and wait until they are gone."""
        self._closing = True
        for task in self._naming:
            task.cancel()
        await self._stop(self._open())
        if self._naming:
            await asyncio.wait(tuple(self._naming))

    # ---- starting

    async def _last_words(self, session_id: str | None) -> None:
        """Who has heard a run's `ended` may go on at once, though its session is freed later; so
        may who has stopped it.
        """
        session = self._sessions.get(session_id or "")
        current = session.current if session is not None else None
        if current is not None and (current.ended or current.stopping):
            await asyncio.wait((current.outcome,))

    def _start(self, request: RunRequest) -> Ticket:
        """Reserve the session before anything is awaited, so that two requests can't race."""
        if self._closing:
            raise ShuttingDown("The host is shutting down; start it again to run.")
        _check_id("runId", request.run_id)
        _check_id("sessionId", request.session_id)
        session_id = request.session_id or self._staff.new_id()
        session = self._sessions.get(session_id)
        if session is None:
            session = Session(session_id, self._staff.asker(session_id))
        ticket = Ticket(request.run_id or self._staff.new_id(), session_id)
        session.reserve(ticket)
        self._sessions.pop(session_id, None)
        self._sessions[session_id] = session
        self._forget_idle()
        self._forget_oldest()
        self._tickets[ticket.run_id] = ticket
        self._tasks.create_task(self._carry_out(ticket, session, request))
        return ticket

    async def _carry_out(self, ticket: Ticket, session: Session, request: RunRequest) -> None:
        """The whole life of a run. What goes wrong is the ticket's outcome, never the host's."""
        try:
            result = await self._execute(ticket, session, request)
        except AgentHostError as error:
            self._free(session)
            if not session.known:
                self.forget(session.session_id)
            if ticket.run is None:
                self._tickets.pop(ticket.run_id, None)  # it may be asked for again
            ticket.outcome.set_exception(error)
        except asyncio.CancelledError:
            self._free(session)
            ticket.outcome.cancel()
            raise
        except Exception as error:
            log.exception("run %s broke", ticket.run_id)
            self._free(session)
            ticket.outcome.set_exception(error)
        else:
            # Whoever stopped it wants nothing more to happen.
            goes_on = result.status != "stopped" and not self._closing
            try:
                if not (goes_on and session.pending.prompts):
                    await self._tenure.let_go(session.session_id)
            finally:
                session.free()
                if not session.known:
                    self.forget(session.session_id)
                ticket.outcome.set_result(result)
            if goes_on:
                self._name(ticket, session, result)
                self._go_on(session)

    def _free(self, session: Session) -> None:
        session.free()
        self._staff.store.release(session.session_id)

    def _name(self, ticket: Ticket, session: Session, result: RunResult) -> None:
        """Have a model make a title for a session that has just begun."""
        plan = ticket.run.plan if ticket.run else None
        if plan is None or plan.runtime_name != SDK or session.first_run != ticket.run_id:
            return
        model = title_model(self._staff.planner.settings().title_model, plan.model)
        if model is None or result.status != "completed":
            return
        staff = self._staff
        making = make_title(plan, result, model, partial(staff.runtime, SDK), staff.store)
        task = self._tasks.create_task(making)
        self._naming.add(task)
        task.add_done_callback(self._naming.discard)

    def _go_on(self, session: Session) -> None:
        """Start the next run of what waits, if there is any."""
        if self._closing or session.current is not None:
            return
        waiting = session.pending.take_first()
        if waiting is not None:
            self._start(RunRequest(waiting.prompt, session.session_id))

    async def _execute(self, ticket: Ticket, session: Session, request: RunRequest) -> RunResult:
        earlier = await self._tenure.ended_before(request.run_id)
        if earlier is not None:
            return earlier
        if request.session_id is not None:
            await self._take(session, create=request.create)
        plan = await self._staff.planner.plan(request, session, ticket.run_id)
        runtime = await self._staff.runtime(plan.runtime_name)
        plan = with_legacy(plan, session.legacy)
        session.settled_on(plan)
        register(session, plan, self._staff)
        # Whoever hears that it has begun finds it again, however soon the host is killed.
        await self._tenure.kept()
        run = Run(plan, self._surroundings(session, runtime))
        ticket.began(run)
        return await run.execute()

    async def _take(self, session: Session, *, create: bool) -> None:
        """Own a session that may have been another host's, with what that has left of it."""
        staff = self._staff
        if await self._tenure.take(session, create=create):
            legacy = await legacy_of(session.session_id, staff.store, staff.settler)
            seen = self._cut_short.pop(session.session_id, {})
            edits = (seen | {edit.edit_id: edit for edit in legacy.edits}).values()
            session.legacy = replace(legacy, edits=tuple(edits))
            session.cwd = session.legacy.cwd

    def _surroundings(self, session: Session, runtime: Runtime) -> Surroundings:
        staff = self._staff
        return Surroundings(
            editor=staff.editor,
            store=staff.store,
            runtime=runtime,
            crew=Crew(
                staff.judge,
                session.asker,
                staff.changes,
                staff.hands,
                staff.long_results,
                staff.servers,
            ),
            clock=staff.clock,
            new_id=staff.new_id,
            remember=session.remember,
            take_steering=session.pending.take_now,
            show=staff.show,
            guidance=staff.planner.guidance,
            told=session.told,
            settler=staff.settler,
            second=self._second,
        )

    async def _second(self, caller: Plan, action: CallAgent) -> tuple[Plan, Runtime]:
        """What an agent is to do that another one calls, and by which runtime."""
        plan = await self._staff.planner.called(caller, action)
        return plan, await self._staff.runtime(plan.runtime_name)

    # ---- stopping

    async def _stop(self, tickets: Sequence[Ticket]) -> Stopped:
        stopped = [ticket for ticket in tickets if ticket.stop()]
        back: list[Waiting] = []
        for ticket in stopped:
            session = self._sessions.get(ticket.session_id)
            back += session.pending.take_all() if session else ()
        if stopped:
            await asyncio.wait([ticket.outcome for ticket in stopped])
        return Stopped(tuple(ticket.run_id for ticket in stopped), tuple(back))

    def _open(self) -> tuple[Ticket, ...]:
        return tuple(ticket for ticket in self._tickets.values() if not ticket.over)

    def _forget_idle(self) -> None:
        """Keep the conversations of the latest sessions; the store has those of all."""
        for key, session in list(self._sessions.items())[:-MAX_SESSIONS]:
            if session.current is None and session.kept(self._staff.store):
                del self._sessions[key]

    def _forget_oldest(self) -> None:
        while len(self._tickets) > MAX_ENDED:
            oldest = next((key for key, each in self._tickets.items() if each.over), None)
            if oldest is None:
                return
            del self._tickets[oldest]


def _check_id(name: str, value: str | None) -> None:
    if value is not None and not _ID.fullmatch(value):
        raise InvalidRequest(
            f"`{name}` must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ + -", field=name
        )
