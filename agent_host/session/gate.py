"""Every tool call passes here, and only here: judged, asked about if need be, then done.

A call that was denied has had no effect. Once the gate is closed nothing passes, and `close`
returns when nothing is in it any more. Not here: what a rule means (permissions).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_host.core.actions import (
    Action,
    CallAgent,
    CallExternal,
    EditFile,
    EditFiles,
    FileChange,
    MovePath,
    ReadFile,
    RunCommand,
    SingleAction,
    UseSkill,
    WriteFile,
)
from agent_host.core.errors import ActionFailed
from agent_host.core.events import Delta, Edited, Logged
from agent_host.core.external import ExternalTool
from agent_host.core.model import Role, ToolCall, ToolResult
from agent_host.core.permission import Decision, EditPart
from agent_host.core.ports import ToolServers
from agent_host.permissions.explain import explain
from agent_host.session.asker import Asker, Outcome
from agent_host.session.call import CallLife, denied, failed, stopped
from agent_host.session.changes import Changes
from agent_host.session.edit_call import EditCall, planned
from agent_host.session.guide import Guide
from agent_host.session.hands import Hands, PlainAction
from agent_host.session.judge import Judge, Judged, by_itself
from agent_host.session.ledger import Ledger
from agent_host.session.long_results import LongResults, is_reference
from agent_host.session.permits import PERMITTED, Permits
from agent_host.session.repeats import Repeats
from agent_host.tools import ToolProblem, parse

log = logging.getLogger(__name__)

MAX_DENIALS = 3
"""So many denials in a row end the run."""


@dataclass(frozen=True, slots=True)
class Scene:
    """For whom the gate stands, and what guides the agent.

    `agents` are the roles from the run's own agent down to this one, `call_id` of the call that it
    answers: it keeps the ids of several agents' calls apart.
    """

    session_id: str
    run_id: str
    role: Role
    cwd: str
    guide: Guide
    agents: tuple[str, ...]
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Crew:
    """Who judges, asks and does."""

    judge: Judge
    asker: Asker
    changes: Changes
    hands: Hands
    long_results: LongResults
    servers: ToolServers


@dataclass(frozen=True, slots=True)
class Ways:
    """Where a gate leads. `tell` sends a delta of tool origin.

    `too_many_denials` and `stop` end the run: by us, by a person who answered so. `call_agent`
    has another agent do what the allowed call of that id says.
    """

    tell: Callable[[Delta], None]
    too_many_denials: Callable[[], None]
    stop: Callable[[], None]
    call_agent: Callable[[CallAgent, str], Awaitable[ToolResult]]


_Once = PlainAction | UseSkill | CallAgent | CallExternal
"""What is judged, asked about and done as one."""


class Gate:
    """The gate of one agent."""

    def __init__(
        self, scene: Scene, crew: Crew, ledger: Ledger, tasks: asyncio.TaskGroup, ways: Ways
    ) -> None:
        self._scene = scene
        self._crew = crew
        self._ledger = ledger
        self._tasks = tasks
        self._ways = ways
        self._tell = ways.tell
        self._in_flight: set[asyncio.Task[ToolResult]] = set()
        self._permits = Permits(crew.changes, ledger, ways.tell)
        self._delegated = 0
        self._repeats = Repeats()
        self._denials = 0
        self._closed = False
        self._external: Mapping[str, ExternalTool] = {}

    def offers(self, tools: Sequence[ExternalTool]) -> None:
        """Know these tools of MCP servers, too, by the names that the model is told."""
        self._external = {tool.shown_as: tool for tool in tools}

    @property
    def busy(self) -> bool:
        """Whether a call is on its way, here or in the runtime that was permitted it.

        One that another agent carries out does not count.
        """
        return len(self._in_flight) > self._delegated or self._permits.any

    async def permit(self, call: ToolCall) -> Decision:
        """May the runtime do this itself? Asks if need be; never `ask`. See `settle`."""
        result = await self._inside(self._permission, call)
        if result is PERMITTED:
            return Decision("allow", "gate", "it was allowed")
        return Decision("deny", "gate", result.text)

    def settle(self, call_id: str, result: ToolResult) -> None:
        """Tell how a permitted call went that the runtime did itself."""
        self._permits.settle(self._named(call_id), result)

    async def call(self, call: ToolCall) -> ToolResult:
        """Judge, ask if need be, do. Never raises but CancelledError."""
        return await self._inside(self._pass, call)

    async def _inside(self, way: "_Way", call: ToolCall) -> ToolResult:
        """Send a call its way as a task of the gate."""
        if self._closed:
            return stopped()
        call = replace(call, call_id=self._named(call.call_id))
        task = self._tasks.create_task(self._live(way, CallLife(call, self._tell)))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            return stopped()  # the gate was closed, not the caller cancelled

    async def close(self) -> None:
        """Let nothing in any more, stop what is inside, wait until it is gone."""
        self._closed = True
        for task in self._in_flight:
            if not task.cancelling():  # a second time, it would be disturbed as it cleans up
                task.cancel()
        while self._in_flight:
            await asyncio.wait(tuple(self._in_flight))
        self._permits.close()

    def _named(self, call_id: str) -> str:
        """An id that no other agent of the run uses."""
        above = self._scene.call_id
        return f"{above}/{call_id}" if above else call_id

    # ---- the way of one call

    async def _live(self, way: "_Way", life: CallLife) -> ToolResult:
        self._repeats.count(life.call)
        try:
            result = await way(life)
        except asyncio.CancelledError:
            life.end(stopped())
            raise
        except Exception:
            log.exception("call %s broke", life.call.call_id)
            result = _broken(life)
        is_denied = result.status == "denied"
        self._repeats.ended(life.call, denied=is_denied)
        self._denials = self._denials + 1 if is_denied else 0
        if result is not PERMITTED:
            life.end(result)
        if self._denials >= MAX_DENIALS:
            self._ways.too_many_denials()
        return result

    async def _pass(self, life: CallLife) -> ToolResult:
        action = self._wished(life)
        if isinstance(action, ToolResult):
            return action
        long_results, session_id = self._crew.long_results, self._scene.session_id
        result = await long_results.shortened(session_id, action, await self._done(life, action))
        return await self._guided(action, result)

    def _wished(self, life: CallLife) -> Action | ToolResult:
        """What is wished; a failed result for what can't be understood."""
        try:
            action = parse(life.call, self._scene.cwd, self._external)
        except ToolProblem as problem:
            life.requested(None)
            return failed(str(problem))
        life.requested(action)
        return action

    async def _guided(self, action: Action, result: ToolResult) -> ToolResult:
        """The result, with the instructions for where it was that the model does not know yet."""
        if result.status != "ok":
            return result
        return replace(result, text=result.text + await self._scene.guide.beside(action))

    async def _done(self, life: CallLife, action: Action) -> ToolResult:
        if isinstance(action, WriteFile | EditFile | EditFiles):
            return await self._edit(life, action)
        life.move("judge")
        try:
            return await self._once(life, action)
        except ActionFailed as failure:
            return failed(failure.reason, failure.code)

    async def _permission(self, life: CallLife) -> ToolResult:
        """The way of a call that the runtime wants to carry out itself."""
        action = self._wished(life)
        if isinstance(action, ToolResult):
            return action
        if isinstance(action, CallAgent | CallExternal | MovePath):
            return failed("Call it as a tool of this host.")
        life.move("judge")
        try:
            return await self._permitted(life, action)
        except ActionFailed as failure:
            return failed(failure.reason, failure.code)

    async def _permitted(self, life: CallLife, action: SingleAction | EditFiles) -> ToolResult:
        call_id = life.call.call_id
        actions = action.files if isinstance(action, EditFiles) else (action,)
        judged: list[Judged] = []
        for each in actions:
            judged.append(by_itself(await self._judged(each, call_id)))
            if judged[-1].decision.verdict == "deny":
                return denied(judged[-1].decision.reason)
        changes = [
            await planned(self._crew.changes, each, of)
            for each, of in zip(actions, judged, strict=True)
            if isinstance(each, WriteFile | EditFile)
        ]
        for change in changes:
            if change.unsaved:
                return denied(f"{change.name} has unsaved changes in the editor: save it first")
        asked = [each for each in judged if each.decision.verdict == "ask"]
        if asked:
            life.move("ask")
            for change in changes:
                self._tell(Edited(call_id, change.uri, change.diff, "proposed"))
            diff = "".join(change.diff for change in changes) if changes else None
            answer = await self._ask(asked, call_id, diff)
            if not answer.allowed:
                return denied(answer.reason, by_user=answer.by_user)
        if self._closed:
            return stopped()
        life.move("allow")
        command = _in_true_folder(action, judged[0]) if isinstance(action, RunCommand) else None
        return await self._permits.give(life, changes, command)

    async def _once(self, life: CallLife, action: _Once) -> ToolResult:
        judged = await self._judged(action, life.call.call_id)
        verdict = judged.decision.verdict
        if self._closed:
            return stopped()
        if verdict == "deny":
            return denied(judged.decision.reason)
        if not self._was_permitted(action, judged) and verdict == "ask":
            life.move("ask")
            answer = await self._ask((judged,), life.call.call_id)
            if self._closed:
                return stopped()
            if not answer.allowed:
                return denied(answer.reason, by_user=answer.by_user)
        life.move("allow")
        return await self._do(life, action, judged)

    def _was_permitted(self, action: _Once, judged: Judged) -> bool:
        """Whether the runtime was permitted to run this itself, and has the host do it instead."""
        if not isinstance(action, RunCommand):
            return False
        return self._permits.use_command(_in_true_folder(action, judged))

    async def _do(self, life: CallLife, action: _Once, judged: Judged) -> ToolResult:
        """Do what was allowed, by whose business it is."""
        match action:
            case UseSkill():
                return await self._scene.guide.use(action)
            case ReadFile() if is_reference(action):
                return await self._crew.long_results.read(self._scene.session_id, action)
            case CallAgent():
                return await self._delegate(life, action)
            case CallExternal(tool):
                source = f"mcp:{tool.server}"
                return await self._crew.servers.call(
                    action, lambda line: self._tell(Logged(source, line))
                )
            case MovePath(to=to):
                # The true path, as it was judged.
                action = replace(action, to=judged.subject.moved_to or to)
            case _:
                pass
        return await self._crew.hands.perform(action, judged, self._ledger, life)

    async def _edit(self, life: CallLife, action: FileChange | EditFiles) -> ToolResult:
        call_id = life.call.call_id
        call = EditCall(
            life,
            self._crew.changes,
            self._ledger,
            judge=lambda each: self._judged(each, call_id),
            ask=lambda judged, diff, parts: self._ask(judged, call_id, diff, parts),
            was_permitted=self._permits.use_change,
            is_over=lambda: self._closed,
        )
        return await call.perform(action)

    async def _judged(self, action: SingleAction, call_id: str) -> Judged:
        scene = self._scene
        judged = await self._crew.judge.judge(action, scene.role, scene.session_id)
        if judged.decision.source == "trust":
            trusts = await self._crew.asker.trusts(
                judged.root, run_id=scene.run_id, call_id=call_id, tell=self._tell
            )
            if trusts.allowed:
                judged = await self._crew.judge.judge(action, scene.role, scene.session_id)
            else:
                self._end_if_stopped(trusts)
                why = f"{judged.decision.reason} ({trusts.reason})"
                judged = replace(judged, decision=replace(judged.decision, reason=why))
        judged = replace(judged, decision=self._repeats.judged(judged.decision, call_id))
        if isinstance(action, RunCommand):
            judged = replace(judged, command=self._crew.hands.frozen(action, judged))
        self._tell(Logged("permissions", explain(judged.decision)))
        return judged

    async def _ask(
        self,
        judged: Sequence[Judged],
        call_id: str,
        diff: str | None = None,
        parts: Sequence[EditPart] = (),
    ) -> Outcome:
        outcome = await self._crew.asker.may(
            judged,
            run_id=self._scene.run_id,
            call_id=call_id,
            agents=self._scene.agents,
            diff=diff,
            parts=parts,
            tell=self._tell,
        )
        asking = asyncio.current_task()
        if asking is not None and asking.cancelling():
            # The call was stopped while it asked: an answer that came all the same is too late.
            raise asyncio.CancelledError
        self._end_if_stopped(outcome)
        return outcome

    def _end_if_stopped(self, outcome: Outcome) -> None:
        if outcome.stops:
            self._closed = True
            self._ways.stop()

    async def _delegate(self, life: CallLife, action: CallAgent) -> ToolResult:
        self._delegated += 1
        try:
            return await self._ways.call_agent(action, life.call.call_id)
        finally:
            self._delegated -= 1


_Way = Callable[[CallLife], Awaitable[ToolResult]]


def _in_true_folder(action: RunCommand, judged: Judged) -> RunCommand:
    return replace(action, cwd=judged.subject.cwd or action.cwd)


def _broken(life: CallLife) -> ToolResult:
    """A fault of ours lets nothing pass; once an action is running its end is not known."""
    if life.state == "running":
        return failed("The host broke while doing it; look whether it was done.")
    return denied("the host broke while judging it")
