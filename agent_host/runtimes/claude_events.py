"""What the claude CLI says, line by line, as a closed union of events.

Unknown kinds of messages and fields are passed over, since every version adds some. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from agent_host.core.model import JsonObject, Usage, told_cost


@dataclass(frozen=True, slots=True)
class Began:
    """A turn begins; what the CLI has come up with."""

    session: str
    tools: tuple[str, ...]
    servers: Mapping[str, str]
    permission_mode: str
    model: str
    version: str
    key_source: str


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the answer, or of the thinking."""

    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Spoke:
    """A whole block of text; `told`: in pieces before."""

    text: str
    told: bool


@dataclass(frozen=True, slots=True)
class Spent:
    """One call of the model is over."""

    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Retrying:
    attempt: int
    seconds: float
    error: str
    status: int | None


@dataclass(frozen=True, slots=True)
class Wished:
    """The model calls a tool."""

    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool has answered; `ok` False: it was refused, or failed."""

    call_id: str
    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class Took:
    """The CLI has taken a message of ours, by its name; empty: it had none."""

    name: str


@dataclass(frozen=True, slots=True)
class MayRun:
    """May this tool run? `hook`: the hook asks, else the CLI's own permission check."""

    request_id: str
    hook: bool
    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Unserved:
    """A request of a kind that is not served."""

    request_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    request_id: str


@dataclass(frozen=True, slots=True)
class Responded:
    """An answer to a request of ours; `error` None: it went well."""

    request_id: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Background:
    """Something goes on behind the turn, or has ended."""

    id: str
    running: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """A turn is over. `kind` is `success` or the kind of error; `cost` None is unknown."""

    kind: str
    is_error: bool
    text: str
    errors: tuple[str, ...]
    status: int | None
    stop_reason: str
    cost: float | None
    session: str


Event = (
    Began
    | Said
    | Spoke
    | Spent
    | Retrying
    | Wished
    | Returned
    | Took
    | MayRun
    | Unserved
    | Withdrawn
    | Responded
    | Background
    | Finished
)


class EventReader:
    """Reads one process's lines in order."""

    def __init__(self) -> None:
        self._streamed: set[str] = set()
        self._message = ""
        self._model = ""
        self._usage: JsonObject = {}

    def read(self, line: bytes) -> Sequence[Event]:
        """The events in a line, mostly one. Raises ValueError for what is no JSON object."""
        try:
            found: object = json.loads(line)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if isinstance(found, dict):
            return self._events(cast("JsonObject", found))
        raise ValueError("not a JSON object")

    def _events(self, message: JsonObject) -> Sequence[Event]:  # noqa: PLR0911 - one for each kind
        match message.get("type"):
            case "stream_event":
                return self._streaming(message)
            case "assistant":
                return self._assistant(message)
            case "user" if message.get("isReplay") is True:
                return (Took(_text(message, "uuid")),)
            case "user":
                return _results(message)
            case "system":
                return _system(message)
            case "result":
                return (_finished(message),)
            case "control_request":
                return (_request(message),)
            case "control_cancel_request":
                return (Withdrawn(_text(message, "request_id")),)
            case "control_response":
                return (_response(_object(message, "response")),)
            case _:
                return ()

    def _streaming(self, message: JsonObject) -> Sequence[Event]:
        event = _object(message, "event")
        below = message.get("parent_tool_use_id") is not None
        match event.get("type"):
            case "message_start":
                start = _object(event, "message")
                self._message, self._model = _text(start, "id"), _text(start, "model")
                self._usage = _object(start, "usage")
            case "content_block_delta" if not below:
                delta = _object(event, "delta")
                if text := _text(delta, "text"):
                    self._streamed.add(self._message)
                    return (Said(text),)
                if thinking := _text(delta, "thinking"):
                    return (Said(thinking, thinking=True),)
            case "message_delta":
                self._usage = {**self._usage, **_object(event, "usage")}
            case "message_stop":
                usage, self._usage = self._usage, {}
                return (Spent(self._model, _usage(usage)),)
            case _:
                pass
        return ()

    def _assistant(self, message: JsonObject) -> Sequence[Event]:
        said = _object(message, "message")
        below = message.get("parent_tool_use_id") is not None
        found: list[Event] = []
        for block in _objects(said.get("content")):
            match block.get("type"):
                case "text" if not below and said.get("model") != "<synthetic>":
                    told = _text(said, "id") in self._streamed
                    found.append(Spoke(_text(block, "text"), told))
                case "tool_use":
                    found.append(
                        Wished(_text(block, "id"), _text(block, "name"), _object(block, "input"))
                    )
                case _:
                    pass
        return found


def _results(message: JsonObject) -> Sequence[Event]:
    return [
        Returned(
            _text(block, "tool_use_id"),
            block.get("is_error") is not True,
            _content(block.get("content")),
        )
        for block in _objects(_object(message, "message").get("content"))
        if block.get("type") == "tool_result"
    ]


def _system(message: JsonObject) -> Sequence[Event]:
    match message.get("subtype"):
        case "init":
            servers = _objects(message.get("mcp_servers"))
            return (
                Began(
                    session=_text(message, "session_id"),
                    tools=_texts(message.get("tools")),
                    servers={_text(each, "name"): _text(each, "status") for each in servers},
                    permission_mode=_text(message, "permissionMode"),
                    model=_text(message, "model"),
                    version=_text(message, "claude_code_version"),
                    key_source=_text(message, "apiKeySource"),
                ),
            )
        case "api_retry":
            return (
                Retrying(
                    attempt=_whole(message, "attempt"),
                    seconds=_whole(message, "retry_delay_ms") / 1000,
                    error=_text(message, "error"),
                    status=_whole(message, "error_status") or None,
                ),
            )
        case "task_started":
            return (Background(_text(message, "task_id"), running=True),)
        case "task_notification":
            return (Background(_text(message, "task_id"), running=False),)
        case _:
            return ()


def _request(message: JsonObject) -> Event:
    request_id, request = _text(message, "request_id"), _object(message, "request")
    kind = _text(request, "subtype")
    if kind == "can_use_tool":
        call_id, name = _text(request, "tool_use_id"), _text(request, "tool_name")
        return MayRun(request_id, False, call_id, name, _object(request, "input"))  # noqa: FBT003
    hook = _object(request, "input")
    if kind == "hook_callback" and hook.get("hook_event_name") == "PreToolUse":
        call_id = _text(request, "tool_use_id") or _text(hook, "tool_use_id")
        given = _object(hook, "tool_input")
        return MayRun(request_id, True, call_id, _text(hook, "tool_name"), given)  # noqa: FBT003
    return Unserved(request_id, kind)


def _response(response: JsonObject) -> Event:
    failed = response.get("subtype") == "error"
    error = _text(response, "error") or "no reason given"
    return Responded(_text(response, "request_id"), error if failed else None)


def _finished(message: JsonObject) -> Finished:
    return Finished(
        kind=_text(message, "subtype"),
        is_error=message.get("is_error") is True,
        text=_text(message, "result"),
        errors=_texts(message.get("errors")),
        status=_whole(message, "api_error_status") or None,
        stop_reason=_text(message, "stop_reason"),
        cost=told_cost(message.get("total_cost_usd")),
        session=_text(message, "session_id"),
    )


def _usage(given: JsonObject) -> Usage:
    read, written = (
        _whole(given, "cache_read_input_tokens"),
        _whole(given, "cache_creation_input_tokens"),
    )
    return Usage(
        requests=1,
        input_tokens=_whole(given, "input_tokens") + read + written,
        output_tokens=_whole(given, "output_tokens"),
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_whole(_object(given, "output_tokens_details"), "thinking_tokens"),
    )


# ---- reading JSON of whatever shape


def _object(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def _objects(value: object) -> list[JsonObject]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", each) for each in found if isinstance(each, dict)]


def _text(value: JsonObject, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(each for each in found if isinstance(each, str))


def _whole(value: JsonObject, key: str) -> int:
    found = value.get(key)
    return int(found) if isinstance(found, int | float) else 0


def _content(value: object) -> str:
    """The text of a tool's result."""
    if isinstance(value, str):
        return value
    return "\n".join(_text(block, "text") for block in _objects(value))
