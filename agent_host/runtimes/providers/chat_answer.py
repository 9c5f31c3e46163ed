"""What servers stream that speak OpenAI's chat completions, as the items of an answer.

Few of them keep to the letter: roles, indexes, ids, usage or the end mark may be missing, arguments
may be objects. Whatever can be meant in one way only is taken; what is cut off is Trouble.
"""

import json
from dataclasses import dataclass, field

from agent_host.core.model import JsonObject, Usage
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Opaque, Reasoned
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk
from agent_host.runtimes.providers.inline_thoughts import InlineThoughts, Marks
from agent_host.runtimes.providers.openai_errors import trouble_of_event
from agent_host.runtimes.server_events import DONE, entries, inner, number, text
from agent_host.runtimes.trouble import Vendor, trouble_of_stream

CHAT = Vendor("The local model server", ("LOCAL_API_KEY",))

THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""The fields in which servers tell what a model thinks."""

_LENGTH = frozenset(("length", "max_tokens", "model_length"))
_REFUSED = frozenset(("content_filter", "refusal", "safety"))
_FAILED = frozenset(("error", "abort", "cancelled", "insufficient_system_resource"))
_CALLS = frozenset(("tool_calls", "function_call"))


class ChatAnswer:
    """Builds the answer from the stream's chunks."""

    def __init__(self, ask: ModelAsk, emit: Emit, config: ProviderConfig) -> None:
        self._ask = ask
        self._emit = emit
        self._config = config
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._said: list[str] = []
        self._thought: list[str] = []
        self._thought_in: JsonObject = {}
        self._inline = InlineThoughts(self)
        self._calls: list[_Call] = []
        self._ended: str | None = None

    def read(self, chunk: JsonObject) -> None:
        """The next chunk."""
        if chunk is DONE:
            self._ended = self._ended or "stop"
            return
        if error := chunk.get("error"):
            raise trouble_of_event(CHAT, self._config, self._ask.name, error)
        if used := inner(chunk, "usage"):
            self._emit.usage(_usage(used))
        for choice in entries(chunk, "choices"):
            # A server that can't stream answers with a whole message.
            self._delta(inner(choice, "delta") or inner(choice, "message"))
            self._ended = text(choice, "finish_reason") or self._ended

    def answer(self) -> ModelAnswer:
        """The whole of it. Raises Trouble for an answer that was cut off."""
        self._inline.end()
        ended, calls = self._ended, [call for call in self._calls if call.is_one]
        if ended is None:
            raise trouble_of_stream(CHAT, "its end is missing")
        if ended in _FAILED:
            raise trouble_of_stream(CHAT, f"finish reason {ended}")
        if ended in _CALLS and not calls and not self._said:
            raise trouble_of_stream(CHAT, "the call that it announced is missing")
        items: list[Item] = []
        if self._thought:
            items.append(
                Reasoned("".join(self._thought), Opaque(self._ask.model, self._thought_in))
            )
        if self._said:
            items.append(AgentSaid("".join(self._said)))
        items += self._called(calls)
        finish: Finish = "stop"
        if ended in _LENGTH:
            finish = "length"
        elif ended in _REFUSED:
            finish = "refused"
        return ModelAnswer(tuple(items), finish)

    def _called(self, calls: "list[_Call]") -> list[Called]:
        """The server's own ids are kept where they tell the calls apart: some want them back."""
        given = [call.id for call in calls]
        own = [
            Opaque(self._ask.model, {"id": call.id}) if given.count(call.id) == 1 else None
            for call in calls
        ]
        return [
            Called(
                self._ids.take(call.id), call.name, call.arguments(), opaque if call.id else None
            )
            for call, opaque in zip(calls, own, strict=True)
        ]

    def _delta(self, delta: JsonObject) -> None:
        for name in THOUGHTS:
            if thought := text(delta, name):
                self._think(thought, {"field": name})
                break
        self._inline.take(text(delta, "content"))
        for part in entries(delta, "content"):
            self._inline.take(text(part, "text"))
            for piece in entries(part, "thinking"):
                self._think(text(piece, "text"), {})
        for piece in entries(delta, "tool_calls"):
            self._call(piece)

    def said(self, text: str) -> None:
        """More of the answer; see Hears."""
        self._said.append(text)
        self._emit.text(text)

    def thought(self, text: str, marks: Marks) -> None:
        """More of what was thought within the text; see Hears."""
        self._think(text, {"marks": [marks.begin, marks.end]})

    def unsaid(self, marks: Marks) -> None:
        """All of the text was thought; see Hears."""
        self._emit.unsaid()
        before = "".join(self._said)
        self._said.clear()
        self.thought(before, marks)

    def _think(self, thought: str, where: JsonObject) -> None:
        self._thought.append(thought)
        self._thought_in = where
        self._emit.reasoning(thought)

    def _call(self, piece: JsonObject) -> None:
        function = inner(piece, "function")
        index, call_id, name = piece.get("index"), text(piece, "id"), text(function, "name")
        call = self._goes_on(index, call_id, name)
        if call is None:
            call = _Call(index, call_id or None, name)
            self._calls.append(call)
        arguments = function.get("arguments")
        if arguments is not None:
            call.pieces.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _goes_on(self, index: object, call_id: str, name: str) -> "_Call | None":
        """The call that a piece belongs to; None: it begins one.

        Some servers number all calls 0 or none, some give each piece another id, some repeat the
        name: a piece with neither a name nor a number of its own goes on with the last call.
        """
        alike = [c for c in self._calls if index is None or c.index == index]
        if not name:
            return (alike or self._calls or [None])[-1]
        if not alike:
            return None
        call = alike[-1]
        if call_id and call.id:
            return call if call_id == call.id and name == call.name else None
        return call if name == call.name and not call.is_whole else None


@dataclass(slots=True)
class _Call:
    index: object
    id: str | None
    name: str
    pieces: list[str] = field(default_factory=list[str])

    @property
    def is_one(self) -> bool:
        """Whether there is anything to it."""
        return bool(self.name or self.id or any(self.pieces))

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are complete as they are."""
        try:
            json.loads(self.arguments())
        except (ValueError, RecursionError):
            return False
        return True

    def arguments(self) -> str:
        """As the model wrote them."""
        return "".join(self.pieces)


def _usage(used: JsonObject) -> Usage:
    into, out = inner(used, "prompt_tokens_details"), inner(used, "completion_tokens_details")
    return Usage(
        requests=1,
        input_tokens=number(used, "prompt_tokens"),
        output_tokens=number(used, "completion_tokens"),
        cached_tokens=number(into, "cached_tokens") or number(used, "prompt_cache_hit_tokens"),
        reasoning_tokens=number(out, "reasoning_tokens"),
    )
