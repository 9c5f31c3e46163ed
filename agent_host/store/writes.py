"""What can be written without waiting for it: a closed union, applied in batches.

Pure data; what each does to the tables is in apply.py.
"""

from dataclasses import dataclass
from typing import assert_never

from agent_host.core.events import NumberedDelta, Reasoning, Text, ToolOutput
from agent_host.core.model import JsonObject, RunResult
from agent_host.core.permission import Question
from agent_host.core.records import EditState, RunRecord, SessionRecord

_OVERHEAD = 400
"""Bytes that a queued write takes besides its text, roughly."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    session: SessionRecord


@dataclass(frozen=True, slots=True)
class UpdateSession:
    session_id: str
    role: str | None
    model: str | None
    runtime: str | None


@dataclass(frozen=True, slots=True)
class StartRun:
    run: RunRecord


@dataclass(frozen=True, slots=True)
class Append:
    delta: NumberedDelta
    at: float


@dataclass(frozen=True, slots=True)
class Remember:
    """`items` are JSON texts; an empty boundary forgets everything before."""

    session_id: str
    run_id: str | None
    items: tuple[str, ...]
    boundary: bool


@dataclass(frozen=True, slots=True)
class Ask:
    question: Question
    at: float


@dataclass(frozen=True, slots=True)
class Settle:
    run_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class AddGrant:
    session_id: str
    grant: JsonObject
    at: float


@dataclass(frozen=True, slots=True)
class UpdateEdit:
    edit_id: str
    state: EditState
    trash_id: str | None


@dataclass(frozen=True, slots=True)
class EndRun:
    result: RunResult
    at: float
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Release:
    session_id: str


Write = (
    OpenSession
    | UpdateSession
    | StartRun
    | Append
    | Remember
    | Ask
    | Settle
    | AddGrant
    | UpdateEdit
    | EndRun
    | Release
)


def run_of(write: Write) -> str | None:
    """The run that is not whole if this write is lost."""
    match write:
        case StartRun(run):
            return run.run_id
        case Append(delta):
            return delta.run_id
        case Ask(question):
            return question.run_id
        case EndRun(result):
            return result.run_id
        case Remember() | Settle():
            return write.run_id
        case OpenSession() | UpdateSession() | AddGrant() | UpdateEdit() | Release():
            return None
    assert_never(write)


def size_of(write: Write) -> int:
    """About how many bytes this write holds while it waits."""
    match write:
        case Append(delta):
            return _OVERHEAD + _text_size(delta)
        case Remember():
            return _OVERHEAD + sum(map(len, write.items))
        case EndRun(result):
            return _OVERHEAD + len(result.output)
        case _:
            return _OVERHEAD


def _text_size(numbered: NumberedDelta) -> int:
    match numbered.delta:
        case Text(text) | Reasoning(text):
            return len(text)
        case ToolOutput():
            return len(numbered.delta.text)
        case _:
            return 0
