"""The Editor port with conversation documents: they hear deltas, and questions are open in them.

A question goes to the editor's own dialog, too, if it has one; the first answer counts and the
other way is withdrawn.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from agent_host.conversation.conversations import Conversations
from agent_host.conversation.questions import OpenQuestions
from agent_host.core.document import BufferEdit, Document, EditOutcome, Range
from agent_host.core.events import NumberedDelta
from agent_host.core.model import JsonObject
from agent_host.core.permission import Answer, Question
from agent_host.core.ports import Editor

_CLOSED = "no conversation document is open any more, and this editor has no other way to ask"


class ConversationEditor:
    """Implements core.ports.Editor over the plain one."""

    def __init__(
        self, editor: Editor, conversations: Conversations, questions: OpenQuestions
    ) -> None:
        self._editor = editor
        self._conversations = conversations
        self._questions = questions

    @property
    def can_ask(self) -> bool:
        """Whether the editor has a dialog, or a person sees a conversation."""
        return self._editor.can_ask or self._conversations.shelf.any_open

    async def ask(self, question: Question) -> Answer:
        """Ask in every way there is."""
        async with asyncio.TaskGroup() as tasks:
            ways = {
                tasks.create_task(self._by_dialog(question)),
                tasks.create_task(self._questions.wait(question)),
            }
            done, others = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for other in others:
                other.cancel()
            return next(iter(done)).result()

    async def _by_dialog(self, question: Question) -> Answer:
        if self._editor.can_ask:
            answer = await self._editor.ask(question)
            if answer.option is not None or self._editor.can_ask:
                return answer
        await self._conversations.shelf.none_open()
        return Answer(None, _CLOSED)

    def send(self, delta: NumberedDelta) -> None:
        """Queue a delta; never blocks."""
        self._editor.send(delta)
        self._conversations.take(delta)

    # ---- as the plain one

    def document(self, uri_or_path: str) -> Document | None:
        """See Editor."""
        return self._editor.document(uri_or_path)

    def documents(self) -> Sequence[Document]:
        """See Editor."""
        return self._editor.documents()

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        """See Editor."""
        return await self._editor.apply(edit)

    async def show(self, uri: str, selection: Range | None = None) -> bool:
        """See Editor."""
        return await self._editor.show(uri, selection)

    async def show_text(self, title: str, text: str) -> str | None:
        """See Editor."""
        return await self._editor.show_text(title, text)

    @property
    def previews(self) -> bool:
        """See Editor."""
        return self._editor.previews

    @property
    def moves(self) -> Literal["all", "clean", "none"]:
        """See Editor."""
        return self._editor.moves

    async def move(self, uri: str, to: str) -> bool:
        """See Editor."""
        return await self._editor.move(uri, to)

    async def save(self, uris: Sequence[str]) -> Sequence[str]:
        """See Editor."""
        return await self._editor.save(uris)

    async def diagnostics(self, uri: str) -> Sequence[JsonObject] | None:
        """See Editor."""
        return await self._editor.diagnostics(uri)

    def files_changed(self, paths: Sequence[str], *, left_open: Sequence[Document] = ()) -> None:
        """See Editor."""
        self._editor.files_changed(paths, left_open=left_open)

    def backlog(self) -> int:
        """See Editor."""
        return self._editor.backlog()

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """See Editor."""
        return self._editor.on_drained(callback)

    async def begin_progress(self, run_id: str, title: str, token: str | int | None) -> None:
        """See Editor."""
        await self._editor.begin_progress(run_id, title, token)

    def report_progress(self, run_id: str, message: str) -> None:
        """See Editor."""
        self._editor.report_progress(run_id, message)

    def end_progress(self, run_id: str, message: str) -> None:
        """See Editor."""
        self._editor.end_progress(run_id, message)
