"""What Anthropic's Messages API streams, as the items of an answer.

Events are read as plain JSON; kinds that are not known are passed over, unknown ends are not.
"""

import json
from dataclasses import dataclass, field, replace

from agent_host.core.errors import RuntimeFailed
from agent_host.core.model import JsonObject, Usage
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Opaque, Reasoned
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.server_events import inner, number, text
from agent_host.runtimes.trouble import (
    Complaint,
    Vendor,
    too_long,
    trouble_of_status,
    trouble_of_stream,
    without_key,
)

ANTHROPIC = Vendor("Anthropic", ("ANTHROPIC_API_KEY",))

_FINISHES: dict[str, Finish] = {
    "": "stop",
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "refused",
    "stop_sequence": "stop",
    "tool_use": "stop",
}
_STATUS_OF_TYPE = {
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "request_too_large": 413,
    "timeout_error": 504,
}


@dataclass(slots=True)
class _Block:
    kind: str
    call_id: str = ""
    name: str = ""
    signature: str = ""
    data: str = ""
    given: JsonObject = field(default_factory=dict[str, object])
    pieces: list[str] = field(default_factory=list[str])


class AnthropicAnswer:
    """Builds the answer from the stream's events."""

    def __init__(self, ask: ModelAsk, emit: Emit, config: ProviderConfig) -> None:
        self._ask = ask
        self._emit = emit
        self._config = config
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._blocks: dict[object, _Block] = {}
        self._usage: Usage = Usage(requests=1)
        self._stop = ""
        self._detail: str | None = None
        self._whole = False

    def read(self, event: JsonObject) -> None:
        """The next event. Raises Trouble for an error that it tells."""
        match event.get("type"):
            case "message_start":
                self._use(inner(inner(event, "message"), "usage"))
            case "content_block_start":
                self._start(event.get("index"), inner(event, "content_block"))
            case "content_block_delta":
                self._delta(self._blocks[event.get("index")], inner(event, "delta"))
            case "message_delta":
                delta = inner(event, "delta")
                self._stop = text(delta, "stop_reason") or self._stop
                self._detail = text(inner(delta, "stop_details"), "explanation") or self._detail
                self._use_more(inner(event, "usage"))
            case "message_stop":
                self._whole = True
            case kind if kind == "error" or "error" in event:
                raise trouble_of_error(self._config, self._ask.name, event)
            case _:
                pass

    def answer(self) -> ModelAnswer:
        """The whole of it. Raises Trouble for an answer that was cut off or ended oddly."""
        if not self._whole:
            raise trouble_of_stream(ANTHROPIC, "its end is missing")
        if self._stop == "model_context_window_exceeded":
            raise Trouble(too_long(ANTHROPIC, self._ask.name))
        if self._stop not in _FINISHES:
            odd = f"Anthropic ended its answer oddly (stop reason {self._stop}): try again."
            raise Trouble(RuntimeFailed(odd))
        items = [self._item(block) for block in self._blocks.values()]
        kept = tuple(item for item in items if item is not None)
        if self._stop == "tool_use" and not any(isinstance(item, Called) for item in kept):
            raise trouble_of_stream(ANTHROPIC, "the call that it announced is missing")
        detail = without_key(self._detail, self._config) if self._detail else None
        return ModelAnswer(kept, _FINISHES[self._stop], detail)

    def _item(self, block: _Block) -> Item | None:
        said = "".join(block.pieces)
        match block.kind:
            case "text":
                return AgentSaid(said) if said else None
            case "thinking":
                return Reasoned(said, Opaque(self._ask.model, {"signature": block.signature}))
            case "redacted_thinking":
                data = {"type": "redacted_thinking", "data": block.data}
                return Reasoned("", Opaque(self._ask.model, data))
            case "tool_use":
                # Some servers give the input at once, with the beginning of the block.
                written = said or json.dumps(dict(block.given), ensure_ascii=False)
                return Called(block.call_id, block.name, written)
            case _:
                return None

    def _start(self, index: object, content: JsonObject) -> None:
        block = _Block(text(content, "type"))
        self._blocks[index] = block
        match block.kind:
            case "text":
                self._say(block, text(content, "text"))
            case "thinking":
                block.signature = text(content, "signature")
                self._think(block, text(content, "thinking"))
            case "redacted_thinking":
                block.data = text(content, "data")
            case "tool_use":
                block.call_id = self._ids.take(text(content, "id"))
                block.name, block.given = text(content, "name"), inner(content, "input")
            case _:
                pass

    def _delta(self, block: _Block, delta: JsonObject) -> None:
        match delta.get("type"):
            case "text_delta":
                self._say(block, text(delta, "text"))
            case "thinking_delta":
                self._think(block, text(delta, "thinking"))
            case "signature_delta":
                block.signature += text(delta, "signature")
            case "input_json_delta":
                block.pieces.append(text(delta, "partial_json"))
            case _:
                pass

    def _say(self, block: _Block, said: str) -> None:
        block.pieces.append(said)
        self._emit.text(said)

    def _think(self, block: _Block, thought: str) -> None:
        block.pieces.append(thought)
        self._emit.reasoning(thought)

    def _use(self, used: JsonObject) -> None:
        cached = number(used, "cache_read_input_tokens")
        written = number(used, "cache_creation_input_tokens")
        self._usage = Usage(
            requests=1,
            # The vendor counts what came from, or went into, its cache apart.
            input_tokens=number(used, "input_tokens") + cached + written,
            output_tokens=number(used, "output_tokens"),
            cached_tokens=cached,
            cache_write_tokens=written,
        )
        self._emit.usage(self._usage)

    def _use_more(self, used: JsonObject) -> None:
        details = inner(used, "output_tokens_details")
        self._usage = replace(
            self._usage,
            output_tokens=number(used, "output_tokens") or self._usage.output_tokens,
            reasoning_tokens=number(details, "thinking_tokens"),
        )
        self._emit.usage(self._usage)


def trouble_of_error(config: ProviderConfig, model: str, event: JsonObject) -> Trouble:
    """An error that the stream itself tells, after the status 200 of the stream."""
    error = inner(event, "error")
    status = _STATUS_OF_TYPE.get(text(error, "type"), 500)
    said = text(error, "message") or text(event, "error")
    return trouble_of_status(ANTHROPIC, config, model, Complaint(status, said))
