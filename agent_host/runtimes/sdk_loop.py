"""Drives openai-agents through the turns of one run: model, tool calls by the gate, model again.

The conversation is kept here and not in the SDK: the SDK sees only which tools are called, so that
what is sent and remembered stays byte-exact, and a run is cut into segments, because the SDK's cost
of a turn grows with the turns it has seen. Everything that waits is owned by one TaskGroup.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    RunConfig,
    Runner,
    Tool,
    set_tracing_disabled,
)
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.tool_context import ToolContext
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agent_host.core.errors import ContextOverflow, RuntimeFailed
from agent_host.core.events import Compacted
from agent_host.core.model import JsonObject, TextPart, ToolCall, ToolSpec
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.runtimes.compactor import Compactor
from agent_host.runtimes.context import Gauge
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Returned,
    clean,
    decode,
    encode,
    interruptions,
    repaired,
    user_said,
    without_hidden,
)
from agent_host.runtimes.provider import ModelAnswer, Trouble
from agent_host.runtimes.sdk_turn import Asker

_SEGMENT = 20
_UNKNOWN_TOOL = "agent_host_unknown_tool"
_T = TypeVar("_T")


def prepare() -> None:
    """Do at leisure what the first run would do on the loop's thread: tracing off, types built."""
    set_tracing_disabled(True)
    call = ResponseFunctionToolCall(type="function_call", call_id="", name="", arguments="")
    _completed([call, _final_message()])


class RunLoop:
    """One run, from its prompt to its result."""

    def __init__(
        self, asker: Asker, request: RuntimeRequest, sink: RunSink, gate: ToolGate, gauge: Gauge
    ) -> None:
        self._asker = asker
        self._request = request
        self._gate = gate
        self._sink = sink
        history = [item for item in map(decode, request.history) if item is not None]
        self._memory = _Memory(sink, history, gauge)
        self._compactor = Compactor(self._memory, gauge, asker, request.model)
        self._owner = asyncio.TaskGroup()
        self._stopping = False
        self._turns = 0
        self._answer: ModelAnswer | None = None
        self._trouble: Trouble | None = None

    async def run(self) -> RuntimeResult:
        """Play the run. When this returns or raises, nothing of the run is left."""
        self._memory.add([user_said(self._request.prompt)])
        try:
            async with self._owner:
                await self._answer_what_is_open()
                await self._play()
        except BaseExceptionGroup as group:
            # LimitReached, or a bug of ours: nothing else is raised that the loop does not catch.
            raise group.exceptions[0] from group
        finally:
            self._keep_what_is_unfinished()
        return self._result()

    async def compact(self) -> RuntimeResult:
        """Compact the conversation, and do no more."""
        focus = "\n".join(p.text for p in self._request.prompt if isinstance(p, TextPart))
        try:
            how = await self._compactor.on_wish(focus.strip())
        except Trouble as trouble:
            return RuntimeResult("failed", "", error=trouble.error)
        if how is None:
            return RuntimeResult("completed", "There is nothing to compact yet.")
        told = f"Compacted: about {how.before:,} tokens became {how.after:,}."
        return RuntimeResult("completed", told)

    async def _play(self) -> None:
        """Segments of turns until the model is done, in trouble, or at the run's limit."""
        limit = self._request.limits.max_turns
        while limit is None or self._turns < limit:
            turns = _SEGMENT if limit is None else min(_SEGMENT, limit - self._turns)
            if await self._play_segment(turns):
                return

    async def _play_segment(self, turns: int) -> bool:
        """Whether the run is over after at most `turns` more turns."""
        stream = Runner.run_streamed(
            Agent(name="agent", tools=self._tools(), model=_TurnModel(self)),
            "The conversation is kept elsewhere.",
            max_turns=turns,
            run_config=RunConfig(tracing_disabled=True),
        )
        try:
            async for _ in stream.stream_events():
                pass
        except MaxTurnsExceeded:
            return False
        except Trouble as trouble:
            self._trouble = trouble
        except asyncio.CancelledError:
            self._stopping = True
            raise
        finally:
            stream.cancel()
            if stream.run_loop_task is not None:
                await asyncio.wait([stream.run_loop_task])
        return True

    async def _answer_what_is_open(self) -> None:
        """Calls that were being asked about when a host ended are wished once more."""
        done = {item.call_id for item in self._memory.items if isinstance(item, Returned)}
        for call_id in self._request.unanswered:
            call = self._memory.calls.get(call_id)
            if call is not None and call_id not in done:
                await self._owned(self._perform(call))

    async def take_turn(self) -> ModelAnswer:
        """Ask the model; what it answered is remembered. Raises Trouble."""
        turn, self._turns = self._turns, self._turns + 1
        answer = await self._owned(self._ask(turn))
        if isinstance(answer, Trouble):
            raise answer
        return answer

    async def _ask(self, turn: int) -> ModelAnswer | Trouble:
        try:
            async with self._request.turn():
                answer = await self._answered(turn)
        except Trouble as trouble:
            return trouble  # as a value, because an exception would end the TaskGroup
        if answer.finish != "stop":
            # Calls of a turn that was cut or refused must not be carried out.
            kept = tuple(item for item in answer.items if not isinstance(item, Called))
            answer = ModelAnswer(kept, answer.finish, answer.detail)
        self._answer = answer
        self._memory.add(answer.items)
        return answer

    async def _answered(self, turn: int) -> ModelAnswer:
        self._answer = None
        if steering := self._request.take_steering():
            self._memory.add([user_said(steering)])
        if (problem := await self._compactor.if_full()) is not None:
            self._sink.log("context", problem)
        try:
            return await self._asked(turn)
        except Trouble as trouble:
            if not isinstance(trouble.error, ContextOverflow):
                raise
            if not await self._compactor.on_overflow():
                raise self._compactor.overflow() from trouble
            self._sink.retry("the conversation was too long and has been compacted", 0.0)
        try:
            return await self._asked(turn)
        except Trouble as trouble:
            if isinstance(trouble.error, ContextOverflow):
                raise self._compactor.overflow() from trouble
            raise

    async def _asked(self, turn: int) -> ModelAnswer:
        """The model's answer; what the vendor does not take back of its own is left out once."""
        try:
            return await self._asker.ask(self._sent(), turn)
        except Trouble as trouble:
            if not trouble.hidden or not self._memory.forget_hidden():
                raise
            self._sink.retry(f"{trouble.error.message} Its earlier thoughts are left out.", 0.0)
        return await self._asker.ask(self._sent(), turn)

    def _sent(self) -> tuple[Item, ...]:
        return repaired(self._memory.items, self._request.model)

    def knows(self, tool: str) -> bool:
        """Whether the run offers a tool of that name."""
        return any(spec.name == tool for spec in self._request.tools)

    async def _call(self, context: ToolContext[object], _arguments: str) -> str:
        return await self._owned(self._perform(self._memory.calls[context.tool_call_id]))

    async def _perform(self, call: Called) -> str:
        result = await self._gate.call(_tool_call(call))
        self._memory.add([Returned(call.call_id, clean(result.text), images=result.images)])
        return result.text

    async def _owned(self, work: Coroutine[object, object, _T]) -> _T:
        """Do work as a task of the run, so that the run does not end before it.

        It is shielded from the SDK: cancelled by that and then by the TaskGroup, it would be
        interrupted while it cleans up.
        """
        if self._stopping:
            work.close()
            raise asyncio.CancelledError
        return await asyncio.shield(self._owner.create_task(work))

    def _tools(self) -> list[Tool]:
        unknown = ToolSpec(_UNKNOWN_TOOL, "", {"type": "object", "properties": {}})
        return [
            FunctionTool(
                name=spec.name,
                description=spec.description,
                params_json_schema=dict(spec.parameters),
                on_invoke_tool=self._call,
                strict_json_schema=False,
            )
            for spec in (*self._request.tools, unknown)
        ]

    def _keep_what_is_unfinished(self) -> None:
        if self._answer is None and self._asker.said:
            self._memory.add([AgentSaid(self._asker.said, interrupted=True)])
        self._memory.add(interruptions(self._memory.items))

    def _result(self) -> RuntimeResult:
        output = self._asker.said
        if self._trouble is not None:
            return RuntimeResult("failed", output, error=self._trouble.error)
        answer = self._answer
        if answer is None or any(isinstance(item, Called) for item in answer.items):
            return RuntimeResult("limit", output, limit="maxTurns")
        if answer.finish == "refused":
            return RuntimeResult("refused", output, reason=answer.detail or "The model refused.")
        if answer.finish == "length":
            return RuntimeResult("failed", output, error=_too_much_output(answer.detail))
        if not output and self._turns == 1:
            return RuntimeResult("failed", output, error=RuntimeFailed(_SILENT))
        return RuntimeResult("completed", output)


_SILENT = "The model ended its turn without saying or doing anything: say more clearly what to do."


def _too_much_output(detail: str | None) -> RuntimeFailed:
    said = f" ({detail})" if detail else ""
    return RuntimeFailed(
        f"The model's answer was cut at its output limit{said}: ask for it in smaller parts.",
        cause="output_length",
    )


def _tool_call(call: Called) -> ToolCall:
    try:
        arguments = call.meant()
    except (ValueError, RecursionError) as error:
        return ToolCall(call.call_id, call.name, {}, problem=f"not valid JSON: {error}")
    if not isinstance(arguments, dict):
        return ToolCall(call.call_id, call.name, {}, problem="not a JSON object")
    return ToolCall(call.call_id, call.name, cast(JsonObject, arguments))


@dataclass(slots=True)
class _Memory:
    """The conversation; what is added is told to the sink at once."""

    sink: RunSink
    items: list[Item]
    gauge: Gauge
    calls: dict[str, Called] = field(default_factory=dict[str, Called])

    def __post_init__(self) -> None:
        self.gauge.reset(self.items)
        self.calls |= {item.call_id: item for item in self.items if isinstance(item, Called)}

    def add(self, items: Iterable[Item]) -> None:
        new = list(items)
        if new:
            self.items += new
            self.gauge.add(new)
            self.calls |= {item.call_id: item for item in new if isinstance(item, Called)}
            self.sink.remember([encode(item) for item in new])

    def forget_hidden(self) -> bool:
        """Go on without the vendor's own data, which stay in the store; False: there are none."""
        before, self.items = self.items, without_hidden(self.items)
        self.gauge.reset(self.items)
        return before != self.items

    def replace(self, how: Compacted, items: tuple[Item, ...]) -> None:
        """The conversation is this from now on."""
        self.items = list(items)
        self.gauge.reset(items)
        self.sink.compacted(how, [encode(item) for item in items])


class _TurnModel(Model):
    """The SDK's view of a turn: its text and which tools are called with which id, no more."""

    def __init__(self, loop: RunLoop) -> None:
        self._loop = loop

    async def get_response(self, *_: object, **__: object) -> ModelResponse:
        raise NotImplementedError("runs are streamed")

    async def stream_response(
        self, *_: object, **__: object
    ) -> AsyncIterator[ResponseCompletedEvent]:
        answer = await self._loop.take_turn()
        calls = [item for item in answer.items if isinstance(item, Called)]
        output: list[ResponseOutputItem] = [self._seen(call) for call in calls]
        yield _completed(output or [_final_message()])

    def _seen(self, call: Called) -> ResponseFunctionToolCall:
        return ResponseFunctionToolCall(
            type="function_call",
            call_id=call.call_id,
            name=call.name if self._loop.knows(call.name) else _UNKNOWN_TOOL,
            arguments="{}",
        )


def _completed(output: list[ResponseOutputItem]) -> ResponseCompletedEvent:
    return ResponseCompletedEvent(
        type="response.completed",
        sequence_number=0,
        response=Response(
            id="turn",
            created_at=0,
            model="model",
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        ),
    )


def _final_message() -> ResponseOutputMessage:
    text = ResponseOutputText(type="output_text", text="done", annotations=[])
    return ResponseOutputMessage(
        id="message", type="message", role="assistant", status="completed", content=[text]
    )
