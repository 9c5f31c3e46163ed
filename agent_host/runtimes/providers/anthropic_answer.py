"""What Anthropic's Messages API streams, as the items of an answer."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_host.core.model import Usage
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Opaque, Reasoned
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.trouble import Vendor, too_long, trouble_of_stream

if TYPE_CHECKING:
    from anthropic.types import (
        ContentBlock,
        MessageDeltaUsage,
        RawContentBlockDelta,
        RawMessageStreamEvent,
    )
    from anthropic.types import Usage as AnthropicUsage

ANTHROPIC = Vendor("Anthropic", ("ANTHROPIC_API_KEY",))


@dataclass(slots=True)
class _Block:
    kind: str
    call_id: str = ""
    name: str = ""
    signature: str = ""
    data: str | None = None
    pieces: list[str] = field(default_factory=list[str])


class AnthropicAnswer:
    """Builds the answer from the stream's events.

    Events are told apart by `type` and never by class, because the SDK puts kinds that it does not
    know into the wrong one.
    """

    def __init__(self, ask: ModelAsk, emit: Emit) -> None:
        self._ask = ask
        self._emit = emit
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._blocks: dict[int, _Block] = {}
        self._usage: Usage = Usage(requests=1)
        self._stop: str | None = None
        self._detail: str | None = None
        self._whole = False

    def read(self, event: "RawMessageStreamEvent") -> None:
        match event.type:
            case "message_start":
                self._use(event.message.usage)
            case "content_block_start":
                self._start(event.index, event.content_block)
            case "content_block_delta":
                self._delta(self._blocks[event.index], event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                details = event.delta.stop_details
                self._detail = details.explanation if details else self._detail
                self._use_more(event.usage)
            case "message_stop":
                self._whole = True
            case _:
                pass

    def answer(self) -> ModelAnswer:
        if not self._whole:
            raise trouble_of_stream(ANTHROPIC, "its end is missing")
        if self._stop == "model_context_window_exceeded":
            raise Trouble(too_long(ANTHROPIC, self._ask.name))
        finish: Finish = "stop"
        if self._stop == "max_tokens":
            finish = "length"
        elif self._stop == "refusal":
            finish = "refused"
        items = [self._item(block) for _, block in sorted(self._blocks.items())]
        return ModelAnswer(tuple(i for i in items if i is not None), finish, self._detail)

    def _item(self, block: _Block) -> Item | None:
        text = "".join(block.pieces)
        match block.kind:
            case "text":
                return AgentSaid(text) if text else None
            case "thinking":
                return Reasoned(text, Opaque(self._ask.model, {"signature": block.signature}))
            case "redacted_thinking":
                data = {"type": "redacted_thinking", "data": block.data or ""}
                return Reasoned("", Opaque(self._ask.model, data))
            case "tool_use":
                return Called(block.call_id, block.name, text or "{}")
            case _:
                return None

    def _start(self, index: int, content: "ContentBlock") -> None:
        block = _Block(content.type)
        self._blocks[index] = block
        match content.type:
            case "text":
                self._say(block, content.text)
            case "thinking":
                block.signature = content.signature
                self._think(block, content.thinking)
            case "redacted_thinking":
                block.data = content.data
            case "tool_use":
                block.call_id, block.name = self._ids.take(content.id), content.name
            case _:
                pass

    def _delta(self, block: _Block, delta: "RawContentBlockDelta") -> None:
        match delta.type:
            case "text_delta":
                self._say(block, delta.text)
            case "thinking_delta":
                self._think(block, delta.thinking)
            case "signature_delta":
                block.signature += delta.signature
            case "input_json_delta":
                block.pieces.append(delta.partial_json)
            case _:
                pass

    def _say(self, block: _Block, text: str) -> None:
        block.pieces.append(text)
        self._emit.text(text)

    def _think(self, block: _Block, text: str) -> None:
        block.pieces.append(text)
        self._emit.reasoning(text)

    def _use(self, used: "AnthropicUsage") -> None:
        cached, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
        self._usage = Usage(
            requests=1,
            # The vendor counts what came from, or went into, its cache apart.
            input_tokens=used.input_tokens + cached + written,
            output_tokens=used.output_tokens,
            cached_tokens=cached,
            cache_write_tokens=written,
        )
        self._emit.usage(self._usage)

    def _use_more(self, used: "MessageDeltaUsage") -> None:
        details = used.output_tokens_details
        self._usage = replace(
            self._usage,
            output_tokens=used.output_tokens,
            reasoning_tokens=details.thinking_tokens if details else 0,
        )
        self._emit.usage(self._usage)
