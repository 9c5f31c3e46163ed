"""A conversation as messages of chat completions, in what all servers that speak them take.

User and assistant take turns, as many templates want. Results are text only there: their images
come behind them as the user's.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from agent_host.core.model import ImagePart, JsonObject, TextPart
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Reasoned, Returned, UserSaid
from agent_host.runtimes.providers.chat_answer import THOUGHTS

Message = dict[str, object]
_IMAGES = TextPart("[What the results above show:]")
_NOT_SHOWN = "[It can't be shown to this model, which sees no images.]"


def messages(instructions: str, items: Iterable[Item]) -> list[Message]:
    """The conversation. What was thought since the user's last words goes back where it came from:
    some servers refuse the result of a call without it.
    """
    listed = list(items)
    last = max((n for n, item in enumerate(listed) if _is_users(item)), default=0)
    talk = _Talk(instructions)
    for number, item in enumerate(listed):
        if number > last or not isinstance(item, Reasoned):
            talk.add(item)
    return talk.messages()


def shows(items: Iterable[Item]) -> bool:
    """Whether there is an image."""
    return any(
        bool(item.images)
        if isinstance(item, Returned)
        else isinstance(item, UserSaid) and any(isinstance(p, ImagePart) for p in item.parts)
        for item in items
    )


def without_images(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Without the images of results and of earlier prompts, which says so; those of the last prompt
    stay: who sends them is to be told that they are not seen.
    """
    last = max((n for n, item in enumerate(items) if isinstance(item, UserSaid)), default=0)
    return tuple(_blind(item) if number != last else item for number, item in enumerate(items))


def _blind(item: Item) -> Item:
    match item:
        case Returned(_, output, _, (_, *_)):
            return replace(item, output=f"{output}\n{_NOT_SHOWN}", images=())
        case UserSaid(parts):
            unseen = TextPart(_NOT_SHOWN)
            return UserSaid(tuple(p if isinstance(p, TextPart) else unseen for p in parts))
        case _:
            return item


def _is_users(item: Item) -> bool:
    return isinstance(item, UserSaid) or (isinstance(item, Returned) and bool(item.images))


class _Talk:
    def __init__(self, instructions: str) -> None:
        self._out: list[Message] = []
        self._ids: dict[str, str] = {}
        self._shown: list[ImagePart] = []
        if instructions.strip():
            self._out.append({"role": "system", "content": instructions})

    def messages(self) -> list[Message]:
        self._show()
        return [_flat(message) for message in self._out]

    def add(self, item: Item) -> None:
        if not isinstance(item, Returned):
            self._show()
        match item:
            case UserSaid(parts):
                self._user(parts)
            case AgentSaid(text):
                message = self._assistant()
                message["content"] = f"{message.get('content') or ''}{text}"
            case Called(call_id, name):
                self._ids[call_id] = _sent_id(item)
                call = {"name": name, "arguments": json.dumps(item.decoded())}
                calls = cast("list[JsonObject]", self._assistant().setdefault("tool_calls", []))
                calls.append({"id": self._ids[call_id], "type": "function", "function": call})
            case Returned(call_id, output, _, images):
                sent: Message = {
                    "role": "tool",
                    "tool_call_id": self._ids[call_id],
                    "content": output,
                }
                self._out.append(sent)
                self._shown += images
            case Reasoned(text, opaque):
                self._assistant().update(_thought(text, opaque.data if opaque else {}))

    def _show(self) -> None:
        """The images of results come when all results of a turn are there."""
        if self._shown:
            self._user((_IMAGES, *self._shown))
            self._shown = []

    def _user(self, parts: tuple[TextPart | ImagePart, ...]) -> None:
        if self._out and self._out[-1]["role"] == "user":
            before = cast("list[JsonObject]", self._out[-1]["content"])
            self._out[-1]["content"] = [*before, *map(_part, (TextPart(""), *parts))]
        else:
            self._out.append({"role": "user", "content": [_part(part) for part in parts]})

    def _assistant(self) -> Message:
        """The assistant's message at the end, made if there is none."""
        if not self._out or self._out[-1]["role"] != "assistant":
            self._out.append({"role": "assistant", "content": None})
        return self._out[-1]


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
