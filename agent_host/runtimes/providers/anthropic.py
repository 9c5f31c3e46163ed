"""Anthropic's models by its Messages API.

Thinking goes back with its signature, byte for byte, in the order it came; the prompt's stable
prefix is marked for the vendor's cache. Not here: retries, history rules common to all vendors, and
the reading of an answer (anthropic_answer.py).
"""

import re
from collections.abc import Generator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, cast

import anthropic
import httpx2

from agent_host.core.model import Effort, ImagePart, TextPart, ToolSpec
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
from agent_host.runtimes.providers.anthropic_answer import ANTHROPIC, AnthropicAnswer
from agent_host.runtimes.server_events import server_events
from agent_host.runtimes.trouble import (
    Complaint,
    no_effort,
    refuses_hidden,
    retry_after,
    trouble_of_connection,
    trouble_of_status,
    trouble_of_stream,
    understood,
)

if TYPE_CHECKING:
    from anthropic.types import (
        MessageParam,
        OutputConfigParam,
        TextBlockParam,
        ThinkingConfigParam,
        ToolParam,
    )

_URL = "https://api.anthropic.com"
_CACHE = {"type": "ephemeral"}
_ADAPTIVE = (4, 6)
"""From this version on a model settles by itself how much it thinks, steered by an effort."""
_BUDGET = {"low": 2048, "medium": 8192, "high": 16_384, "max": 28_672}
"""Tokens of thinking for the models before, all of them below the most tokens of an answer."""


class AnthropicProvider:
    """Asks Anthropic, or a server that speaks its Messages API."""

    def __init__(self, config: ProviderConfig, http: httpx2.AsyncClient) -> None:
        self._config = config
        self._thoughtless: set[str] = set()
        self._most: dict[str, int] = {}
        self._client: anthropic.AsyncAnthropic | None = None
        if config.key is not None:
            self._client = anthropic.AsyncAnthropic(
                api_key=config.key,
                base_url=config.base_url or _URL,
                http_client=http,
                max_retries=0,
                # Gateways want the key in the older header.
                default_headers={"X-Api-Key": config.key} if config.base_url else None,
            )

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Answer one turn; see Provider."""
        if self._client is None:
            raise Trouble(ANTHROPIC.no_key())
        effort = ask.options.effort
        if effort not in (None, "none") and _thinking(ask.name, effort, _BUDGET["max"]) is None:
            raise no_effort(ANTHROPIC, ask.name, effort)
        with self._as_trouble(ask.name):
            while True:
                try:
                    return await self._stream(self._client, ask, emit)
                except anthropic.BadRequestError as error:
                    if not self._learns(ask, error.message):
                        raise

    async def names(self) -> list[str]:
        """The models that it has; see Provider."""
        if self._client is None:
            return []
        with self._as_trouble(""):
            return [model.id async for model in self._client.models.list(limit=1000)]

    @contextmanager
    def _as_trouble(self, model: str) -> Generator[None]:
        """Whatever goes wrong inside with the SDK or the network becomes Trouble."""
        try:
            yield
        except anthropic.APIStatusError as error:
            raise self._trouble(error, model) from error
        except (anthropic.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise trouble_of_connection(ANTHROPIC, self._config, _reason(error)) from error
        except anthropic.APIError as error:
            raise trouble_of_stream(ANTHROPIC, error.message) from error

    def _learns(self, ask: ModelAsk, said: str) -> bool:
        """Which models think in which way, and how long an answer may be, only the vendor knows."""
        most = re.search(r"max_tokens: \d+ > (\d+)", said)
        if most and ask.name not in self._most:
            self._most[ask.name] = int(most[1])
            return True
        thinks = ask.name not in self._thoughtless and ask.options.effort is None
        if not thinks or "thinking" not in said.lower() or refuses_hidden(said):
            return False
        self._thoughtless.add(ask.name)
        return True

    async def _stream(
        self, client: anthropic.AsyncAnthropic, ask: ModelAsk, emit: Emit
    ) -> ModelAnswer:
        effort = ask.options.effort
        most = self._most.get(ask.name, _most_tokens(ask.name))
        thinking = None if ask.name in self._thoughtless else _thinking(ask.name, effort, most)
        stream = await client.messages.create(
            model=ask.name,
            max_tokens=most,
            system=cast("list[TextBlockParam]", _system(ask.instructions)) or anthropic.omit,
            messages=messages(ask.items),
            tools=cast("list[ToolParam]", [_tool(s) for s in ask.tools]) or anthropic.omit,
            thinking=anthropic.omit if thinking is None else thinking,
            output_config=_output(ask) or anthropic.omit,
            stream=True,
        )
        reader = AnthropicAnswer(ask, emit, self._config)
        with understood(ANTHROPIC):
            events = server_events(ANTHROPIC, self._config, stream.response)
            async with stream, aclosing(events):
                async for event in events:
                    reader.read(event)
            return reader.answer()

    def _trouble(self, error: anthropic.APIStatusError, model: str) -> Trouble:
        after = retry_after(error.response.headers)
        complaint = Complaint(error.status_code, _complaint(error), after)
        return trouble_of_status(ANTHROPIC, self._config, model, complaint)


# ---- asking


def messages(items: tuple[Item, ...]) -> "list[MessageParam]":
    """The conversation as messages that take turns, marked for the cache at the last two users'."""
    turns: list[tuple[str, list[dict[str, object]]]] = []
    for item in items:
        role = "user" if isinstance(item, UserSaid | Returned) else "assistant"
        blocks = _blocks(item)
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    if not turns or turns[0][0] == "assistant":
        turns.insert(0, ("user", [{"type": "text", "text": "(The beginning is left out.)"}]))
    for _, blocks in [turn for turn in turns if turn[0] == "user"][-2:]:
        blocks[-1]["cache_control"] = _CACHE
    return cast("list[MessageParam]", [{"role": r, "content": blocks} for r, blocks in turns])


def _blocks(item: Item) -> list[dict[str, object]]:
    match item:
        case UserSaid(parts):
            return [b for b in map(_part, parts) if b.get("text", "?") != ""]
        case AgentSaid(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case Reasoned(text, opaque):
            data = dict(opaque.data) if opaque else {}
            return [data if "data" in data else {"type": "thinking", "thinking": text} | data]
        case Called(call_id, name):
            return [{"type": "tool_use", "id": call_id, "name": name, "input": item.decoded()}]
        case Returned(call_id, output, interrupted, images):
            result: dict[str, object] = {"type": "tool_result", "tool_use_id": call_id}
            if images:
                parts = map(_part, (TextPart(output), *images))
                result["content"] = [part for part in parts if part.get("text", "?") != ""]
            elif output.strip():
                result["content"] = output
            return [result | {"is_error": True} if interrupted else result]


def _part(part: TextPart | ImagePart) -> dict[str, object]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text if part.text.strip() else ""}
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    kind = "document" if part.media_type == "application/pdf" else "image"
    return {"type": kind, "source": source}


def _system(instructions: str) -> list[dict[str, object]]:
    # Tools come before the system prompt, so this mark covers them too.
    block: dict[str, object] = {"type": "text", "text": instructions, "cache_control": _CACHE}
    return [block] if instructions.strip() else []


def _tool(spec: ToolSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": dict(spec.parameters),
    }


def _generation(name: str) -> tuple[int, int]:
    """A Claude model's version, such as (4, 6); a name of another form counts as a new one."""
    found = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:-(\d{1,2})(?!\d))?", name)
    return (int(found[1]), int(found[2] or 0)) if found else (5, 0)


def _most_tokens(name: str) -> int:
    generation = _generation(name)
    if generation < (3, 5):
        return 4096
    return 8192 if generation < (3, 7) else 32_000


def _thinking(name: str, effort: Effort | None, most: int) -> "ThinkingConfigParam | None":
    generation = _generation(name)
    if generation < (3, 7):
        return None
    if effort == "none":
        return {"type": "disabled"}
    if generation < _ADAPTIVE:
        budget = min(_BUDGET[effort or "medium"], most - 1024)
        return {"type": "enabled", "budget_tokens": budget}
    return {"type": "adaptive", "display": "summarized"}


def _output(ask: ModelAsk) -> "OutputConfigParam":
    effort, schema = ask.options.effort, ask.options.output_schema
    output: OutputConfigParam = {}
    if effort is not None and effort != "none" and _generation(ask.name) >= _ADAPTIVE:
        output["effort"] = effort
    if schema is not None:
        output["format"] = {"type": "json_schema", "schema": dict(schema)}
    return output


# ---- what went wrong


def _complaint(error: anthropic.APIStatusError) -> str:
    """The vendor's sentence; the SDK's own may hold the whole body."""
    body = error.body
    if isinstance(body, Mapping):
        inner = cast("Mapping[str, object]", body).get("error")
        if isinstance(inner, Mapping):
            return str(cast("Mapping[str, object]", inner).get("message", ""))
        if isinstance(inner, str):
            return inner
    return error.message


def _reason(error: Exception) -> str:
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
    return f"{type(cause or error).__name__}: {cause or error}"
