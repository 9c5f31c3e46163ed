"""What a run tells the editor, step by step: a closed union of deltas.

A run begins with Started and ends with exactly one Ended. Not here: numbering and merging
(session/deltas.py), the wire's spelling (lsp/convert.py).
"""

from dataclasses import dataclass
from typing import Literal

from agent_host.core.actions import OmittedFile, OutputStream, Risk
from agent_host.core.model import JsonObject, Origin, RunStatus, ToolStatus, Usage
from agent_host.core.permission import Option


@dataclass(frozen=True, slots=True)
class Started:
    role: str
    model: str
    runtime: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class ToolRequested:
    call_id: str
    name: str
    arguments: JsonObject
    title: str
    risk: Risk


@dataclass(frozen=True, slots=True)
class Asked:
    call_id: str
    title: str
    detail: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """`option_id` None: nobody answered; `reason` says why."""

    call_id: str
    option_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    call_id: str
    stream: OutputStream
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call_id: str
    status: ToolStatus
    summary: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A file was changed (or is proposed to be: `state`); `diff` is unified."""

    call_id: str
    uri: str
    diff: str
    state: Literal["proposed", "applied"]


@dataclass(frozen=True, slots=True)
class PlanEntry:
    text: str
    status: Literal["pending", "inProgress", "completed"]


@dataclass(frozen=True, slots=True)
class Planned:
    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class Used:
    """The run's usage so far."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Logged:
    """`source` names who speaks: a runtime's stderr, or `permissions` for a decision."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Retried:
    """The model is asked again; the text and reasoning of this answer so far are void."""

    reason: str
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class Compacted:
    """From here on the model knows what was before only by its own summary.

    `before` and `after` are tokens of the whole context, estimated.
    """

    why: Literal["full", "overflow", "asked"]
    before: int
    after: int
    summary: str


@dataclass(frozen=True, slots=True)
class Omitted:
    """`size` bytes of `what` were left out."""

    what: str
    size: int


@dataclass(frozen=True, slots=True)
class Compared:
    """All that the run changed, told once before its end; `text` is one unified diff."""

    text: str
    omitted: tuple[OmittedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """`interrupted` is only ever told of a run whose host is gone: nobody ended it."""

    status: RunStatus | Literal["interrupted"]
    reason: str | None = None
    exit_code: int | None = None
    signal: str | None = None


Delta = (
    Started
    | Text
    | Reasoning
    | ToolRequested
    | Asked
    | Answered
    | ToolOutput
    | ToolFinished
    | Edited
    | Planned
    | Used
    | Logged
    | Retried
    | Compacted
    | Omitted
    | Compared
    | Ended
)


@dataclass(frozen=True, slots=True)
class NumberedDelta:
    """A delta in its place: `seq` counts from 1 in each run, without gaps."""

    session_id: str
    run_id: str
    seq: int
    origin: Origin
    delta: Delta
