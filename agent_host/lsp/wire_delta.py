"""`agent/delta` as it is on the wire, one model a kind; 1:1 with core/events.py.

Not here: text deltas' fast way out (delta_encoder.py).
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from agent_host.lsp.wire_base import Told

Status = Literal["completed", "stopped", "failed", "limit", "refused"]


class UsageWire(Told):
    """Tokens so far; input includes cached ones. No `costUsd`: the price is not known.

    `contextTokens` are in the model's context now, `contextWindow` is how many fit (if known).
    `estimated`: a part was stopped or lost before its vendor told what it took.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost_usd: float | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    estimated: bool | None = None


class OriginWire(Told):
    kind: Literal["user", "agent", "tool", "system"]
    role: str | None = None
    model: str | None = None
    path: list[str] | None = None


class OptionWire(Told):
    id: str
    title: str
    kind: Literal["deny", "allowOnce", "allowSession", "allowWorkspace", "show", "stop"]


class StartedDelta(Told):
    """Always the first."""

    kind: Literal["started"] = "started"
    role: str
    model: str
    runtime: str


class TextDelta(Told):
    kind: Literal["text"] = "text"
    text: str


class ReasoningDelta(Told):
    kind: Literal["reasoning"] = "reasoning"
    text: str


class ToolCallDelta(Told):
    """The model's wish; nothing was decided yet."""

    kind: Literal["toolCall"] = "toolCall"
    call_id: str
    name: str
    arguments: Mapping[str, object]
    title: str
    risk: Literal["low", "medium", "high"]


class QuestionDelta(Told):
    """A person is being asked; `detail` is Markdown."""

    kind: Literal["question"] = "question"
    call_id: str
    title: str
    detail: str
    options: list[OptionWire]


class AnswerDelta(Told):
    """No `optionId`: nobody answered, and `reason` says why."""

    kind: Literal["answer"] = "answer"
    call_id: str
    option_id: str | None = None
    reason: str | None = None


class ToolOutputDelta(Told):
    kind: Literal["toolOutput"] = "toolOutput"
    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str


class ToolResultDelta(Told):
    kind: Literal["toolResult"] = "toolResult"
    call_id: str
    status: Literal["ok", "denied", "failed", "stopped"]
    summary: str


class EditDelta(Told):
    """`diff` is unified."""

    kind: Literal["edit"] = "edit"
    call_id: str
    uri: str
    diff: str
    state: Literal["proposed", "applied"]


class PlanEntryWire(Told):
    text: str
    status: Literal["pending", "inProgress", "completed"]


class PlanDelta(Told):
    """The whole plan; it replaces the one before."""

    kind: Literal["plan"] = "plan"
    entries: list[PlanEntryWire]


class UsageDelta(Told):
    """The run's usage so far."""

    kind: Literal["usage"] = "usage"
    usage: UsageWire


class LogDelta(Told):
    """`source` names who speaks: a runtime's stderr, or `permissions` for a decision."""

    kind: Literal["log"] = "log"
    source: str
    text: str


class RetryDelta(Told):
    """The text and reasoning of this answer so far are void."""

    kind: Literal["retry"] = "retry"
    reason: str
    wait_seconds: float


class CompactedDelta(Told):
    """From here on the model knows what was before by its own `summary` only.

    `before` and `after` are tokens of the context, estimated. `why`: it was nearly full, it did
    not fit, or somebody asked for it.
    """

    kind: Literal["compacted"] = "compacted"
    why: Literal["full", "overflow", "asked"]
    before: int
    after: int
    summary: str


class OmittedDelta(Told):
    """`size` bytes of `what` were left out."""

    kind: Literal["omitted"] = "omitted"
    what: str
    size: int


class OmittedFileWire(Told):
    """A changed file that a diff leaves out, and why."""

    uri: str
    reason: str


class DiffDelta(Told):
    """All that the run changed as one unified diff; comes before `ended`, if anything changed."""

    kind: Literal["diff"] = "diff"
    text: str
    omitted: list[OmittedFileWire]


class EndedDelta(Told):
    """Always the last, exactly once. `interrupted`: its host is gone; told by attach only."""

    kind: Literal["ended"] = "ended"
    status: Literal["completed", "stopped", "failed", "limit", "refused", "interrupted"]
    reason: str | None = None
    exit_code: int | None = None
    signal: str | None = None


DeltaWire = Annotated[
    StartedDelta
    | TextDelta
    | ReasoningDelta
    | ToolCallDelta
    | QuestionDelta
    | AnswerDelta
    | ToolOutputDelta
    | ToolResultDelta
    | EditDelta
    | PlanDelta
    | UsageDelta
    | LogDelta
    | RetryDelta
    | CompactedDelta
    | OmittedDelta
    | DiffDelta
    | EndedDelta,
    Field(discriminator="kind"),
]


class AgentDelta(Told):
    """`seq` counts from 1 in each run, without gaps.

    Of the past, several texts may come as one: then it stands for `seq` to `through`.
    """

    session_id: str
    run_id: str
    seq: int
    through: int | None = None
    origin: OriginWire
    delta: DeltaWire
