"""The commands of conversation documents and open questions. Arguments are checked like requests.

Each takes one object, or nothing; where one text is the usual argument, that text alone, too.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from agent_host.conversation.conversations import Conversations
from agent_host.conversation.files import WorkspaceFiles
from agent_host.conversation.mentions import mention
from agent_host.conversation.offers import wish
from agent_host.conversation.questions import OpenQuestions
from agent_host.core.errors import InvalidRequest
from agent_host.core.model import JsonObject
from agent_host.core.permission import Question
from agent_host.core.ports import Editor
from agent_host.core.uris import uri_to_path
from agent_host.lsp.json_values import is_object
from agent_host.lsp.wire_base import Count, Params, Text, read

NewDocument = Callable[[str], Awaitable[str]]
"""Makes a conversation document of that text; returns its URI."""


class SendParams(Params):
    """Without `uri`: the conversation that was opened or changed last."""

    uri: str | None = None
    when: Literal["now", "next"] = "now"


class TakeBackParams(Params):
    prompt: Text
    uri: str | None = None


class AnswerParams(Params):
    call_id: str
    option_id: str
    reason: Text | None = None


class CallParams(Params):
    """Without `callId`: the only question that is open."""

    call_id: str | None = None


class DenyParams(CallParams):
    """`uri` and `prompt`: the reason is that prompt, which was written in that conversation."""

    reason: Text | None = None
    uri: str | None = None
    prompt: Text | None = None


class AskParams(Params):
    """A prompt, or what is wished for a place: `lines` are first and last, from 1."""

    prompt: Text | None = None
    intent: Literal["explain", "fix", "edit", "ask"] = "ask"
    uri: str | None = None
    lines: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None
    message: Text | None = None


class ConversationCommands:
    """`new_document` makes a document for a conversation when none is open."""

    def __init__(
        self,
        editor: Editor,
        conversations: Conversations,
        questions: OpenQuestions,
        files: WorkspaceFiles,
        new_document: NewDocument,
    ) -> None:
        self._editor = editor
        self._conversations = conversations
        self._questions = questions
        self._files = files
        self._new_document = new_document
        self._known: Mapping[str, Callable[[Sequence[object]], Awaitable[JsonObject]]] = {
            "agentHost.send": self._send,
            "agentHost.takeBack": self._take_back,
            "agentHost.answer": self._answer,
            "agentHost.allow": self._allow,
            "agentHost.deny": self._deny,
            "agentHost.show": self._show,
            "agentHost.ask": self._ask,
            "agentHost.newConversation": self._new,
        }

    def knows(self, name: str) -> bool:
        """Whether it is one of these commands."""
        return name in self._known

    async def execute(self, name: str, arguments: Sequence[object]) -> JsonObject:
        """Do a command; returns at once, whatever it began. Raises AgentHostError."""
        return await self._known[name](arguments)

    # ---- conversations

    async def _send(self, arguments: Sequence[object]) -> JsonObject:
        params = read(SendParams, _object(arguments, text_is="uri"))
        uri, run_id = await self._conversations.send(params.uri, params.when)
        return {"uri": uri, "runId": run_id}

    async def _take_back(self, arguments: Sequence[object]) -> JsonObject:
        params = read(TakeBackParams, _object(arguments, text_is="prompt"))
        await self._conversations.take_back(params.uri, params.prompt)
        return {}

    async def _ask(self, arguments: Sequence[object]) -> JsonObject:
        params = read(AskParams, _object(arguments, text_is="prompt"))
        prompt = params.prompt if params.prompt is not None else self._wish(params)
        is_whole = not prompt.endswith(" ")
        uri = await self._conversations.propose(prompt, send=is_whole)
        if uri is None:
            uri = await self._open(prompt, send=is_whole)
        return {"uri": uri}

    async def _new(self, arguments: Sequence[object]) -> JsonObject:
        read(Params, _object(arguments, text_is="text"))
        return {"uri": await self._open("", send=False)}

    def _wish(self, params: AskParams) -> str:
        if params.uri is None:
            raise InvalidRequest("`prompt` or `uri` is needed.", field="prompt")
        path = uri_to_path(params.uri)
        first, last = params.lines or (None, None)
        where = mention(self._files.name_of(path) if path else params.uri, first, last)
        return wish(params.intent, where, params.message)

    async def _open(self, prompt: str, *, send: bool) -> str:
        uri = await self._new_document(f"## You\n\n{prompt}")
        if send:
            self._conversations.send_when_open(uri)
        if not await self._editor.show(uri):
            path = uri_to_path(uri) or uri
            raise InvalidRequest(
                f"This editor opens no document by itself. Open {path}: it is there."
            )
        return uri

    # ---- questions

    async def _answer(self, arguments: Sequence[object]) -> JsonObject:
        params = read(AnswerParams, _object(arguments, text_is="callId"))
        return _answered(self._questions.answer(params.call_id, params.option_id, params.reason))

    async def _allow(self, arguments: Sequence[object]) -> JsonObject:
        params = read(CallParams, _object(arguments, text_is="callId"))
        return _answered(self._questions.answer_by_kind(params.call_id, "allowOnce"))

    async def _deny(self, arguments: Sequence[object]) -> JsonObject:
        params = read(DenyParams, _object(arguments, text_is="reason"))
        reason = params.reason or params.prompt
        question = self._questions.answer_by_kind(params.call_id, "deny", reason)
        if params.uri is not None and params.prompt is not None:
            self._conversations.said_why(params.uri, params.prompt)
        return _answered(question)

    async def _show(self, arguments: Sequence[object]) -> JsonObject:
        params = read(CallParams, _object(arguments, text_is="callId"))
        question = self._questions.find(params.call_id)
        if where := await self._editor.show_text(question.title, question.whole):
            raise InvalidRequest(f"This editor can't open it by itself. {where}", field="callId")
        return _answered(question)


def _answered(question: Question) -> JsonObject:
    return {"callId": question.call_id, "runId": question.run_id}


def _object(arguments: Sequence[object], *, text_is: str) -> JsonObject:
    """The one object in a command's arguments; a text alone is the member `text_is`."""
    match arguments:
        case []:
            return {}
        case [str() as text]:
            return {text_is: text}
        case [given] if is_object(given):
            return given
        case _:
            text = "arguments: Input should be one object, one text or nothing."
            raise InvalidRequest(text, field="arguments")
