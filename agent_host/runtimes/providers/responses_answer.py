"""What OpenAI's Responses API streams, as the items of an answer; what is not known is passed over.

Events are read as plain JSON: other servers leave out what the SDK takes for granted.
"""

from agent_host.core.model import JsonObject, Usage
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Opaque, Reasoned
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk
from agent_host.runtimes.providers.openai_errors import trouble_of_event
from agent_host.runtimes.server_events import entries, inner, number, text
from agent_host.runtimes.trouble import Vendor, trouble_of_stream, without_key

OPENAI = Vendor("OpenAI", ("OPENAI_API_KEY",))


class ResponsesAnswer:
    """Builds the answer from the stream's events."""

    def __init__(self, ask: ModelAsk, emit: Emit, config: ProviderConfig) -> None:
        self._ask = ask
        self._emit = emit
        self._config = config
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._items: list[Item] = []
        self._refusal: str | None = None
        self._finish: Finish = "stop"
        self._whole = False

    def read(self, event: JsonObject) -> None:
        """The next event. Raises Trouble for an error that it tells."""
        match event.get("type"):
            case "response.output_text.delta":
                self._emit.text(text(event, "delta"))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._emit.reasoning(text(event, "delta"))
            case "response.reasoning_summary_part.done":
                self._emit.reasoning("\n\n")
            case "response.output_item.done":
                self._add(inner(event, "item"))
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(inner(event, "response"))
            case kind if kind == "error" or "error" in event:
                # Beside the letter of the protocol, some servers wrap it once more.
                self._fail(event.get("error") or event)
            case _:
                pass

    def answer(self) -> ModelAnswer:
        """The whole of it. Raises Trouble for an answer that was cut off."""
        if not self._whole:
            raise trouble_of_stream(OPENAI, "its end is missing")
        if self._refusal is not None:
            return ModelAnswer(tuple(self._items), "refused", self._refusal)
        return ModelAnswer(tuple(self._items), self._finish)

    def _add(self, item: JsonObject) -> None:
        match item.get("type"):
            case "message":
                self._add_message(item)
            case "reasoning":
                self._add_reasoning(item)
            case "function_call":
                opaque = self._opaque(id=item["id"]) if item.get("id") else None
                call_id = self._ids.take(text(item, "call_id"))
                written = text(item, "arguments") or "{}"
                self._items.append(Called(call_id, text(item, "name"), written, opaque))
            case _:
                pass

    def _add_message(self, item: JsonObject) -> None:
        parts = entries(item, "content")
        said = "".join(text(part, "text") for part in parts if part.get("type") == "output_text")
        refusals = [text(part, "refusal") for part in parts if part.get("type") == "refusal"]
        if refusals:
            self._refusal = without_key("".join(refusals), self._config)
        if said:
            kept = {name: item[name] for name in ("id", "phase") if item.get(name)}
            self._items.append(AgentSaid(said, opaque=self._opaque(**kept) if kept else None))

    def _add_reasoning(self, item: JsonObject) -> None:
        texts = [text(part, "text") for part in entries(item, "summary")]
        opaque = None
        if hidden := text(item, "encrypted_content"):
            summary = [{"type": "summary_text", "text": each} for each in texts]
            opaque = self._opaque(id=item.get("id"), summary=summary, encrypted_content=hidden)
        self._items.append(Reasoned("\n\n".join(texts), opaque))

    def _opaque(self, **data: object) -> Opaque:
        return Opaque(self._ask.model, data)

    def _end(self, response: JsonObject) -> None:
        if used := inner(response, "usage"):
            self._emit.usage(_usage(used))
        status = response.get("status")
        if status == "failed" or response.get("error"):
            self._fail(response.get("error") or "the response failed")
        if not response:
            raise ValueError("an end without a response")
        self._whole = True
        if status == "incomplete":
            reason = inner(response, "incomplete_details").get("reason")
            self._finish = "refused" if reason == "content_filter" else "length"

    def _fail(self, error: object) -> None:
        raise trouble_of_event(OPENAI, self._config, self._ask.name, error)


def _usage(used: JsonObject) -> Usage:
    into, out = inner(used, "input_tokens_details"), inner(used, "output_tokens_details")
    return Usage(
        requests=1,
        input_tokens=number(used, "input_tokens"),
        output_tokens=number(used, "output_tokens"),
        cached_tokens=number(into, "cached_tokens"),
        cache_write_tokens=number(into, "cache_write_tokens"),
        reasoning_tokens=number(out, "reasoning_tokens"),
    )
