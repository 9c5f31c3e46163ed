"""One run's talk with an ACP agent: its updates to deltas, its wishes and methods to the gate.

What an agent did without asking ends the talk, unless its own tools are allowed to it. Not here:
starting and ending the process (acp.py), what is remembered of its sessions (resume.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent_host import __version__
from agent_host.core.errors import AgentHostError
from agent_host.core.events import PlanEntry
from agent_host.core.model import ImagePart, JsonObject, TextPart, ToolCall, ToolResult, Usage
from agent_host.core.ports import RunSink, RuntimeRequest, ToolGate
from agent_host.process import ChildGone, ChildProcess
from agent_host.runtimes.acp_calls import Calls, Terms
from agent_host.runtimes.acp_peer import (
    INTERNAL,
    INVALID_PARAMS,
    NO_METHOD,
    PERMISSION,
    Peer,
    RpcError,
    as_object,
    objects,
)
from agent_host.runtimes.acp_terminals import Terminals
from agent_host.runtimes.acp_trouble import AUTH_REQUIRED, not_logged_in, other_version
from agent_host.runtimes.acp_wishes import command_line
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    encode,
    interruptions,
)
from agent_host.runtimes.resume import OwnSession, Past, session_item

VERSION = 1
"""The version of the protocol that is spoken."""


class LostSession(Exception):
    """The agent can't go back to its session."""


class Talk:
    """The talk of one run with one process; `hold` is called once."""

    def __init__(
        self,
        child: ChildProcess,
        request: RuntimeRequest,
        sink: RunSink,
        gate: ToolGate,
        terms: Terms,
    ) -> None:
        self.session: str | None = None
        self.stop_reason: str | None = None
        self.trouble: AgentHostError | None = None
        self.remark = ""
        self.silent = False
        self.usage: Usage | None = None
        self.answer = ""
        self._child = child
        self._request = request
        self._sink = sink
        self._gate = gate
        self._terms = terms
        self._peer = Peer(child, self._serve, self._hear, self._strange, sink.alive)
        self._methods: dict[str, Callable[[JsonObject], Awaitable[JsonObject]]] = {}
        self._calls = Calls(terms, sink, gate, self._remember, self._acted)
        self._reads = 0
        self._items: list[Item] = []
        self._ended = asyncio.Event()
        self._live = False
        self._context = Usage()

    async def hold(self, past: Past) -> None:
        """Until the agent has answered, has gone wrong or is gone. Raises LostSession."""
        lost = False
        async with asyncio.TaskGroup() as tasks:
            terminals = Terminals(self._gate, tasks)
            self._methods = self._served_by(terminals)
            listening = tasks.create_task(self._peer.listen(tasks))
            talking = tasks.create_task(self._talk(past))
            watching = tasks.create_task(self._ended.wait())
            try:
                await asyncio.wait((talking, watching), return_when=asyncio.FIRST_COMPLETED)
                lost = talking.done() and talking.result()
            finally:
                for task in (listening, talking, watching):
                    task.cancel()
                self._peer.drop_requests()
                await terminals.close()
                self._keep_what_is_unfinished()
        if lost:
            raise LostSession

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

    async def _talk(self, past: Past) -> bool:
        """All of it; True: its own session is lost."""
        try:
            async with asyncio.timeout(self._terms.start_seconds):
                if not await self._begin(past):
                    return self.trouble is None
            self._live = True
            missed = past.missed
            prompt = self._prompt(missed, first=past.session is None)
            told = {"sessionId": self.session, "prompt": prompt}
            answer = await self._peer.ask("session/prompt", told)
            await self._peer.settled()
            self.stop_reason = str(answer.get("stopReason", "end_turn"))
            self._spend(as_object(answer.get("usage")))
        except TimeoutError:
            self.silent = True
        except ChildGone as error:
            self.remark = str(error)
        except RpcError as error:
            self._refused(error)
        return False

    async def _begin(self, past: Past) -> bool:
        """Initialize, and find or make its session; False: it can't go back to that."""
        wanted = {
            "protocolVersion": VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
            },
            "clientInfo": {"name": "agent-host", "version": __version__},
        }
        can = await self._peer.ask("initialize", wanted)
        if can.get("protocolVersion") != VERSION:
            self.trouble = other_version(self._terms.name, can.get("protocolVersion"))
            return False
        info = as_object(can.get("agentInfo"))
        told = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
        self._sink.log(self._terms.name, f"agent: {told or 'it does not tell its name'}")
        place: JsonObject = {"cwd": self._request.cwd, "mcpServers": []}
        if past.session is not None:
            return await self._go_back(past.session, place, as_object(can.get("agentCapabilities")))
        try:
            made = await self._peer.ask("session/new", place)
        except RpcError as error:
            if error.code != AUTH_REQUIRED:
                raise
            self.trouble = not_logged_in(self._terms.name, objects(can.get("authMethods")))
            return False
        self._know(str(made.get("sessionId", "")))
        return True

    async def _go_back(self, own: OwnSession, place: JsonObject, can: JsonObject) -> bool:
        more = as_object(can.get("sessionCapabilities"))
        if "resume" in more and more["resume"] is not None:
            method = "session/resume"
        elif can.get("loadSession"):
            method = "session/load"
        else:
            return False
        if own.fork:
            return False  # two sessions of ours in one of its own would mix
        try:
            await self._peer.ask(method, {**place, "sessionId": own.id})
        except RpcError as error:
            self._sink.log(self._terms.name, f"{method}: {error.message}")
            return False
        self._know(own.id)
        return True

    def _know(self, session: str) -> None:
        self.session = session
        item = session_item(self._terms.name, session, self._request.session_id)
        self._sink.remember([item])

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
        else:
            self.remark = f"it reported: {error.message}"

    # ---- what it tells

    def _strange(self, line: str) -> None:
        self._sink.log(self._terms.name, f"not understood: {line}")

    def _hear(self, method: str, params: JsonObject) -> None:
        if method != "session/update":
            return
        update = as_object(params.get("update"))
        kind = update.get("sessionUpdate")
        if kind == "usage_update":
            self._measure(update)
        if not self._live or params.get("sessionId") != self.session:
            return  # what it says of an earlier conversation while it loads it
        match kind:
            case "agent_message_chunk":
                self._say(str(as_object(update.get("content")).get("text", "")))
            case "agent_thought_chunk":
                self._sink.reasoning(str(as_object(update.get("content")).get("text", "")))
            case "tool_call" | "tool_call_update":
                self._calls.follow(update)
            case "plan":
                self._sink.plan([_entry(each) for each in objects(update.get("entries"))])
            case _:
                pass

    def _say(self, text: str) -> None:
        self.answer += text
        self._sink.text(text)

    def _spend(self, told: JsonObject) -> None:
        count = {key: value for key, value in told.items() if isinstance(value, int)}
        cached, stored = count.get("cachedReadTokens", 0), count.get("cachedWriteTokens", 0)
        if count or self._context != Usage():
            self.usage = replace(
                self._context,
                requests=1,
                input_tokens=count.get("inputTokens", 0) + cached + stored,
                output_tokens=count.get("outputTokens", 0),
                cached_tokens=cached,
                cache_write_tokens=stored,
                reasoning_tokens=count.get("thoughtTokens", 0),
            )
            self._sink.usage(self.usage)

    def _measure(self, update: JsonObject) -> None:
        used, size = update.get("used"), update.get("size")
        self._context = Usage(
            context_tokens=used if isinstance(used, int) else None,
            context_window=size if isinstance(size, int) and size else None,
        )

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
            PERMISSION: self._calls.permit,
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
        if self.session is None or params.get("sessionId") != self.session:
            raise RpcError(INVALID_PARAMS, "This is not the session.")
        return await way(params)

    async def _read(self, params: JsonObject) -> JsonObject:
        given: dict[str, object] = {"path": params.get("path")}
        if isinstance(line := params.get("line"), int):
            given["offset"] = max(1, line)
        if isinstance(limit := params.get("limit"), int) and limit > 0:
            given["limit"] = limit
        result = await self._called("fs_read", given)
        return {"content": result.raw.text if result.raw else result.text}

    async def _write(self, params: JsonObject) -> JsonObject:
        path = str(params.get("path"))
        self._calls.writes(path)
        await self._called("fs_write", {"path": path, "text": params.get("content")})
        self._calls.has_written(path)
        return {}

    async def _called(self, tool: str, given: JsonObject) -> ToolResult:
        self._reads += 1
        result = await self._gate.call(ToolCall(f"acp-{tool}-{self._reads}", tool, given))
        if result.status != "ok":
            raise RpcError(INTERNAL, result.text)
        return result

    # ---- what is kept

    def _remember(self, item: Item) -> None:
        if isinstance(item, Called):
            self._keep_said()
        self._items.append(item)
        self._sink.remember([encode(item)])

    def _keep_said(self, *, interrupted: bool = False) -> None:
        if self.answer:
            self._remember(AgentSaid(self.answer, interrupted=interrupted))
            self.answer = ""

    def _keep_what_is_unfinished(self) -> None:
        said = self.answer
        self._keep_said(interrupted=self.stop_reason is None)
        self.answer = said  # it is the run's answer
        if missing := [encode(item) for item in interruptions(self._items)]:
            self._sink.remember(missing)


def _entry(told: JsonObject) -> PlanEntry:
    text = str(told.get("content", ""))
    match told.get("status"):
        case "completed":
            return PlanEntry(text, "completed")
        case "in_progress":
            return PlanEntry(text, "inProgress")
        case _:
            return PlanEntry(text, "pending")
