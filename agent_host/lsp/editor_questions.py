"""Asks a person through the editor and never takes anything for a yes but a chosen option.

Cancelling withdraws the dialog. Not here: what is asked, in which order (one at a time in a
session), and what an answer means; that is the session's.
"""

from collections.abc import Awaitable, Callable, Sequence

from agent_host.core.model import JsonObject
from agent_host.core.permission import Answer, Option, Question
from agent_host.lsp.editor_traits import Traits
from agent_host.lsp.host import Edge, EditorError
from agent_host.lsp.json_values import is_object, list_in, text_in

Show = Callable[[str, str], Awaitable[str | None]]
"""Opens a text under a title; returns what to say when it could not be opened."""

_MOST_SHOWS = 3
_LONGEST_MESSAGE = 600
_UNKNOWN_METHOD = -32601
_WARNING = 2
_NO_WAY = "this editor has no way to ask; allow it in the settings or the conversation document"


class Questions:
    """The way of every question to a person."""

    def __init__(self, edge: Edge, traits: Traits, show: Show) -> None:
        self._edge = edge
        self._asks_by = traits.asks_by
        self._seconds = traits.question_seconds
        self._show = show

    @property
    def can_ask(self) -> bool:
        """False once it is known that the editor has no dialog."""
        return self._asks_by is not None

    async def ask(self, question: Question) -> Answer:
        """Ask, and wait for the answer as long as it takes; see Editor.ask."""
        try:
            return await self._ask(question)
        except TimeoutError:
            return Answer(None, "nobody answered the question in time")
        except EditorError as error:
            return Answer(None, f"the editor answered the question with an error: {error}")

    async def _ask(self, question: Question) -> Answer:
        if self._asks_by == "agent/ask":
            try:
                return await self._ask_by_extension(question)
            except EditorError as error:
                if error.number != _UNKNOWN_METHOD:
                    raise
                self._asks_by = "window/showMessageRequest"
        if self._asks_by is None:
            return Answer(None, _NO_WAY)
        try:
            return await self._ask_by_message(question)
        except EditorError as error:
            if error.number != _UNKNOWN_METHOD:
                raise
            self._asks_by = None
            return Answer(None, _NO_WAY)

    async def _ask_by_extension(self, question: Question) -> Answer:
        options = [option for option in question.options if option.kind != "show"]
        answer = await self._edge.ask("agent/ask", _ask_params(question, options), self._seconds)
        if not is_object(answer):
            return Answer(None, "the question was closed without an answer")
        reason = text_in(answer, "reason") or None
        for option in options:
            if option.id == answer.get("optionId"):
                return Answer(option, reason, _accepted(question, answer))
        return Answer(None, reason or "the answer was none of those offered")

    async def _ask_by_message(self, question: Question) -> Answer:
        message, options = _fitting(question)
        for shows_left in reversed(range(_MOST_SHOWS + 1)):
            offered = [option for option in options if shows_left or option.kind != "show"]
            chosen, reason = await self._message(message, offered)
            if chosen is None or chosen.kind != "show":
                return Answer(chosen, reason)
            problem = await self._show(question.title, question.whole)
            if problem is not None:
                options = [option for option in options if option.kind != "show"]
                message = _one_line(f"{problem} {message}")
        raise AssertionError("the last question offers no Show")

    async def _message(
        self, message: str, options: Sequence[Option]
    ) -> tuple[Option | None, str | None]:
        params = {
            "type": _WARNING,
            "message": message,
            "actions": [{"title": option.title} for option in options],
        }
        answer = await self._edge.ask("window/showMessageRequest", params, self._seconds)
        title = text_in(answer, "title") if is_object(answer) else None
        if not title:
            return None, "the question was closed without an answer"
        for option in options:
            if option.title == title:
                return option, None
        return None, "the answer was none of those offered"


def _accepted(question: Question, answer: JsonObject) -> tuple[str, ...] | None:
    """The parts that were chosen; what is no list of them accepts nothing."""
    if not question.parts or answer.get("accepted") is None:
        return None
    chosen = list_in(answer, "accepted")
    return tuple(part.id for part in question.parts if part.id in chosen)


def _ask_params(question: Question, options: Sequence[Option]) -> JsonObject:
    params: dict[str, object] = {
        "sessionId": question.session_id,
        "runId": question.run_id,
        "callId": question.call_id,
        "title": question.title,
        "detail": question.detail,
        "options": [
            {"id": option.id, "title": option.title, "kind": option.kind} for option in options
        ],
        "allowsReason": True,
    }
    if question.wish is not None:
        params["wish"] = question.wish
    if question.diff is not None:
        params["diff"] = question.diff
    if question.parts:
        params["parts"] = [
            {"id": part.id, "title": part.title, "uri": part.uri, "diff": part.diff}
            for part in question.parts
        ]
    return params


def _fitting(question: Question) -> tuple[str, list[Option]]:
    """The message, and options with a Show among them if the message is not all there is."""
    message, options = _one_line(question.title), list(question.options)
    if len(message) > _LONGEST_MESSAGE:
        rest = " … (not all of it: choose Show)"
        message = message[: _LONGEST_MESSAGE - len(rest)] + rest
        if all(option.kind != "show" for option in options):
            last = len(options) - (options[-1].kind == "stop")
            options.insert(last, Option("show", "Show", "show"))
    return message, options


def _one_line(text: str) -> str:
    # Some editors hide the choices behind the second line of a message.
    return " ".join(text.splitlines())
