"""The words of the program as frozen data: what is said, wished, done and answered.

Positions count from 0 and columns count code points; paths are absolute strings. Not here: what
happens over time (events.py), how the outside is reached (ports.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

JsonObject = Mapping[str, object]
"""A JSON object as it came from, or goes to, a wire."""

OriginKind = Literal["user", "agent", "tool", "system"]
RunStatus = Literal["completed", "stopped", "failed", "limit", "refused"]
LimitName = Literal["maxTurns", "maxCostUsd", "wallSeconds", "inactivitySeconds", "denials"]
Risk = Literal["low", "medium", "high"]
OutputStream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a message; `path` names the roles from the outermost agent to the speaking one."""

    kind: OriginKind
    role: str | None = None
    model: str | None = None
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    start: Position
    end: Position


# ---- what the user says


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image; `data` is base64."""

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
    """Tokens of a run or a session. Input counts include cached ones; cost None is unknown, not 0."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum; its cost is unknown when that of a part which used tokens is unknown."""
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd=_sum_of_costs(self, other),
        )


def _sum_of_costs(one: Usage, other: Usage) -> float | None:
    if one.requests and other.requests:
        known = one.cost_usd is not None and other.cost_usd is not None
        return (one.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None
    return one.cost_usd if one.requests else other.cost_usd


# ---- roles


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of policy: what `effect` has on actions that match; see permissions/rules.py.

    `action` is a glob over action names (`fs.*`), `path` a glob over the true path (relative to a
    root or absolute), `argv` a sequence of globs over the first words of the command.
    `where` is the file and line that the rule was read from, for reports.
    """

    effect: Literal["allow", "ask", "deny"]
    action: str = "*"
    path: str | None = None
    argv: tuple[str, ...] | None = None
    where: str = "built in"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Role:
    """A Markdown role file, read and found whole. `sha256` is of the file's bytes."""

    name: str
    description: str
    prompt: str
    source: str
    sha256: str
    model: str | None = None
    skills: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    limits: Limits = Limits()
    rules: tuple[Rule, ...] = ()
    may_call: tuple[str, ...] = ()
    runtime: str | None = None


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
class ToolResult:
    """`text` is for the model, `summary` one line for a person."""

    status: ToolStatus
    text: str
    summary: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    path: str
    offset: int = 1
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ListDirectory:
    path: str
    depth: int = 1


@dataclass(frozen=True, slots=True)
class SearchFiles:
    """`pattern` is a regular expression of the linear kind (ripgrep), `glob` limits file names."""

    pattern: str
    path: str
    glob: str | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """The whole text of a file, new or not."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class EditFile:
    """Exact old text to new text, several in one file, all or nothing."""

    path: str
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class CreateDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class DeletePath:
    path: str


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A shell command line; `timeout` in seconds."""

    command: str
    cwd: str
    timeout: float = 120.0
    network: bool = False


@dataclass(frozen=True, slots=True)
class OpenInEditor:
    path: str
    line: int | None = None


FileAction = (
    ReadFile | ListDirectory | SearchFiles | WriteFile | EditFile | CreateDirectory | DeletePath
)
Action = FileAction | RunCommand | OpenInEditor


# ---- permission


@dataclass(frozen=True, slots=True)
class Decision:
    """What may happen to one action; `source` names the step of the judgement that decided.

    `remember` lists the scopes a person may be offered; empty means this call only.
    """

    verdict: Literal["allow", "ask", "deny"]
    source: str
    reason: str
    rule: str | None = None
    where: str | None = None
    remember: tuple[Literal["session", "workspace"], ...] = ()


OptionKind = Literal["deny", "allowOnce", "allowSession", "allowWorkspace", "show"]


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question; `title` is what the person clicks and names the scope."""

    id: str
    title: str
    kind: OptionKind


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked. `title` is one safe line, `detail` Markdown, `diff` unified.

    `full_text` is what `Show` opens when the title can't hold everything.
    """

    session_id: str
    run_id: str
    call_id: str
    title: str
    detail: str
    options: tuple[Option, ...]
    diff: str | None = None
    full_text: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The chosen option; None means nobody chose, and `reason` says why (or why they denied)."""

    option: Option | None
    reason: str | None = None


# ---- the editor's text


@dataclass(frozen=True, slots=True)
class Document:
    """An open document as the editor last told it; `path` is None for untitled ones."""

    uri: str
    path: str | None
    version: int
    text: str
    language_id: str


@dataclass(frozen=True, slots=True)
class BufferEdit:
    """One undo step: the document must hold `before` now and holds `after` then."""

    uri: str
    before: str
    after: str
    label: str


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """`applied` was verified; `stale`: the text is not `before` any more; `refused`: not applied.

    `text` is what the document holds now, as far as the host knows.
    """

    status: Literal["applied", "stale", "refused"]
    text: str
    reason: str | None = None


EditKind = Literal["create", "change", "delete"]


@dataclass(frozen=True, slots=True)
class FileEdit:
    uri: str
    kind: EditKind


# ---- files and commands, as the action server tells them


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What a path really is. `true_path` follows links; `sha256` only of regular files.

    `kind` "missing": the parent exists or can be made. `size` in bytes; `links` is the count of
    hard links. For a directory `count` and `first_names` say what is in it.
    """

    path: str
    true_path: str
    kind: Literal["file", "directory", "missing", "other"]
    size: int = 0
    sha256: str | None = None
    links: int = 1
    through_link: bool = False
    count: int = 0
    first_names: tuple[str, ...] = ()
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class FileBytes:
    data: bytes
    sha256: str
    size: int
    true_path: str


@dataclass(frozen=True, slots=True)
class Listing:
    """`entries` are relative paths, directories end with "/"; `omitted` counts those left out."""

    entries: tuple[str, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """`overlay` gives the text of open documents by absolute path; it replaces the disk's."""

    pattern: str
    path: str
    glob: str | None = None
    ignore_case: bool = False
    limit: int = 200
    overlay: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Match:
    """`line` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchFound:
    matches: tuple[Match, ...]
    omitted: int
    skipped_secret: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command as approved. `argv` runs without a shell; `script` runs by a fixed bash.

    Exactly one of both is set. `overlay` maps absolute paths to the bytes that the command is to
    see there (the editor's unsaved text). `timeout` in seconds.
    """

    cwd: str
    argv: tuple[str, ...] | None = None
    script: str | None = None
    timeout: float = 120.0
    network: bool = False
    overlay: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class CommandResult:
    """`output` is head and tail of what was printed (both streams, in order of arrival).

    `omitted` counts bytes left out between them; `changed` holds overlaid files that the command
    changed; `tampered` names protected paths that it created or changed.
    """

    output: str
    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    omitted: int = 0
    changed: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    tampered: tuple[str, ...] = ()
    note: str | None = None


# ---- runs and sessions


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One `agent/run`; None means: as the session, the role or the settings say."""

    prompt: tuple[PromptPart, ...]
    session_id: str | None = None
    run_id: str | None = None
    role: str | None = None
    model: str | None = None
    runtime: str | None = None
    cwd: str | None = None
    context: tuple[ResourcePart, ...] = ()
    limits: Limits = Limits()
    stream: bool = True
    progress_token: str | int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed: a code of core/errors.py and one sentence that says what to do."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended; `limit` names the limit of status limit."""

    session_id: str
    run_id: str
    status: RunStatus
    output: str
    usage: Usage
    edits: tuple[FileEdit, ...] = ()
    failure: Failure | None = None
    limit: LimitName | None = None
    reason: str | None = None


SessionState = Literal["idle", "running", "needsInput", "stopping"]


@dataclass(frozen=True, slots=True)
class SessionStatus:
    session_id: str
    state: SessionState
    run_id: str | None = None


# ---- what can be used


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model, or a vendor's models (`openai/*`). `source` says where its key or URL comes from."""

    name: str
    provider: str
    usable: bool
    source: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ActionServerStatus:
    pid: int | None
    restarts: int
    sandbox: str
