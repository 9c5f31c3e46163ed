"""What a host that was killed has left of a session: edits cut short, questions without an answer.

The run that goes on with the session puts such a question once more: its call passes the gate anew
and is judged as things are by then. One that can't be put is withdrawn, and the model is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_host.core.model import SDK, TextPart
from agent_host.core.permission import Question
from agent_host.core.records import EditRecord, RunRecord, SessionStore
from agent_host.session.plan import Plan
from agent_host.session.settling import Settler, told

ASKED_AGAIN = "What you were asked when the host ended is asked once more: {}"
WITHDRAWN = "What you were asked when the host ended is withdrawn; nothing of it was done: {}"


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """A question that was open when its host ended, and the run that it belongs to."""

    question: Question
    run: RunRecord


@dataclass(frozen=True, slots=True)
class Legacy:
    """Empty for a session whose runs have all ended. `cwd` is of its last run."""

    edits: tuple[EditRecord, ...] = ()
    questions: tuple[LeftOpen, ...] = ()
    cwd: str | None = None


async def left_open(store: SessionStore, session_id: str) -> tuple[LeftOpen, ...]:
    """The questions of runs whose host is gone, oldest first."""
    questions = await store.questions(session_id)
    if not questions:
        return ()
    runs = {run.run_id: run for run in await store.runs(session_id)}
    return tuple(
        LeftOpen(question, runs[question.run_id])
        for question in questions
        if question.run_id in runs and runs[question.run_id].status != "running"
    )


async def legacy_of(session_id: str, store: SessionStore, settler: Settler) -> Legacy:
    """What is left of a session that this host owns. Raises StoreFailed."""
    runs = await store.runs(session_id)
    return Legacy(
        edits=await settler.session(session_id),
        questions=await left_open(store, session_id),
        cwd=runs[-1].cwd if runs else None,
    )


def with_legacy(plan: Plan, legacy: Legacy) -> Plan:
    """The plan of the run that goes on: told of the edits, with the questions that it puts."""
    again = tuple(each for each in legacy.questions if _can_put(each, plan))
    withdrawn = tuple(each for each in legacy.questions if each not in again)
    said = [text for text in (told(legacy.edits), _told(withdrawn)) if text]
    notes = [
        *(ASKED_AGAIN.format(each.question.title) for each in again),
        *(WITHDRAWN.format(each.question.title) for each in withdrawn),
    ]
    return replace(
        plan,
        prompt=(*map(TextPart, said), *plan.prompt),
        notes=(*plan.notes, *notes),
        left_open={each.question.call_id: each.question.run_id for each in legacy.questions},
        unanswered=tuple(dict.fromkeys(each.question.call_id for each in again)),
    )


def _can_put(left: LeftOpen, plan: Plan) -> bool:
    """Whether the call is in the conversation as this run's runtime keeps it, and means the same.

    A call of an agent that another one called is in no conversation; in another folder its paths
    would name other files.
    """
    remembered = any(item.get("call_id") == left.question.call_id for item in plan.history)
    same_runtime = left.run.runtime == plan.runtime_name == SDK
    return remembered and same_runtime and left.run.cwd == plan.cwd and plan.purpose == "answer"


def _told(withdrawn: Sequence[LeftOpen]) -> str:
    if not withdrawn:
        return ""
    lines = [f"- {each.question.title}" for each in withdrawn]
    head = "[The host ended while the user was asked this; there was no answer, nothing was done:"
    return "\n".join((head, *lines, "]"))
