"""OpenAI's models by the Responses API, without state on the vendor's side.

What the model made goes back as it came: reasoning encrypted, messages and calls with their ids.
Not here: retries and history rules common to all vendors, the reading (responses_answer.py).
"""

import re
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import httpx2
import openai

from agent_host.core.model import ImagePart, JsonObject, TextPart, ToolSpec
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Reasoned,
    Returned,
    UserSaid,
)
from agent_host.runtimes.provider import Emit, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.providers.openai_errors import as_trouble
from agent_host.runtimes.providers.responses_answer import OPENAI, ResponsesAnswer
from agent_host.runtimes.server_events import server_events
from agent_host.runtimes.trouble import refuses_hidden, understood

if TYPE_CHECKING:
    from openai.types.responses import (
        FunctionToolParam,
        ResponseIncludable,
        ResponseTextConfigParam,
    )
    from openai.types.shared_params import Reasoning

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
            raise Trouble(OPENAI.no_key())
        async with as_trouble(OPENAI, self._config, ask.name):
            while True:
                level = self._refuses.setdefault(ask.name, _first_level(ask.name))
                try:
                    return await self._stream(self._client, ask, emit, level)
                except openai.BadRequestError as error:
                    # Which models reason, and for whom, is known to the vendor only.
                    wants_less = re.search("reasoning|encrypt", error.message, re.IGNORECASE)
                    if level == _NO_REASONING or not wants_less or refuses_hidden(error.message):
                        raise
                    self._refuses[ask.name] = level + 1

    async def names(self) -> list[str]:
        """The models that it has; see Provider."""
        if self._client is None:
            return []
        async with as_trouble(OPENAI, self._config, ""):
            return [model.id async for model in self._client.models.list()]

    async def _stream(
        self, client: openai.AsyncOpenAI, ask: ModelAsk, emit: Emit, level: int
    ) -> ModelAnswer:
        reasons = level < _NO_REASONING
        items = ask.items if reasons else [_plain(i) for i in ask.items if not _is_thought(i)]
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
        reader = ResponsesAnswer(ask, emit, self._config)
        with understood(OPENAI):
            # The SDK tries each event against all types there are, which is most of its cost.
            events = server_events(OPENAI, self._config, stream.response)
            async with stream, aclosing(events):
                async for event in events:
                    reader.read(event)
            return reader.answer()


# ---- asking


def _is_thought(item: Item) -> bool:
    return isinstance(item, Reasoned)


def _plain(item: Item) -> Item:
    """Without the ids of the vendor's own, behind which it looks for reasoning that is not sent."""
    return replace(item, opaque=None) if isinstance(item, AgentSaid | Called) else item


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
        case Returned(call_id, output, _, images):
            shown = [_part(part) for part in (TextPart(output), *images)] if images else output
            return [{"type": "function_call_output", "call_id": call_id, "output": shown}]


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
