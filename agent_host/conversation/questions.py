"""The questions that are open, to be answered by a command, a lens or a code action.

A question is open while somebody waits for it; whichever way it is answered first counts.
"""

import asyncio
from collections.abc import Callable

from agent_host.core.errors import InvalidRequest
from agent_host.core.permission import Answer, Option, OptionKind, Question


class OpenQuestions:
    """All open questions, oldest first. `changed` is called when one opens or closes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: dict[tuple[str, str], tuple[Question, asyncio.Future[Answer]]] = {}

    def all(self) -> tuple[Question, ...]:
        """What is open, oldest first."""
        return tuple(question for question, _ in self._open.values())

    def of_run(self, run_id: str) -> tuple[Question, ...]:
        """What a run waits for."""
        return tuple(each for each in self.all() if each.run_id == run_id)

    async def wait(self, question: Question) -> Answer:
        """Have a question open until it is answered; cancelling closes it."""
        key = (question.run_id, question.call_id)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[key] = (question, answer)
        self._changed()
        try:
            return await answer
        finally:
            self._open.pop(key, None)
            self._changed()

    def find(self, call_id: str | None) -> Question:
        """The question about a call, or the only one. Raises InvalidRequest."""
        found = [each for each in self.all() if call_id in (None, each.call_id)]
        if not found:
            raise InvalidRequest("No such question is open any more.", field="callId")
        if len(found) > 1 and call_id is None:
            calls = ", ".join(each.call_id for each in found)
            raise InvalidRequest(f"Several questions are open; name one: {calls}.", field="callId")
        return found[-1]

    def answer(self, call_id: str | None, option_id: str, reason: str | None) -> Question:
        """Answer by an option that was offered. Raises InvalidRequest."""
        question = self.find(call_id)
        option = next((each for each in question.options if each.id == option_id), None)
        if option is None or option.kind == "show":
            known = ", ".join(each.id for each in question.options if each.kind != "show")
            raise InvalidRequest(f"`optionId` must be one of {known}.", field="optionId")
        self._settle(question, option, reason)
        return question

    def answer_by_kind(
        self, call_id: str | None, kind: OptionKind, reason: str | None = None
    ) -> Question:
        """Answer by the first option of a kind. Raises InvalidRequest."""
        question = self.find(call_id)
        option = next((each for each in question.options if each.kind == kind), None)
        if option is None:
            raise InvalidRequest("That is none of the answers to this question.", field="callId")
        self._settle(question, option, reason)
        return question

    def _settle(self, question: Question, option: Option, reason: str | None) -> None:
        _, answer = self._open[question.run_id, question.call_id]
        if not answer.done():
            answer.set_result(Answer(option, reason))
