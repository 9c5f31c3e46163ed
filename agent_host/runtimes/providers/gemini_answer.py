"""What Gemini streams, as the items of an answer; what is not known is passed over."""

import base64
import json
from collections.abc import Mapping

from google.genai import types

from agent_host.core.errors import RuntimeFailed
from agent_host.core.model import Usage
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Opaque, Reasoned
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.trouble import Vendor, trouble_of_stream, without_key

GEMINI = Vendor("Gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
_STOPS: Mapping[str, Finish] = {"STOP": "stop", "MAX_TOKENS": "length"}
_REFUSALS = frozenset(
    (
        "BLOCKLIST",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_SAFETY",
        "LANGUAGE",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "SAFETY",
        "SPII",
    )
)
_SLIPS = frozenset(
    ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "OTHER", "UNEXPECTED_TOOL_CALL")
)


class GeminiAnswer:
    """Builds the answer from the stream's chunks."""

    def __init__(self, ask: ModelAsk, emit: Emit, config: ProviderConfig) -> None:
        self._ask = ask
        self._config = config
        self._emit = emit
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._items: list[Item] = []
        self._ended: str | None = None
        self._detail: str | None = None
        self._blocked = False

    def read(self, chunk: types.GenerateContentResponse) -> None:
        """The next chunk."""
        if chunk.usage_metadata is not None:
            self._emit.usage(_usage(chunk.usage_metadata))
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            self._blocked = True
            reason = feedback.block_reason_message or feedback.block_reason.value
            self._detail = f"Gemini blocked the prompt: {reason}."
        for candidate in (chunk.candidates or [])[:1]:
            for part in (candidate.content.parts if candidate.content else None) or []:
                self._read_part(part)
            if candidate.finish_reason is not None:
                self._ended = candidate.finish_reason.value
                self._detail = candidate.finish_message or self._detail

    @property
    def is_over(self) -> bool:
        """Whether the model has ended its turn."""
        return self._ended is not None

    def answer(self) -> ModelAnswer:
        """The whole of it. Raises Trouble for an answer that was cut off or ended oddly."""
        items = tuple(self._items)
        self._detail = without_key(self._detail, self._config) if self._detail else None
        if self._blocked:
            return ModelAnswer(items, "refused", self._detail)
        ended = self._ended
        if ended is None:
            raise trouble_of_stream(GEMINI, "its end is missing")
        if ended in _STOPS:
            return ModelAnswer(items, _STOPS[ended], self._detail)
        reason = self._detail or f"finish reason {ended}"
        if ended in _REFUSALS:
            return ModelAnswer(items, "refused", f"Gemini stopped: {reason}.")
        if ended in _SLIPS:
            raise trouble_of_stream(GEMINI, reason)
        raise Trouble(RuntimeFailed(f"Gemini ended its answer oddly ({reason}): try again."))

    def _read_part(self, part: types.Part) -> None:
        signature = part.thought_signature
        data: dict[str, object] = {}
        if signature:
            data["thought_signature"] = base64.b64encode(signature).decode()
        if part.function_call is not None:
            call = part.function_call
            if call.id:
                data["id"] = call.id
            arguments = json.dumps(call.args or {}, ensure_ascii=False)
            call_id = self._ids.take(call.id)
            self._items.append(Called(call_id, call.name or "", arguments, self._opaque(data)))
        elif part.text is not None and part.thought:
            self._emit.reasoning(part.text)
            self._add(Reasoned(part.text, self._opaque(data)))
        elif part.text is not None:
            self._emit.text(part.text)
            self._add(AgentSaid(part.text, opaque=self._opaque(data)))

    def _add(self, item: AgentSaid | Reasoned) -> None:
        """Join pieces of one text; a piece with a signature stays as it is."""
        last = self._items[-1] if self._items else None
        match last, item:
            case AgentSaid(text, _, None), AgentSaid(more, _, None):
                self._items[-1] = AgentSaid(text + more)
            case Reasoned(text, None), Reasoned(more, None):
                self._items[-1] = Reasoned(text + more)
            case _ if item.text or item.opaque:
                self._items.append(item)
            case _:
                pass

    def _opaque(self, data: dict[str, object]) -> Opaque | None:
        return Opaque(self._ask.model, data) if data else None


def _usage(used: types.GenerateContentResponseUsageMetadata) -> Usage:
    thoughts = used.thoughts_token_count or 0
    return Usage(
        requests=1,
        input_tokens=(used.prompt_token_count or 0) + (used.tool_use_prompt_token_count or 0),
        # The vendor counts thinking apart from what is said.
        output_tokens=(used.candidates_token_count or 0) + thoughts,
        cached_tokens=used.cached_content_token_count or 0,
        reasoning_tokens=thoughts,
    )
