"""The items of a conversation: what is sent to a model and remembered between runs.

As JSON they have the shape of OpenAI's Responses items, whichever vendor made them. What only
its maker understands (signatures, encrypted reasoning) is `Opaque` and goes back to the very same
model byte for byte, to no other. `repaired` makes any history acceptable to every vendor.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never, cast

from agent_host.core.model import ImagePart, JsonObject, PromptPart, ResourcePart, TextPart

INTERRUPTED = (
    "Interrupted: the run was stopped before this call finished. It may or may not have had an "
    "effect; check before repeating it."
)
MOST_KEPT = 512 * 1024
"""Characters of an image's base64: larger ones of a result are shown in their run only."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Opaque:
    """A vendor's own data; `model` is the `vendor/name` that made it."""

    model: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class UserSaid:
    parts: tuple[TextPart | ImagePart, ...]


@dataclass(frozen=True, slots=True)
class AgentSaid:
    text: str
    interrupted: bool = False
    opaque: Opaque | None = None


@dataclass(frozen=True, slots=True)
class Reasoned:
    text: str
    opaque: Opaque | None = None


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call; `arguments` is the JSON text as the model wrote it, maybe malformed."""

    call_id: str
    name: str
    arguments: str
    opaque: Opaque | None = None

    def decoded(self) -> JsonObject:
        """The arguments as an object; empty when they are none, for vendors that want one."""
        try:
            value = self.meant()
        except (ValueError, RecursionError):
            return {}
        return cast(JsonObject, value) if isinstance(value, dict) else {}

    def meant(self) -> object:
        """The arguments, taken out of the text that some models wrap them into; no text and null
        are none. Raises ValueError and RecursionError for what is no JSON.
        """
        value: object = json.loads(self.arguments.strip() or "{}")
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = json.loads(value)
        return {} if value is None else value


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call gave; `images` are named in `output`."""

    call_id: str
    output: str
    interrupted: bool = False
    images: tuple[ImagePart, ...] = ()


Item = UserSaid | AgentSaid | Reasoned | Called | Returned


def user_said(prompt: Iterable[PromptPart]) -> UserSaid:
    """The prompt as an item; a resource that nobody has read is only named."""
    return UserSaid(
        tuple(
            part if isinstance(part, ImagePart) else TextPart(clean(_words(part)))
            for part in prompt
        )
    )


def clean(text: str) -> str:
    """Text that can be sent: half characters, as from odd file names, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def repaired(items: Sequence[Item], model: str) -> tuple[Item, ...]:
    """History as any vendor accepts it, for `model` (`vendor/name`).

    Each call has exactly one result, right behind the calls of its turn; calls that never got one
    are interrupted. Results without a call, other models' opaque data and reasoning, and reasoning
    that led to nothing are left out.
    """
    results = {item.call_id: item for item in items if isinstance(item, Returned)}
    out: list[Item] = []
    waiting: list[str] = []
    seen: set[str] = set()
    after_result = False
    for item in items:
        if isinstance(item, Returned):
            after_result = True
            continue
        if after_result or isinstance(item, UserSaid):
            _end_turn(out, waiting, results)
        after_result = False
        own = _for_model(item, model)
        if own is None or (isinstance(own, Called) and own.call_id in seen):
            continue
        if isinstance(own, Called):
            seen.add(own.call_id)
            waiting.append(own.call_id)
        out.append(own)
    _end_turn(out, waiting, results)
    return tuple(out)


def without_hidden(items: Iterable[Item]) -> list[Item]:
    """Without what only its maker understands, should it not take that back any more."""
    return [
        replace(item, opaque=None) if isinstance(item, AgentSaid | Called) else item
        for item in items
        if not isinstance(item, Reasoned)
    ]


def interruptions(items: Sequence[Item]) -> tuple[Returned, ...]:
    """A result for each call that has none."""
    done = {item.call_id for item in items if isinstance(item, Returned)}
    open_calls = [c.call_id for c in items if isinstance(c, Called) and c.call_id not in done]
    return tuple(_results(open_calls, {}))


def _words(part: TextPart | ResourcePart) -> str:
    return part.text if isinstance(part, TextPart) else part.uri


def _for_model(item: Item, model: str) -> Item | None:
    match item:
        case Reasoned(_, opaque):
            return item if opaque is not None and opaque.model == model else None
        case AgentSaid(text, interrupted, opaque):
            if opaque is None or opaque.model == model:
                return item if text or opaque else None
            return AgentSaid(text, interrupted) if text else None
        case Called(call_id, name, arguments, opaque):
            kept = opaque if opaque is not None and opaque.model == model else None
            return Called(call_id, _NOT_IN_NAMES.sub("_", name)[:64] or "_", arguments, kept)
        case UserSaid() | Returned():
            return item
    assert_never(item)


def _results(call_ids: Iterable[str], results: dict[str, Returned]) -> list[Returned]:
    return [
        results.get(call_id) or Returned(call_id, INTERRUPTED, interrupted=True)
        for call_id in call_ids
    ]


def _end_turn(out: list[Item], waiting: list[str], results: dict[str, Returned]) -> None:
    """Reasoning that led to nothing goes; each call of the turn gets its result."""
    while out and isinstance(out[-1], Reasoned):
        out.pop()
    out += _results(waiting, results)
    waiting.clear()


# ---- JSON


def encode(item: Item) -> JsonObject:
    """The item as JSON, in the shape of a Responses item."""
    match item:
        case UserSaid(parts):
            return {"type": "message", "role": "user", "content": [_encode_part(p) for p in parts]}
        case AgentSaid(text, interrupted, opaque):
            return {
                "type": "message",
                "role": "assistant",
                "status": "incomplete" if interrupted else "completed",
                "content": [{"type": "output_text", "text": text}],
                **_encode_opaque(opaque),
            }
        case Reasoned(text, opaque):
            summary = [{"type": "summary_text", "text": text}] if text else []
            return {"type": "reasoning", "summary": summary, **_encode_opaque(opaque)}
        case Called(call_id, name, arguments, opaque):
            return {
                "type": "function_call",
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
                **_encode_opaque(opaque),
            }
        case Returned(call_id, output, interrupted, images):
            return {
                "type": "function_call_output",
                "call_id": call_id,
                "output": _encode_output(output, images) if images else output,
                "status": "incomplete" if interrupted else "completed",
            }
    assert_never(item)


def decode(entry: JsonObject) -> Item | None:
    """The item that `encode` wrote; None for what is no item of ours."""
    opaque = _decode_opaque(entry.get("provider_data"))
    match entry.get("type", "message"):
        case "message" if entry.get("role") == "assistant":
            return AgentSaid(
                _text(entry.get("content")), entry.get("status") == "incomplete", opaque
            )
        case "message" if entry.get("role") in ("user", "system", "developer"):
            return UserSaid(_decode_parts(entry.get("content")))
        case "reasoning":
            return Reasoned(_text(entry.get("summary")), opaque)
        case "function_call":
            return Called(
                str(entry.get("call_id")),
                str(entry.get("name")),
                str(entry.get("arguments")),
                opaque,
            )
        case "function_call_output":
            interrupted = entry.get("status") == "incomplete"
            parts = _decode_parts(entry.get("output"))
            images = tuple(part for part in parts if isinstance(part, ImagePart))
            output = "".join(part.text for part in parts if isinstance(part, TextPart))
            return Returned(str(entry.get("call_id")), output, interrupted, images)
        case _:
            return None


def _encode_part(part: TextPart | ImagePart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "image_url": f"data:{part.media_type};base64,{part.data}"}


def _encode_output(output: str, images: Iterable[ImagePart]) -> list[JsonObject]:
    """A result with its images; large ones are only named, because each run reads all of this."""
    kept = [image for image in images if len(image.data) <= MOST_KEPT]
    lost = [image for image in images if len(image.data) > MOST_KEPT]
    output += "".join(
        f"\n[{image.media_type} of {len(image.data) * 3 // 4096} KiB was shown here, and is too "
        "large to be kept: call the tool again to see it.]"
        for image in lost
    )
    return [_encode_part(part) for part in (TextPart(output), *kept)]


def _encode_opaque(opaque: Opaque | None) -> JsonObject:
    if opaque is None:
        return {}
    return {"provider_data": {"model": opaque.model, "data": opaque.data}}


def _decode_opaque(entry: object) -> Opaque | None:
    if not isinstance(entry, dict):
        return None
    fields = cast(JsonObject, entry)
    model, data = fields.get("model"), fields.get("data")
    if not isinstance(model, str) or not isinstance(data, dict):
        return None
    return Opaque(model, cast(JsonObject, data))


def _decode_parts(content: object) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(_decode_part(part) for part in _objects(content))


def _decode_part(part: JsonObject) -> TextPart | ImagePart:
    url = part.get("image_url")
    if isinstance(url, str) and url.startswith("data:") and ";base64," in url:
        media_type, data = url.removeprefix("data:").split(";base64,", 1)
        return ImagePart(media_type, data)
    return TextPart(str(part.get("text", "")))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in _objects(content))


def _objects(value: object) -> list[JsonObject]:
    if not isinstance(value, (list, tuple)):
        return []
    entries = cast(Sequence[object], value)
    return [cast(JsonObject, entry) for entry in entries if isinstance(entry, dict)]
