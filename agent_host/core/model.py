"""What is said and wished, and how runs begin and end, as frozen data.

Paths are absolute strings. Not here: what is done (actions.py), what may be done (permission.py),
what happens over time (events.py), how the outside is reached (ports.py).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeVar

from agent_host.core.actions import FileEdit, RunDiff
from agent_host.core.document import Range
from agent_host.core.permission import Rule

JsonObject = Mapping[str, object]
"""A JSON object as it came from, or goes to, a wire."""

SDK = "sdk"
"""The runtime for models of vendors; all others are programs of their own."""

OriginKind = Literal["user", "agent", "tool", "system"]
RunStatus = Literal["completed", "stopped", "failed", "limit", "refused"]
LimitName = Literal["maxTurns", "maxCostUsd", "wallSeconds", "inactivitySeconds", "denials"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a message; `path` names the roles from the outermost agent to the speaking one."""

    kind: OriginKind
    role: str | None = None
    model: str | None = None
    path: tuple[str, ...] = ()


# ---- what the user says


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image, or a document to look at (`application/pdf`); `data` is base64."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class ResourcePart:
    """A file or a place in one; it is read through the gate before a runtime sees it."""

    uri: str
    range: Range | None = None


PromptPart = TextPart | ImagePart | ResourcePart


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a run early; None means no limit. Money in US dollars, time in seconds."""

    max_turns: int | None = None
    max_cost_usd: float | None = None
    wall_seconds: float | None = None
    inactivity_seconds: float | None = None

    def narrowed(self, other: "Limits") -> "Limits":
        """The stricter of both, field by field."""
        return Limits(
            max_turns=_least(self.max_turns, other.max_turns),
            max_cost_usd=_least(self.max_cost_usd, other.max_cost_usd),
            wall_seconds=_least(self.wall_seconds, other.wall_seconds),
            inactivity_seconds=_least(self.inactivity_seconds, other.inactivity_seconds),
        )


_Number = TypeVar("_Number", int, float)


def _least(one: _Number | None, other: _Number | None) -> _Number | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a run or a session. Input includes cached tokens; cost None is unknown, not 0.

    `context_tokens` are in the model's context after the last call, `context_window` is how many
    it can hold; None is unknown. `estimated`: a part broke off before its vendor told what it took.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    estimated: bool = False

    def plus(self, other: "Usage") -> "Usage":
        """The sum; its cost is unknown when that of a part which used tokens is unknown."""
        last = self if other.context_tokens is None else other
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd=_sum_of_costs(self, other),
            context_tokens=last.context_tokens,
            context_window=last.context_window,
            estimated=self.estimated or other.estimated,
        )


def told_cost(value: object) -> float | None:
    """US dollars as another program told them in its JSON; None if that is no amount.

    Not a number, which its JSON may hold, would be below every limit.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _sum_of_costs(one: Usage, other: Usage) -> float | None:
    if one.requests and other.requests:
        known = one.cost_usd is not None and other.cost_usd is not None
        return (one.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None
    return one.cost_usd if one.requests else other.cost_usd


Effort = Literal["none", "low", "medium", "high", "max"]
"""How much a model is to think before it answers; not every model has every step."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How the model is asked; None is the vendor's default.

    `output_schema` is a JSON Schema object that the final answer is to follow.
    """

    effort: Effort | None = None
    output_schema: JsonObject | None = None


# ---- roles


@dataclass(frozen=True, slots=True)
class Callee:
    """A role that another may call. `keeps`: skills it has there although its caller lacks them."""

    role: str
    keeps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Role:
    """A Markdown role file, read and found whole. `sha256` is of the file's bytes.

    `skills` are kinds of actions; `knows` names the SKILL.md that it is told of, None: all.
    """

    name: str
    description: str
    prompt: str
    source: str
    sha256: str
    model: str | None = None
    skills: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    limits: Limits = Limits()
    effort: Effort | None = None
    rules: tuple[Rule, ...] = ()
    may_call: tuple[Callee, ...] = ()
    runtime: str | None = None
    knows: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RoleProblem:
    """Why a role file can't be used; `line` counts from 1."""

    name: str
    source: str
    line: int
    reason: str
    severity: Literal["error", "warning"] = "error"


# ---- what the model wishes, and what is done


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's wish: `arguments` is the decoded JSON object, nothing of it checked yet.

    `problem` is set when the model's arguments were not a JSON object at all.
    """

    call_id: str
    name: str
    arguments: JsonObject
    problem: str | None = None


ToolStatus = Literal["ok", "denied", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class RawResult:
    """A file's text or a command's output as it is, with how the command ended."""

    text: str
    exit_code: int | None = None
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`text` is for the model, `summary` one line for a person.

    `images` are named in `text`. `raw`: what was read or printed, for a runtime that hands it on to
    programs. `code`: that of the ActionFailed by which it failed.
    """

    status: ToolStatus
    text: str
    summary: str
    raw: RawResult | None = field(default=None, compare=False, repr=False)
    code: str | None = field(default=None, compare=False, repr=False)
    images: tuple[ImagePart, ...] = field(default=(), repr=False)


# ---- runs and sessions


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One `agent/run`; None means: as the session, the role or the settings say.

    `create`: a session of that id begins if there is none.
    """

    prompt: tuple[PromptPart, ...]
    session_id: str | None = None
    run_id: str | None = None
    role: str | None = None
    model: str | None = None
    runtime: str | None = None
    cwd: str | None = None
    context: tuple[ResourcePart, ...] = ()
    limits: Limits = Limits()
    options: ModelOptions = ModelOptions()
    stream: bool = True
    progress_token: str | int | None = None
    create: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed: a code of core/errors.py and one sentence that says what to do."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended; `limit` names the limit of status limit; `diff` None: nothing changed."""

    session_id: str
    run_id: str
    status: RunStatus
    output: str
    usage: Usage
    edits: tuple[FileEdit, ...] = ()
    failure: Failure | None = None
    limit: LimitName | None = None
    reason: str | None = None
    diff: RunDiff | None = None


SessionState = Literal["idle", "running", "needsInput", "stopping"]


@dataclass(frozen=True, slots=True)
class SessionStatus:
    session_id: str
    state: SessionState
    run_id: str | None = None


# ---- what can be used


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """How the user wants a runtime that is a program of its own to be started.

    `command` replaces the program (with its first arguments), `args` are added at the end; `env`
    is added to its environment, `inherit` names variables of the host's that it may see too.
    `tools`: ours only, each by the gate, or its own, each permitted by the gate. `pty`: its output
    is a terminal.
    """

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict[str, str]()))
    inherit: tuple[str, ...] = ()
    tools: Literal["gated", "native"] = "gated"
    pty: bool = False


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model, or a vendor's models (`openai/*`). `source` says where its key or URL comes from."""

    name: str
    provider: str
    usable: bool
    source: str | None = None
    reason: str | None = None
