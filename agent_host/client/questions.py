"""What the host asks a person, and how a script answers: by a policy or by a function.

Whatever is not clearly an answer denies. Not here: sending it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Literal

from agent_host.client.json_values import JsonObject, as_objects, as_text

Policy = Literal["deny", "allow"]


@dataclass(frozen=True, slots=True)
class Option:
    """One possible answer; `kind` is deny, allowOnce, allowSession, allowWorkspace, show
    or stop (denies and ends the whole run).
    """

    id: str
    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class Question:
    """`title` is one line; `detail` Markdown and `diff` unified, where the host gives them."""

    title: str
    options: tuple[Option, ...]
    detail: str = ""
    diff: str | None = None
    run_id: str | None = None
    allows_reason: bool = False

    def of_kind(self, kind: str) -> Option | None:
        """The first option of that kind."""
        return next((option for option in self.options if option.kind == kind), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """None of the options: as if the dialog were closed, which denies."""

    option: Option | None
    reason: str | None = None


Choice = Answer | str | None
"""An Answer, `allow` (once), `deny`, the id or title of an option, or None for no answer."""

OnQuestion = Policy | Callable[[Question], Choice | Awaitable[Choice]]


async def answer(question: Question, on_question: OnQuestion) -> Answer:
    """Ask the policy or the function. Raises ValueError for a choice that is no option."""
    if isinstance(on_question, str):
        return _chosen(question, on_question)
    found = on_question(question)
    return _chosen(question, await found if isawaitable(found) else found)


def question_of_message(params: JsonObject) -> Question:
    """A question that came as `window/showMessageRequest`: options are known by their titles."""
    titles = [as_text(item.get("title")) for item in as_objects(params.get("actions"))]
    options = tuple(Option(title, title, _kind(title)) for title in titles)
    return Question(as_text(params.get("message")), options)


def question_of_ask(params: JsonObject) -> Question:
    """A question that came as `agent/ask`."""
    options = tuple(
        Option(as_text(item.get("id")), as_text(item.get("title")), as_text(item.get("kind")))
        for item in as_objects(params.get("options"))
    )
    return Question(
        title=as_text(params.get("title")),
        options=options,
        detail=as_text(params.get("detail")),
        diff=as_text(params.get("diff")) or None,
        run_id=as_text(params.get("runId")) or None,
        allows_reason=params.get("allowsReason") is True,
    )


def _chosen(question: Question, choice: Choice) -> Answer:
    match choice:
        case Answer() | None:
            return choice or Answer(None)
        case "allow":
            return Answer(question.of_kind("allowOnce"))
        case "deny":
            return Answer(question.of_kind("deny"))
        case name:
            for option in question.options:
                if name in (option.id, option.title):
                    return Answer(option)
            titles = ", ".join(option.title for option in question.options)
            raise ValueError(f"{name!r} is no answer to {question.title!r}; there are: {titles}")


def _kind(title: str) -> str:
    word = title.lower()
    if not word.startswith("allow"):
        return next((each for each in ("deny", "show", "stop") if word.startswith(each)), "other")
    wider = (each for each in ("Session", "Workspace") if each.lower() in word)
    return f"allow{next(wider, 'Once')}"
