"""One run's talk with a claude process: its events to deltas, its wishes to the gate.

stdin stays open until nothing can be asked any more. A tool that ran without having been allowed
ends the talk. Not here: starting and ending the process (claude_cli.py).
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_host.action_wire import WireError
from agent_host.core.errors import AgentHostError
from agent_host.core.model import JsonObject, ToolResult, Usage
from agent_host.core.ports import RunSink, RuntimeRequest, ToolGate
from agent_host.process import ChildGone, ChildProcess
from agent_host.runtimes import CLAUDE as NAME
from agent_host.runtimes import claude_wire
from agent_host.runtimes.claude_events import (
    Background,
    Began,
    Event,
    EventReader,
    Finished,
    MayRun,
    Responded,
    Retrying,
    Returned,
    Said,
    Spent,
    Spoke,
    Took,
    Unserved,
    Wished,
    Withdrawn,
)
from agent_host.runtimes.claude_steering import Steering
from agent_host.runtimes.claude_tools import NATIVE, wish
from agent_host.runtimes.claude_trouble import (
    failure,
    is_lost_session,
    is_refused_history,
    not_logged_in,
    ungated,
)
from agent_host.runtimes.claude_wire import OUR_PREFIX
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    UserSaid,
    encode,
    interruptions,
)
from agent_host.runtimes.conversation import Returned as ReturnedItem
from agent_host.runtimes.masking import masked
from agent_host.runtimes.mcp_tools import SERVER_NAME
from agent_host.runtimes.program_trouble import printed, silent
from agent_host.runtimes.resume import Past, session_item

QUIET_SECONDS = 0.2
"""How long, after its answer, a CLI with tools of its own may still begin to ask."""

_Heard = Said | Spoke | Spent | Retrying | Wished | Took | Background | Finished

_NOT_OURS = "This tool is switched off here; use the tools of the server agent-host."
_NO_COUNTERPART = "This tool can't be judged, so it is switched off here."


@dataclass(frozen=True, slots=True)
class Terms:
    """How a talk is held. `price` gives the cost of a call of a model, None is unknown.

    `end_seconds`: so long it may take to begin with what was said too late for its answer.
    """

    native: bool
    start_seconds: float
    end_seconds: float
    price: Callable[[str, Usage], float | None]


class Talk:
    """The talk of one run with one process; `hold` is called once."""

    def __init__(
        self,
        child: ChildProcess,
        request: RuntimeRequest,
        sink: RunSink,
        gate: ToolGate,
        terms: Terms,
        steering: Steering,
        past: Past,
    ) -> None:
        self.usage = Usage()
        self.session: str | None = None
        self.finished: Finished | None = None
        self.trouble: AgentHostError | None = None
        self.remark = ""
        self._child = child
        self._request = request
        self._sink = sink
        self._gate = gate
        self._terms = terms
        self._past = past
        self._steering = steering
        steering.attach(child.send, self._remember)
        self._reader = EventReader()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._decided: dict[str, str | None] = {}
        self._wished: dict[str, Wished] = {}
        self._settled: set[str] = set()
        self._behind: set[str] = set()
        self._items: list[Item] = []
        self._part = ""
        self._printed = ""
        self._over = False
        self._unreached = False

    @property
    def lost(self) -> bool:
        """Whether the CLI no longer has the session that it was to go on with."""
        stderr = self._child.stderr_tail
        if self._past.session is None:
            return False
        return is_lost_session(self.finished, stderr) or self._is_refused_history

    @property
    def _is_refused_history(self) -> bool:
        """Whether the vendor does not take back what the CLI has kept, before anything was done."""
        done = any(not isinstance(item, UserSaid) for item in self._items)
        return self.finished is not None and not done and is_refused_history(self.finished)

    @property
    def used(self) -> Usage:
        """All so far; its cost is the CLI's own account, once it has told that."""
        cost = self.finished.cost if self.finished is not None else None
        return replace(self.usage, cost_usd=cost) if cost else self.usage

    @property
    def spent(self) -> float | None:
        """It counts for one process only."""
        return None

    async def hold(self) -> None:
        """Until the CLI has finished, has gone wrong or is gone; see `finished`, `trouble`."""
        async with asyncio.TaskGroup() as tasks:
            try:
                await self._listen(tasks)
            except ChildGone as error:
                self.remark = str(error)
            except WireError:
                self.remark = "it sent a line that is too long"
            finally:
                self._over = True
                if self.session is None and self._printed:
                    self.remark = printed(self._printed)
                for task in self._asking.values():
                    task.cancel()
                self._keep_what_is_unfinished()

    async def interrupt(self) -> None:
        """Tell it to stop, without waiting for it."""
        with contextlib.suppress(ChildGone, TimeoutError):
            async with asyncio.timeout(0.5):
                await self._child.send(claude_wire.interrupt())

    # ---- the lines

    async def _listen(self, tasks: asyncio.TaskGroup) -> None:
        try:
            async with asyncio.timeout(self._terms.start_seconds) as limit:
                await self._child.send(claude_wire.initialize())
                async for line in self._child.lines():
                    for event in self._events(line):
                        await self._take(event, tasks, limit)
                    if self.trouble is not None:
                        return
                    if self.finished is not None:
                        limit.reschedule(self._until())
        except TimeoutError:
            if self.finished is None:
                self.trouble = silent("claude", self._terms.start_seconds, self._child.stderr_tail)
            elif self._steering.waits:
                self._sink.log(NAME, "What was said last has not been taken: say it again.")

    def _until(self) -> float | None:
        """When, after its answer, the talk is over; None while it may go on."""
        if self._behind or self._asking:
            return None
        quiet = QUIET_SECONDS if self._terms.native else 0.0
        quiet = self._terms.end_seconds if self._steering.waits else quiet
        return asyncio.get_running_loop().time() + quiet

    def _events(self, line: bytes) -> Sequence[Event]:
        self._sink.alive()
        if not line.strip():
            return ()
        try:
            return self._reader.read(line)
        except ValueError:
            said = masked(line[:2000].decode("utf-8", "replace"))
            self._sink.log(NAME, f"not understood: {said}")
            self._printed = self._printed or said
            return ()

    async def _take(self, event: Event, tasks: asyncio.TaskGroup, limit: asyncio.Timeout) -> None:
        match event:
            case Responded(claude_wire.INITIALIZE, None):
                limit.reschedule(None)
                await self._child.send(claude_wire.prompt(self._request.prompt, self._past.missed))
            case Responded(claude_wire.INITIALIZE, str() as error):
                self.trouble = failure(error, None)
            case MayRun():
                self._asking[event.request_id] = tasks.create_task(self._answer(event, limit))
            case Withdrawn(request_id):
                if request_id in self._asking:
                    self._asking[request_id].cancel()
            case Unserved(request_id, kind):
                refusal = claude_wire.refusal(request_id, f"agent-host does not serve {kind}")
                await self._child.send(refusal)
            case Responded():
                pass
            case Began():
                limit.reschedule(None)
                self.finished = None  # a turn goes on, be it a further one
                self._begin(event)
            case Returned():
                self._return(event)
                await self._steering.pass_on()
            case _:
                self._hear(event)

    def _hear(self, event: _Heard) -> None:
        match event:
            case Said(text, thinking):
                self._say(text, thinking=thinking)
            case Spoke():
                self._spoke(event)
            case Spent(model, usage):
                self._spend(model, usage)
            case Retrying():
                self._retry(event)
            case Wished():
                self._wish(event)
            case Took(name):
                self._steering.heard(name)
            case Background(task, running):
                (self._behind.add if running else self._behind.discard)(task)
            case Finished():
                self.finished = event
                if event.cost:
                    self._sink.total(self.used)  # it may go on with what is behind it
                self._tell_unreached()

    def _spoke(self, event: Spoke) -> None:
        if not event.told:
            self._sink.text(event.text)
        self._part = ""
        self._remember(AgentSaid(event.text))

    def _wish(self, event: Wished) -> None:
        self._wished[event.call_id] = event
        ours = event.name.removeprefix(OUR_PREFIX)
        self._unreached = self._unreached and ours == event.name
        self._remember(Called(event.call_id, ours, json.dumps(event.arguments)))

    def _tell_unreached(self) -> None:
        if self._unreached:
            self._unreached = False
            ended = (
                "It has used none of the host's tools, which it had not reached when it began: it "
                "has read and changed nothing. Run it again if it should have."
            )
            self._sink.log(NAME, ended)

    def _say(self, text: str, *, thinking: bool) -> None:
        if thinking:
            self._sink.reasoning(text)
        else:
            self._part += text
            self._sink.text(text)

    def _spend(self, model: str, usage: Usage) -> None:
        cost = self._terms.price(f"anthropic/{model}", usage)
        usage = replace(usage, cost_usd=cost)
        self.usage = self.usage.plus(usage)
        self._sink.usage(usage)

    def _retry(self, event: Retrying) -> None:
        self._part = ""
        self._sink.retry(event.error, event.seconds)
        if event.status in (401, 403) and event.attempt > 1:
            # The CLI would try for minutes; one more try was for a login that it can renew.
            self.trouble = not_logged_in(event.error)

    def _begin(self, event: Began) -> None:
        if event.session != self.session:
            self.session = event.session
            item = session_item(NAME, event.session, self._request.session_id)
            self._sink.remember([item])
        own = "its own login" if event.key_source in ("", "none") else event.key_source
        version = f"claude {event.version}, model {event.model}"
        self._sink.log(NAME, f"{version}, credential: {own}")
        self.trouble = self._unfit(event)

    def _unfit(self, event: Began) -> AgentHostError | None:
        """Why this CLI can't be used, as far as it tells before it does anything."""
        allowed = NATIVE if self._terms.native else ()
        more = [
            name for name in event.tools if name not in allowed and not name.startswith(OUR_PREFIX)
        ]
        if more:
            return ungated(f"offers tools that were switched off ({', '.join(more[:5])})")
        if event.permission_mode not in ("default", ""):
            return ungated(f"is in the permission mode {event.permission_mode}")
        server = event.servers.get(SERVER_NAME, "missing")
        if self._terms.native or not self._request.tools:
            return None
        if server == "pending":
            self._unreached = True
            begins = "It begins before it has reached the host's tools; until then it has none."
            self._sink.log(NAME, begins)
        elif server != "connected":
            return failure(f"its connection to the host's tools is {server}", None)
        return None

    # ---- tools

    def _return(self, event: Returned) -> None:
        wished = self._wished.get(event.call_id)
        name = wished.name if wished is not None else "a tool"
        ours = name.startswith(OUR_PREFIX)
        self._remember(ReturnedItem(event.call_id, event.text))
        if event.call_id in self._settled:
            return
        self._settled.add(event.call_id)
        if event.ok and not ours and self._decided.get(event.call_id, "nobody asked") is not None:
            self.trouble = ungated(f"has used {name} without being allowed to")
        status = "ok" if event.ok else "failed"
        if not ours:
            summary = event.text.strip().split("\n", 1)[0][:200] or name
            self._gate.settle(event.call_id, ToolResult(status, event.text, summary))

    async def _answer(self, event: MayRun, limit: asyncio.Timeout) -> None:
        if self.finished is not None:
            limit.reschedule(None)
        try:
            reason = await self._reason_against(event)
            await self._steering.pass_on()
            with contextlib.suppress(ChildGone):
                await self._child.send(
                    claude_wire.hook_answer(event.request_id, reason)
                    if event.hook
                    else claude_wire.permission_answer(event.request_id, event.arguments, reason)
                )
        finally:
            del self._asking[event.request_id]
            if self.finished is not None and not (self._over or limit.expired()):
                limit.reschedule(self._until())

    async def _reason_against(self, event: MayRun) -> str | None:
        """Why the tool may not run; None: it may. The same call is judged once."""
        if event.name.startswith(OUR_PREFIX):
            return None  # it ends in the gate by itself
        if event.call_id not in self._decided:
            self._decided[event.call_id] = await self._judged(event)
        return self._decided[event.call_id]

    async def _judged(self, event: MayRun) -> str | None:
        if not self._terms.native:
            return _NOT_OURS
        call = wish(event.name, event.arguments, event.call_id)
        if call is None or not event.call_id:
            return _NO_COUNTERPART
        decision = await self._gate.permit(call)
        return None if decision.verdict == "allow" else decision.reason

    # ---- what is kept

    def _remember(self, item: Item) -> None:
        self._items.append(item)
        self._sink.remember([encode(item)])

    def _keep_what_is_unfinished(self) -> None:
        last: list[Item] = [AgentSaid(self._part, interrupted=True)] if self._part else []
        last += interruptions(self._items)
        encoded: list[JsonObject] = [encode(item) for item in last]
        if encoded:
            self._sink.remember(encoded)
