"""Google's Gemini models by streamGenerateContent.

Thought signatures go back byte for byte on the part that they came with; calls get ids of ours,
because the vendor often sends none. Not here: retries and history rules common to all vendors.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, cast

import httpx2
from google import genai
from google.genai import errors, types

from agent_host.core.model import Effort, ImagePart, TextPart, ToolSpec
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
from agent_host.runtimes.provider import Emit, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.providers.gemini_answer import GEMINI, GeminiAnswer
from agent_host.runtimes.server_events import until_over
from agent_host.runtimes.trouble import (
    Complaint,
    is_page,
    no_effort,
    refuses_hidden,
    retry_after,
    trouble_of_connection,
    trouble_of_page,
    trouble_of_status,
    understood,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_BUDGET: Mapping[Effort, int] = {
    "none": 0,
    "low": 1024,
    "medium": 8192,
    "high": 16_384,
    "max": 24_576,
}
_LEVEL: Mapping[Effort, types.ThinkingLevel] = {
    "none": types.ThinkingLevel.MINIMAL,
    "low": types.ThinkingLevel.LOW,
    "medium": types.ThinkingLevel.MEDIUM,
    "high": types.ThinkingLevel.HIGH,
    "max": types.ThinkingLevel.XHIGH,
}
_URL = "https://generativelanguage.googleapis.com/"
_TIMEOUT_MS = 600_000


class GeminiProvider:
    """Asks Gemini, or a server that speaks its API."""

    def __init__(self, config: ProviderConfig, http: httpx2.AsyncClient) -> None:
        self._config = config
        self._thoughtless: set[str] = set()
        self._client: genai.Client | None = None
        if config.key is not None:
            options = types.HttpOptions(
                base_url=config.base_url or _URL, httpx_async_client=http, timeout=_TIMEOUT_MS
            )
            self._client = genai.Client(api_key=config.key, vertexai=False, http_options=options)

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Answer one turn; see Provider."""
        if self._client is None:
            raise Trouble(GEMINI.no_key())
        effort = ask.options.effort
        if effort not in (None, "none") and not self._thinks(ask.name):
            raise no_effort(GEMINI, ask.name, effort)
        with self._as_trouble(ask.name):
            try:
                return await self._stream(self._client, ask, emit)
            except errors.ClientError as error:
                # Which models think is known to the vendor only.
                said = (error.message or "").lower()
                thinks = self._thinks(ask.name) and ask.options.effort is None
                if (
                    error.code != 400
                    or not thinks
                    or "thinking" not in said
                    or refuses_hidden(said)
                ):
                    raise
                self._thoughtless.add(ask.name)
                return await self._stream(self._client, ask, emit)

    async def names(self) -> list[str]:
        """The models that it has; see Provider."""
        if self._client is None:
            return []
        with self._as_trouble(""):
            models = await self._client.aio.models.list()
            return [(model.name or "").removeprefix("models/") async for model in models]

    @contextmanager
    def _as_trouble(self, model: str) -> Generator[None]:
        """Whatever goes wrong inside with the SDK or the network becomes Trouble."""
        try:
            yield
        except errors.APIError as error:
            raise self._trouble(error, model) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = f"{type(error).__name__}: {error}"
            raise trouble_of_connection(GEMINI, self._config, reason) from error

    async def _stream(self, client: genai.Client, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        thinks = _thinking(ask) if self._thinks(ask.name) else None
        schema = ask.options.output_schema
        tools = [types.Tool(function_declarations=[_declaration(spec) for spec in ask.tools])]
        stream = await client.aio.models.generate_content_stream(  # pyright: ignore[reportUnknownMemberType] (names an image library that is not there)
            model=ask.name,
            # The SDK's own types of a long conversation cost it more than all else together: it is
            # given as plain data, which takes the place of these contents.
            contents="-",
            config=types.GenerateContentConfig(
                http_options=types.HttpOptions(
                    extra_body={"contents": contents(ask.items, ask.name)}
                ),
                system_instruction=ask.instructions or None,
                tools=list(tools) if ask.tools else None,
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
                thinking_config=thinks,
                response_json_schema=None if schema is None else dict(schema),
                response_mime_type=None if schema is None else "application/json",
            ),
        )
        reader = GeminiAnswer(ask, emit, self._config)
        chunks = cast("AsyncGenerator[types.GenerateContentResponse]", stream)
        with understood(GEMINI):
            async with aclosing(chunks):
                try:
                    async for chunk in until_over(chunks, lambda: reader.is_over):
                        reader.read(chunk)
                except errors.UnknownApiResponseError as error:
                    if is_page(str(error)):
                        raise trouble_of_page(GEMINI, self._config, str(error)) from error
                    raise
            return reader.answer()

    def _thinks(self, name: str) -> bool:
        old = re.match(r"(models/)?(gemini-(1|2\.0)|gemma|learnlm)", name)
        return old is None and name not in self._thoughtless

    def _trouble(self, error: errors.APIError, model: str) -> Trouble:
        said = error.message or error.status or "no reason given"
        status = error.code or 500
        if status == 400 and "api key" in said.lower():
            # This vendor answers a wrong key as if the request were malformed.
            status = 401
        details: object = getattr(error, "details", None)
        complaint = Complaint(status, said, _wait(error, details))
        return trouble_of_status(GEMINI, self._config, model, complaint)


# ---- asking


_Part = dict[str, object]


def contents(items: tuple[Item, ...], model: str) -> list[_Part]:
    """The conversation as contents that take turns, in the words of the wire."""
    called = {item.call_id: item for item in items if isinstance(item, Called)}
    turns: list[tuple[str, list[_Part]]] = []
    for item in items:
        role = "user" if isinstance(item, UserSaid | Returned) else "model"
        parts = _parts(item, called, model)
        if not parts:
            continue
        if turns and turns[-1][0] == role and _may_join(*turns[-1], item):
            turns[-1][1].extend(parts)
        else:
            turns.append((role, parts))
    if not turns or turns[0][0] == "model":
        turns.insert(0, ("user", [{"text": "(The beginning is left out.)"}]))
    return [{"role": role, "parts": parts} for role, parts in turns]


def _may_join(role: str, parts: Sequence[_Part], item: Item) -> bool:
    """Results of calls stand alone, as many of them as there were calls."""
    holds_results = any("functionResponse" in part for part in parts)
    return role == "model" or holds_results == isinstance(item, Returned)


def _parts(item: Item, called: Mapping[str, Called], model: str) -> list[_Part]:
    match item:
        case UserSaid(parts):
            return [part for part in map(_part, parts) if part.get("text") != ""]
        case AgentSaid(text, _, opaque):
            return [{"text": text} | _signature(opaque)]
        case Reasoned(text, opaque):
            return [{"text": text, "thought": True} | _signature(opaque)]
        case Called(_, name, _, opaque):
            call = _own_id(item) | {"name": name, "args": dict(item.decoded())}
            return [{"functionCall": call} | _signature(opaque)]
        case Returned(call_id, output, interrupted, images):
            call = called[call_id]
            response = {"error" if interrupted else "output": output}
            said = _own_id(call) | {"name": call.name, "response": response}
            shown = [_part(image) for image in images]
            if shown and not _is_old(model):
                return [{"functionResponse": said | {"parts": shown}}]
            return [{"functionResponse": said}, *shown]


def _part(part: TextPart | ImagePart) -> _Part:
    if isinstance(part, TextPart):
        return {"text": part.text}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def _is_old(model: str) -> bool:
    """Whether it is told how many tokens to think for, and takes images beside a result only."""
    return re.match(r"(models/)?gemini-[12]\.", model) is not None


def _thinking(ask: ModelAsk) -> types.ThinkingConfig:
    """Older models are told how many tokens to think for, newer ones a level."""
    effort = ask.options.effort
    if effort is None:
        return types.ThinkingConfig(include_thoughts=True)
    shown = effort != "none"
    if _is_old(ask.name):
        return types.ThinkingConfig(include_thoughts=shown, thinking_budget=_BUDGET[effort])
    return types.ThinkingConfig(include_thoughts=shown, thinking_level=_LEVEL[effort])


def _signature(opaque: Opaque | None) -> _Part:
    signature = opaque.data.get("thought_signature") if opaque else None
    return {"thoughtSignature": signature} if isinstance(signature, str) else {}


def _own_id(call: Called) -> _Part:
    """The id that the vendor itself gave to the call."""
    own = call.opaque.data.get("id") if call.opaque else None
    return {"id": own} if isinstance(own, str) else {}


def _declaration(spec: ToolSpec) -> types.FunctionDeclaration:
    return types.FunctionDeclaration(
        name=spec.name,
        description=spec.description,
        parameters_json_schema=dict(spec.parameters),
    )


# ---- what went wrong


def _wait(error: errors.APIError, details: object) -> float | None:
    """Seconds that the vendor asks for, in the body or, as proxies do, in the head."""
    delay = _retry_delay(details)
    headers: object = getattr(getattr(error, "response", None), "headers", None)
    if delay is not None or not isinstance(headers, Mapping):
        return delay
    return retry_after(cast("Mapping[str, str]", headers))


def _retry_delay(details: object) -> float | None:
    """Seconds of the RetryInfo in an error's body, such as `{"retryDelay": "13.5s"}`."""
    for entry in _mappings(_at(_at(details, "error") or details, "details")):
        delay = entry.get("retryDelay")
        if isinstance(delay, str) and re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _at(value: object, key: str) -> object:
    return cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None


def _mappings(value: object) -> list[Mapping[str, object]]:
    entries = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return [cast("Mapping[str, object]", e) for e in entries if isinstance(e, Mapping)]
