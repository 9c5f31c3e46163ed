"""Models of any server that speaks OpenAI's chat completions: Ollama, llama.cpp, LM Studio, vLLM.

Servers of this kind differ; what only some of them know is not asked for twice. A key is optional.
Not here: finding servers; the address is passed in.
"""

import re
from contextlib import aclosing
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import httpx2
import openai

from agent_host.core.errors import RuntimeMissing
from agent_host.core.model import JsonObject, ToolSpec
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import Reasoned
from agent_host.runtimes.provider import Emit, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.providers.chat_answer import CHAT, THOUGHTS, ChatAnswer
from agent_host.runtimes.providers.chat_messages import messages, shows, without_images
from agent_host.runtimes.providers.openai_errors import as_trouble
from agent_host.runtimes.server_events import server_events
from agent_host.runtimes.trouble import sees_nothing, understood

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionStreamOptionsParam,
        ChatCompletionToolParam,
    )
    from openai.types.shared_params import ResponseFormatJSONSchema

_FIELDS = rf"\b(?:{'|'.join(THOUGHTS)})\b"
_UNKNOWN = r"unsupported|unknown|unexpected|unrecognized|extra|not (?:permitted|allowed|supported)"
_ODD = re.compile(rf"({_FIELDS}).*({_UNKNOWN})|({_UNKNOWN}).*({_FIELDS})", re.IGNORECASE)
"""Said by servers that tell what a model thinks, but do not take it back."""


class LocalProvider:
    """Asks the server at the configured address."""

    def __init__(self, config: ProviderConfig, http: httpx2.AsyncClient) -> None:
        self._config = config
        self._counts_tokens = True
        self._blind: set[str] = set()
        self._forgetful: set[str] = set()
        self._client: openai.AsyncOpenAI | None = None
        if config.base_url:
            self._client = openai.AsyncOpenAI(
                api_key=config.key or "none",
                base_url=_with_version(config.base_url),
                http_client=http,
                max_retries=0,
            )
            _ = self._client.chat.completions  # is imported here, not within the first request

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Answer one turn; see Provider."""
        if self._client is None:
            raise Trouble(
                RuntimeMissing(
                    "There is no address of a local model server: set LOCAL_BASE_URL, for example "
                    "to http://127.0.0.1:11434/v1.",
                    variables=["LOCAL_BASE_URL"],
                )
            )
        async with as_trouble(CHAT, self._config, ask.name):
            while True:
                try:
                    return await self._stream(self._client, ask, emit)
                except openai.APIStatusError as error:
                    if not self._learns(ask, error):
                        raise

    def _learns(self, ask: ModelAsk, error: openai.APIStatusError) -> bool:
        """What only some servers and models take is not sent again to one that does not."""
        refused = error.status_code in (400, 422)
        if refused and self._counts_tokens and "stream_options" in error.message:
            self._counts_tokens = False
            return True
        thoughts = [item for item in ask.items if isinstance(item, Reasoned)]
        if refused and thoughts and ask.name not in self._forgetful and _ODD.search(error.message):
            self._forgetful.add(ask.name)
            return True
        if ask.name in self._blind or not shows(ask.items) or not sees_nothing(error.message):
            return False
        self._blind.add(ask.name)
        return not shows(without_images(ask.items))

    async def names(self) -> list[str]:
        """The models that it has; see Provider."""
        if self._client is None:
            return []
        async with as_trouble(CHAT, self._config, ""):
            return [model.id async for model in self._client.models.list()]

    async def _stream(self, client: openai.AsyncOpenAI, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        items = without_images(ask.items) if ask.name in self._blind else ask.items
        if ask.name in self._forgetful:
            items = tuple(item for item in items if not isinstance(item, Reasoned))
        options: ChatCompletionStreamOptionsParam = {"include_usage": True}
        stream = await client.chat.completions.create(
            model=ask.name,
            messages=[],
            tools=cast("list[ChatCompletionToolParam]", [_tool(s) for s in ask.tools])
            or openai.omit,
            stream=True,
            reasoning_effort=ask.options.effort or openai.omit,
            response_format=_format(ask.options.output_schema) or openai.omit,
            stream_options=options if self._counts_tokens else openai.omit,
            # The SDK walks through whatever is typed, for milliseconds a turn that is past.
            extra_body={"messages": messages(ask.instructions, items)},
        )
        reader = ChatAnswer(ask, emit, self._config)
        with understood(CHAT):
            events = server_events(CHAT, self._config, stream.response)
            async with stream, aclosing(events):
                async for event in events:
                    reader.read(event)
            return reader.answer()


# ---- asking


def _format(schema: JsonObject | None) -> "ResponseFormatJSONSchema | None":
    if schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def _tool(spec: ToolSpec) -> JsonObject:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
    }
    return {"type": "function", "function": function}


def _with_version(url: str) -> str:
    """The address with `/v1`, when it is only a host and a port."""
    return url if urlsplit(url).path.strip("/") else url.rstrip("/") + "/v1"
