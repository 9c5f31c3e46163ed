"""OpenAI's models by the Responses API, without state on the vendor's side.

What the model made goes back as it came: reasoning encrypted, messages and calls with their ids.
Not here: retries and history rules common to all vendors.
"""

import re
from typing import TYPE_CHECKING, cast

import httpx2
import openai

from agent_host.core.model import ImagePart, JsonObject, TextPart, ToolSpec, Usage
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Opaque,
    Reasoned,
    Returned,
    UserSaid,
)
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.providers.openai_errors import as_trouble, trouble_of_code
from agent_host.runtimes.trouble import Vendor, trouble_of_stream, understood

if TYPE_CHECKING:
    from openai.types.responses import (
        FunctionToolParam,
        Response,
        ResponseIncludable,
        ResponseOutputItem,
        ResponseOutputMessage,
        ResponseReasoningItem,
        ResponseStreamEvent,
        ResponseTextConfigParam,
    )
    from openai.types.shared_params import Reasoning

_VENDOR = Vendor("OpenAI", ("OPENAI_API_KEY",))
_URL = "https://api.openai.com/v1"
_NO_REASONING = 2


class OpenAIProvider:
    """Asks OpenAI, or a server that speaks its Responses API."""

    def __init__(self, config: ProviderConfig, http: httpx2.AsyncClient) -> None:
        self._config = config
        # How much of reasoning a model refuses: nothing, its summary, all of it.
        self._refuses: dict[str, int] = {}
        self._client: openai.AsyncOpenAI | None = None
        if config.key is not None:
            url = config.base_url or _URL
            self._client = openai.AsyncOpenAI(
                api_key=config.key, base_url=url, http_client=http, max_retries=0
            )
            _ = self._client.responses  # is imported here, not within the first request

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Answer one turn; see Provider."""
        if self._client is None:
            raise Trouble(_VENDOR.no_key())
        async with as_trouble(_VENDOR, self._config, ask.name):
            while True:
                level = self._refuses.setdefault(ask.name, _first_level(ask.name))
                try:
                    return await self._stream(self._client, ask, emit, level)
                except openai.BadRequestError as error:
                    # Which models reason, and for whom, is known to the vendor only.
                    if level == _NO_REASONING or not re.search("reasoning|encrypt", error.message):
                        raise
                    self._refuses[ask.name] = level + 1

    async def _stream(
        self, client: openai.AsyncOpenAI, ask: ModelAsk, emit: Emit, level: int
    ) -> ModelAnswer:
        reasons = level < _NO_REASONING
        items = [i for i in ask.items if reasons or not isinstance(i, Reasoned)]
        reasoning: Reasoning = {"summary": "auto"} if level == 0 else {}
        if ask.options.effort is not None:
            # What a person asked for is not left out silently: a model that has none refuses.
            reasoning["effort"] = ask.options.effort
        include: list[ResponseIncludable] = ["reasoning.encrypted_content"]
        stream = await client.responses.create(
            model=ask.name,
            instructions=ask.instructions or openai.omit,
            input=[],
            tools=cast("list[FunctionToolParam]", [_tool(s) for s in ask.tools]) or openai.omit,
            reasoning=reasoning or openai.omit,
            text=_format(ask.options.output_schema) or openai.omit,
            include=include if reasons else openai.omit,
            prompt_cache_key=ask.session_id[:64],
            store=False,
            stream=True,
            # The SDK walks through whatever is typed, for milliseconds a turn that is past.
            extra_body={"input": [entry for item in items for entry in _entries(item)]},
        )
        reader = _Reader(ask, emit, self._config)
        with understood(_VENDOR):
            async with stream:
                async for event in stream:
                    reader.read(event)
            return reader.answer()


# ---- asking


def _entries(item: Item) -> list[JsonObject]:
    match item:
        case UserSaid(parts):
            return [{"role": "user", "content": [_part(part) for part in parts]}]
        case AgentSaid(text, _, opaque):
            if opaque is None:
                return [{"role": "assistant", "content": text}]
            none: list[str] = []
            content = [{"type": "output_text", "text": text, "annotations": none}]
            own = {"type": "message", "role": "assistant", "status": "completed"}
            return [{**own, "content": content, **opaque.data}]
        case Reasoned(_, opaque):
            return [{"type": "reasoning"} | dict(opaque.data)] if opaque else []
        case Called(call_id, name, arguments, opaque):
            call = {"type": "function_call", "call_id": call_id, "name": name}
            return [call | {"arguments": arguments} | (dict(opaque.data) if opaque else {})]
        case Returned(call_id, output):
            return [{"type": "function_call_output", "call_id": call_id, "output": output}]


def _part(part: TextPart | ImagePart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    url = f"data:{part.media_type};base64,{part.data}"
    if part.media_type == "application/pdf":
        return {"type": "input_file", "filename": "document.pdf", "file_data": url}
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _format(schema: JsonObject | None) -> "ResponseTextConfigParam":
    if schema is None:
        return {}
    return {"format": {"type": "json_schema", "name": "answer", "schema": dict(schema)}}


def _tool(spec: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
        "strict": False,
    }


def _first_level(name: str) -> int:
    return _NO_REASONING if re.match(r"gpt-[34]|chatgpt", name) else 0


# ---- reading the answer


class _Reader:
    """Builds the answer from the stream's events; what is not known is passed over."""

    def __init__(self, ask: ModelAsk, emit: Emit, config: ProviderConfig) -> None:
        self._ask = ask
        self._emit = emit
        self._config = config
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._items: list[Item] = []
        self._refusal: str | None = None
        self._finish: Finish = "stop"
        self._whole = False

    def read(self, event: "ResponseStreamEvent") -> None:
        match event.type:
            case "response.output_text.delta":
                self._emit.text(event.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._emit.reasoning(event.delta)
            case "response.reasoning_summary_part.done":
                self._emit.reasoning("\n\n")
            case "response.output_item.done":
                self._add(event.item)
            case "response.completed":
                self._end(event.response)
            case "response.incomplete":
                details = event.response.incomplete_details
                reason = details.reason if details else None
                self._finish = "refused" if reason == "content_filter" else "length"
                self._end(event.response)
            case "response.failed":
                self._fail(event.response)
            case "error":
                raise self._trouble(event.code, event.message)
            case _:
                pass

    def answer(self) -> ModelAnswer:
        if not self._whole:
            raise trouble_of_stream(_VENDOR, "its end is missing")
        if self._refusal is not None:
            return ModelAnswer(tuple(self._items), "refused", self._refusal)
        return ModelAnswer(tuple(self._items), self._finish)

    def _add(self, item: "ResponseOutputItem") -> None:
        match item.type:
            case "message":
                self._add_message(item)
            case "reasoning":
                self._add_reasoning(item)
            case "function_call":
                opaque = self._opaque(id=item.id) if item.id else None
                call_id = self._ids.take(item.call_id)
                self._items.append(Called(call_id, item.name, item.arguments, opaque))
            case _:
                pass

    def _add_message(self, item: "ResponseOutputMessage") -> None:
        text = "".join(part.text for part in item.content if part.type == "output_text")
        refusals = [part.refusal for part in item.content if part.type == "refusal"]
        if refusals:
            self._refusal = "".join(refusals)
        if text:
            phase = {"phase": item.phase} if item.phase else {}
            self._items.append(AgentSaid(text, opaque=self._opaque(id=item.id, **phase)))

    def _add_reasoning(self, item: "ResponseReasoningItem") -> None:
        texts = [part.text for part in item.summary or []]
        opaque = None
        if item.encrypted_content:
            summary = [{"type": "summary_text", "text": text} for text in texts]
            opaque = self._opaque(
                id=item.id, summary=summary, encrypted_content=item.encrypted_content
            )
        self._items.append(Reasoned("\n\n".join(texts), opaque))

    def _opaque(self, **data: object) -> Opaque:
        return Opaque(self._ask.model, data)

    def _end(self, response: "Response") -> None:
        self._whole = True
        used = response.usage
        if used is None:
            return
        into, out = used.input_tokens_details, used.output_tokens_details
        # Other servers leave out what the SDK takes for granted.
        usage = Usage(
            requests=1,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=getattr(into, "cached_tokens", 0) or 0,
            cache_write_tokens=getattr(into, "cache_write_tokens", 0) or 0,
            reasoning_tokens=getattr(out, "reasoning_tokens", 0) or 0,
        )
        self._emit.usage(usage)

    def _fail(self, response: "Response") -> None:
        error = response.error
        if error is None:
            raise trouble_of_stream(_VENDOR, "the response failed")
        raise self._trouble(error.code, error.message)

    def _trouble(self, code: str | None, message: str) -> Trouble:
        return trouble_of_code(_VENDOR, self._config, self._ask.name, code, message)
