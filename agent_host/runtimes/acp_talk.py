"""One run's talk with an ACP agent: its updates to deltas, its wishes and methods to the gate.

What an agent did without asking ends the talk, unless its own tools are allowed to it. Not here:
starting and ending the process (acp.py), what is remembered of its sessions (resume.py).
"""

import asyncio
from collections.abc import Awaitable, Callable

from agent_host.core.errors import AgentHostError
from agent_host.core.events import PlanEntry
from agent_host.core.model import ImagePart, JsonObject, TextPart, ToolCall, ToolResult
from agent_host.core.ports import RunSink, RuntimeRequest, ToolGate
from agent_host.process import ChildGone, ChildProcess
from agent_host.runtimes.acp_begin import LostSession, Terms, Unfit, begin
from agent_host.runtimes.acp_calls import Calls
from agent_host.runtimes.acp_failures import Told, reported, stop_told, told_by
from agent_host.runtimes.acp_peer import (
    INTERNAL,
    INVALID_PARAMS,
    MISSING,
    NO_METHOD,
    PERMISSION,
    Peer,
    RpcError,
    as_object,
    objects,
)
from agent_host.runtimes.acp_terminals import Terminals
from agent_host.runtimes.acp_trouble import AUTH_REQUIRED, not_logged_in, ungated
from agent_host.runtimes.acp_usage import Spending
from agent_host.runtimes.acp_wishes import command_line
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Returned,
    encode,
    interruptions,
)
from agent_host.runtimes.masking import masked
from agent_host.runtimes.mcp_tools import of_servers
from agent_host.runtimes.program_trouble import printed, silent
from agent_host.runtimes.resume import Past, session_item
from agent_host.runtimes.trouble import refuses_hidden

QUIET_SECONDS = 0.2
"""How long, after its turn, it may still begin to ask."""

_SPEAKS = ("agent_message_chunk", "agent_thought_chunk", "tool_call")
"""The updates that come from the agent's model."""


class Talk:
    """The talk of one run with one process; `hold` is called once."""

    def __init__(
        self,
        child: ChildProcess,
        request: RuntimeRequest,
        sink: RunSink,
        gate: ToolGate,
        terms: Terms,
        past: Past,
    ) -> None:
        self.session: str | None = None
        self.stop_reason: str | None = None
        self.trouble: AgentHostError | None = None
        self.remark = ""
        self.lost = False
        self.spending = Spending(past.spent if past.session else 0.0)
        self.answer = ""
        self._past = past
        self._child = child
        self._request = request
        self._sink = sink
        self._gate = gate
        self._terms = terms
        self._peer = Peer(child, self._serve, self._hear, self._strange, sink.alive)
        self._methods: dict[str, Callable[[JsonObject], Awaitable[JsonObject]]] = {}
        self._calls = Calls(terms, sink, gate, self._remember, self._acted)
        if terms.tools is not None:
            self._calls.ours = frozenset(tool.name for tool in of_servers(request.tools))
        self._reads = 0
        self._items: list[Item] = []
        self._ended = asyncio.Event()
        self._live = False
        self._served = False
        self._printed = ""
        self._heard_result = True

    async def hold(self) -> None:
        """Until the agent has answered, has gone wrong (`trouble`), is gone, or has `lost`."""
        async with asyncio.TaskGroup() as tasks:
            terminals = Terminals(self._gate, tasks)
            self._methods = self._served_by(terminals)
            listening = tasks.create_task(self._peer.listen(tasks))
            talking = tasks.create_task(self._talk(self._past))
            watching = tasks.create_task(self._ended.wait())
            try:
                await asyncio.wait((talking, watching), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (listening, talking, watching):
                    task.cancel()
                self._peer.drop_requests()
                await terminals.close()
                self._keep_what_is_unfinished()

    @property
    def spent(self) -> float | None:
        """What its session has cost by its own account."""
        return self.spending.total

    @property
    def denied(self) -> bool:
        """Whether anything that it asked for was not allowed."""
        return self._calls.denied

    async def interrupt(self) -> None:
        """Tell it to stop, without waiting for it."""
        if self.session is None:
            return
        try:
            async with asyncio.timeout(0.5):
                await self._peer.notify("session/cancel", {"sessionId": self.session})
        except (ChildGone, TimeoutError):
            return

    # ---- what we say

    async def _talk(self, past: Past) -> None:
        """All of it."""
        try:
            async with asyncio.timeout(self._terms.start_seconds):
                await self._begin(past)
            prompt = self._prompt(past.missed, first=past.session is None)
            told = {"sessionId": self.session, "prompt": prompt}
            answer = await self._peer.ask("session/prompt", told)
            await self._peer.settled(QUIET_SECONDS)
            self.stop_reason = str(answer.get("stopReason", "end_turn"))
            self.spending.answered(answer)
            self._tell_usage()
            if (failure := told_by(answer)) is not None and failure.over:
                self._failed(failure.title, login=failure.category == "access")
        except TimeoutError:
            name, seconds = self._terms.name, self._terms.start_seconds
            self.trouble = silent(name, seconds, self._child.stderr_tail)
        except LostSession:
            self.lost = True
        except Unfit as unfit:
            self.trouble = unfit.error
        except ChildGone as error:
            self.remark = printed(self._printed) if self._printed else str(error)
        except RpcError as error:
            self._refused(error)

    async def _begin(self, past: Past) -> None:
        begun = await begin(self._peer, self._terms, self._request, self._sink, past.session)
        self.session = begun.session
        item = session_item(self._terms.name, begun.session, self._request.session_id)
        self._sink.remember([item])
        agent = self._terms.agent
        self._calls.confined = agent.confined and begun.mode in agent.modes
        self._live = True

    def _prompt(self, missed: str, *, first: bool) -> list[JsonObject]:
        told: list[str] = []
        if first and self._request.instructions.strip():
            told.append(f"Your instructions:\n\n{self._request.instructions.strip()}\n\n---\n")
        if missed:
            told.append(f"What was said earlier in this conversation:\n\n{missed}\n\n---\n")
        parts: list[JsonObject] = [{"type": "text", "text": text} for text in told]
        for part in self._request.prompt:
            match part:
                case TextPart(text):
                    # A leading slash would be a command to the agent itself.
                    safe = f"The user says: {text}" if text[:1] == "/" else text
                    parts.append({"type": "text", "text": safe})
                case ImagePart(media_type, data):
                    parts.append({"type": "image", "mimeType": media_type, "data": data})
                case _:
                    parts.append({"type": "text", "text": part.uri})
        return parts

    def _refused(self, error: RpcError) -> None:
        if error.code == AUTH_REQUIRED:
            self.trouble = not_logged_in(self._terms.name, [])
            return
        if refuses_hidden(error.message):
            # Told anew it may go on, unless it has done something in this run already.
            did = self._served or bool(self._items or self.answer)
            self.lost = self._past.session is not None and not did
        self._failed(error.message, status=error.code if 400 <= error.code < 600 else None)

    def _failed(self, said: str, *, status: int | None = None, login: bool = False) -> None:
        self.stop_reason = stop_told(said)
        if self.stop_reason is None:
            self.trouble = reported(self._terms.name, said, status=status, login=login)

    # ---- what it tells

    def _strange(self, line: str) -> None:
        line = masked(line)
        self._sink.log(self._terms.name, f"not understood: {line}")
        if self.session is None:
            self._printed = self._printed or line

    def _hear(self, method: str, params: JsonObject) -> None:
        update = as_object(params.get("update"))
        if method == "session/update" and update.get("sessionUpdate") == "usage_update":
            self.spending.measure(update, live=self._live)
            if self._live:
                self._tell_usage()
        elif method != "session/update" or not self._live:
            pass  # it is of an earlier conversation that is being loaded
        elif params.get("sessionId") == self.session:
            self._follow(update)
        elif update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            self._calls.follow(_of_nested(params, update))

    def _follow(self, update: JsonObject) -> None:
        kind = update.get("sessionUpdate")
        if kind in _SPEAKS:
            self._step()
        match kind:
            case "agent_message_chunk":
                self._say(str(as_object(update.get("content")).get("text", "")))
            case "agent_thought_chunk":
                self._sink.reasoning(str(as_object(update.get("content")).get("text", "")))
            case "tool_call" | "tool_call_update":
                self._calls.follow(update)
            case "plan":
                self._sink.plan([_entry(each) for each in objects(update.get("entries"))])
            case "session_info_update":
                self._warn(told_by(update))
            case "current_mode_update":
                self._enter_mode(update.get("currentModeId"))
            case _:
                pass

    def _warn(self, told: Told | None) -> None:
        if told is not None and told.again:
            self._sink.retry(told.title, 0.0)
        elif told is not None:
            self._sink.log(self._terms.name, told.title)

    def _say(self, text: str) -> None:
        self.answer += text
        self._sink.text(text)

    def _tell_usage(self) -> None:
        if (usage := self.spending.usage) is not None:
            self._sink.total(usage)

    def _step(self) -> None:
        """What its model says after a tool has answered, and first of all, is a further call."""
        if self._heard_result:
            self._heard_result = False
            self.spending.step()
            self._tell_usage()

    def _enter_mode(self, mode: object) -> None:
        wanted = self._terms.agent.modes
        if wanted and mode not in wanted and not self._terms.native:
            self._acted(ungated(self._terms.name, f"has left the mode in which it asks ({mode})"))

    def _acted(self, error: AgentHostError) -> None:
        self.trouble = error
        self._ended.set()

    # ---- what it asks for

    def _served_by(
        self, terminals: Terminals
    ) -> dict[str, Callable[[JsonObject], Awaitable[JsonObject]]]:
        async def create(params: JsonObject) -> JsonObject:
            self._calls.runs(command_line(params))
            return terminals.create(params)

        async def output(params: JsonObject) -> JsonObject:
            return terminals.output(params)

        return {
            PERMISSION: self._permit,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": create,
            "terminal/output": output,
            "terminal/wait_for_exit": terminals.wait,
            "terminal/kill": terminals.kill,
            "terminal/release": terminals.release,
        }

    async def _serve(self, method: str, params: JsonObject) -> object:
        way = self._methods.get(method)
        if way is None:
            raise RpcError(NO_METHOD, f"agent-host does not serve {method}.")
        if not self._live:
            raise RpcError(INVALID_PARAMS, "There is no session yet.")
        self._served = True
        return await way(params)

    async def _permit(self, params: JsonObject) -> JsonObject:
        if params.get("sessionId") != self.session:
            # An agent that it has called itself asks: it is as much ours to answer.
            call = as_object(params.get("toolCall"))
            params = {**params, "toolCall": _of_nested(params, call)}
        return await self._calls.permit(params)

    async def _read(self, params: JsonObject) -> JsonObject:
        given: dict[str, object] = {"path": params.get("path")}
        if isinstance(line := params.get("line"), int):
            given["offset"] = max(1, line)
        if isinstance(limit := params.get("limit"), int) and limit > 0:
            given["limit"] = limit
        try:
            result = await self._called("fs_read", given)
        except RpcError as error:
            if error.code == MISSING and self._terms.agent.blank:
                return {"content": ""}
            raise
        return {"content": result.raw.text if result.raw else result.text}

    async def _write(self, params: JsonObject) -> JsonObject:
        path = str(params.get("path"))
        await self._called("fs_write", {"path": path, "text": params.get("content")})
        self._calls.has_written(path)
        return {}

    async def _called(self, tool: str, given: JsonObject) -> ToolResult:
        self._reads += 1
        result = await self._gate.call(ToolCall(f"acp-{tool}-{self._reads}", tool, given))
        if result.status != "ok":
            raise RpcError(MISSING if result.code == "not_found" else INTERNAL, result.text)
        return result

    # ---- what is kept

    def _remember(self, item: Item) -> None:
        if isinstance(item, Called):
            self._keep_said()
        self._heard_result |= isinstance(item, Returned)
        self._items.append(item)
        self._sink.remember([encode(item)])

    def _keep_said(self, *, interrupted: bool = False) -> None:
        if self.answer:
            self._remember(AgentSaid(self.answer, interrupted=interrupted))
            self.answer = ""

    def _keep_what_is_unfinished(self) -> None:
        said = self.answer
        self._calls.close()
        self._keep_said(interrupted=self.stop_reason is None)
        self.answer = said  # it is the run's answer
        if missing := [encode(item) for item in interruptions(self._items)]:
            self._sink.remember(missing)


def _of_nested(params: JsonObject, call: JsonObject) -> JsonObject:
    """What a session within its own tells of a call, by an id that no other session uses."""
    return {**call, "toolCallId": f"{params.get('sessionId')}/{call.get('toolCallId')}"}


def _entry(told: JsonObject) -> PlanEntry:
    text = str(told.get("content", ""))
    match told.get("status"):
        case "completed":
            return PlanEntry(text, "completed")
        case "in_progress":
            return PlanEntry(text, "inProgress")
        case _:
            return PlanEntry(text, "pending")
