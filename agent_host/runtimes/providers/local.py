"""Models of any server that speaks OpenAI's chat completions: Ollama, llama.cpp, LM Studio, vLLM.

Servers of this kind differ; what only some of them know is not asked for twice. A key is optional.
Not here: finding servers; the address is passed in.
"""

import hashlib
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import httpx2
import openai

from agent_host.core.errors import RuntimeMissing
from agent_host.core.model import ImagePart, JsonObject, TextPart, ToolSpec
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Reasoned, Returned, UserSaid
from agent_host.runtimes.provider import Emit, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.providers.chat_answer import CHAT, THOUGHTS, ChatAnswer
from agent_host.runtimes.providers.openai_errors import as_trouble
from agent_host.runtimes.server_events import server_events
from agent_host.runtimes.trouble import understood

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionStreamOptionsParam,
        ChatCompletionToolParam,
    )
    from openai.types.shared_params import ResponseFormatJSONSchema


class LocalProvider:
    """Asks the server at the configured address."""

    def __init__(self, config: ProviderConfig, http: httpx2.AsyncClient) -> None:
        self._config = config
        self._counts_tokens = True
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
            try:
                return await self._stream(self._client, ask, emit)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if not self._counts_tokens or "stream_options" not in error.message:
                    raise
                self._counts_tokens = False
                return await self._stream(self._client, ask, emit)

    async def _stream(self, client: openai.AsyncOpenAI, ask: ModelAsk, emit: Emit) -> ModelAnswer:
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
            extra_body={"messages": messages(ask.instructions, ask.items)},
        )
        reader = ChatAnswer(ask, emit, self._config)
        with understood(CHAT):
            events = server_events(CHAT, self._config, stream.response)
            async with stream, aclosing(events):
                async for event in events:
                    reader.read(event)
            return reader.answer()


# ---- asking


def messages(instructions: str, items: tuple[Item, ...]) -> "list[ChatCompletionMessageParam]":
    """The conversation as chat messages; user and assistant take turns, as many templates want.

    What was thought since the user's last words goes back where it came from: some servers refuse
    the result of a call without it.
    """
    out: list[dict[str, object]] = []
    ids: dict[str, str] = {}
    last = max((n for n, item in enumerate(items) if isinstance(item, UserSaid)), default=0)
    items = tuple(i for n, i in enumerate(items) if n > last or not isinstance(i, Reasoned))
    if instructions.strip():
        out.append({"role": "system", "content": instructions})
    for item in items:
        match item:
            case UserSaid(parts):
                if out and out[-1]["role"] == "user":
                    parts = (TextPart(""), *parts)
                    content = [*cast("list[JsonObject]", out[-1]["content"]), *map(_part, parts)]
                    out[-1]["content"] = content
                else:
                    out.append({"role": "user", "content": [_part(part) for part in parts]})
            case AgentSaid(text):
                message = _assistant(out)
                message["content"] = f"{message.get('content') or ''}{text}"
            case Called(call_id, name):
                ids[call_id] = _sent_id(item)
                call = {"name": name, "arguments": json.dumps(item.decoded())}
                calls = cast("list[JsonObject]", _assistant(out).setdefault("tool_calls", []))
                calls.append({"id": ids[call_id], "type": "function", "function": call})
            case Returned(call_id, output):
                out.append({"role": "tool", "tool_call_id": ids[call_id], "content": output})
            case Reasoned(text, opaque):
                _assistant(out).update(_thought(text, opaque.data if opaque else {}))
    return cast("list[ChatCompletionMessageParam]", [_flat(message) for message in out])


def _assistant(out: list[dict[str, object]]) -> dict[str, object]:
    """The assistant's message at the end, made if there is none."""
    if not out or out[-1]["role"] != "assistant":
        out.append({"role": "assistant", "content": None})
    return out[-1]


def _thought(text: str, where: JsonObject) -> JsonObject:
    """The field that it came in, or the text between its marks."""
    if where.get("field") in THOUGHTS:
        return {str(where["field"]): text}
    match where.get("marks"):
        case [str(begin), str(end)]:
            return {"content": f"{begin}{text}{end}\n\n"}
        case _:
            return {}


def _sent_id(call: Called) -> str:
    """The server's own id of a call; else one in the only form that all of them take: nine letters
    or digits.
    """
    own = call.opaque.data.get("id") if call.opaque else None
    if isinstance(own, str):
        return own
    return hashlib.sha256(call.call_id.encode()).hexdigest()[:9]


def _flat(message: dict[str, object]) -> dict[str, object]:
    """Parts that are nothing but text as one text: small servers know no parts."""
    content = message["content"]
    if not isinstance(content, list):
        return message
    parts = cast("list[JsonObject]", content)
    if any(part["type"] != "text" for part in parts):
        return message
    return message | {"content": "\n".join(str(part["text"]) for part in parts)}


def _part(part: TextPart | ImagePart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    url = f"data:{part.media_type};base64,{part.data}"
    if part.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


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
