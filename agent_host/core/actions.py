"""What is done on the user's machine, and what the action server tells about it, as frozen data.

Paths are absolute strings, times seconds, sizes bytes. An Action is what was asked for; a Command
is what was approved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_host.core.external import ExternalTool

Risk = Literal["low", "medium", "high"]
OutputStream = Literal["stdout", "stderr"]


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


FileChange = WriteFile | EditFile


@dataclass(frozen=True, slots=True)
class EditFiles:
    """Changes of several files as one wish; no file is named twice."""

    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class CreateDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class DeletePath:
    path: str


@dataclass(frozen=True, slots=True)
class MovePath:
    """Give a file, or a directory with all in it, another name that is not taken."""

    path: str
    to: str


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


@dataclass(frozen=True, slots=True)
class UseSkill:
    """The text of a skill, or of a file in its folder (by its name there)."""

    name: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class CallAgent:
    """Have another role do a part of the work; it knows nothing but the prompt."""

    role: str
    prompt: str


@dataclass(frozen=True, slots=True)
class CallExternal:
    """Have a tool of an MCP server called, as it was offered."""

    tool: ExternalTool
    arguments: Mapping[str, object]


FileAction = (
    ReadFile | ListDirectory | SearchFiles | WriteFile | EditFile | CreateDirectory | DeletePath
)


@dataclass(frozen=True, slots=True)
class ReadDiagnostics:
    """What the editor has to say about a file; to read it is to read of the file."""

    path: str


SingleAction = (
    FileAction
    | MovePath
    | RunCommand
    | OpenInEditor
    | ReadDiagnostics
    | UseSkill
    | CallAgent
    | CallExternal
)
"""What is judged as one."""
Action = SingleAction | EditFiles


EditKind = Literal["create", "change", "delete"]
"""What a change of a file comes to. A file that was moved is deleted here and created there."""

WrittenKind = EditKind | Literal["move"]
"""What is written down of a change."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    uri: str
    kind: EditKind


@dataclass(frozen=True, slots=True)
class OmittedFile:
    """A file that a diff leaves out, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunDiff:
    """All that a run changed, unified; `omitted` are changed files that are not in it."""

    text: str
    omitted: tuple[OmittedFile, ...] = ()


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
class Seal:
    """That a command was allowed: what it was then, as a hash, and a `nonce` that is used once."""

    nonce: str
    digest: str
    sandbox: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as approved. `argv` runs without a shell; `script` runs by a fixed bash.

    Exactly one of both is set. `overlay` maps absolute paths to the bytes that the command is to
    see there (the editor's unsaved text). `timeout` in seconds. `hide_secrets`: secret-looking
    files of the workspace read as empty, where there is a sandbox that can mount; `reads_all`: it
    reads whole folders, and is not run if some of these can't be hidden. `env` are variables that
    the user has set for commands, on top of the scrubbed environment. Without a `seal` that fits
    all that could do more it is not run.
    """

    cwd: str
    argv: tuple[str, ...] | None = None
    script: str | None = None
    timeout: float = 120.0
    network: bool = False
    overlay: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    hide_secrets: bool = False
    reads_all: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    seal: Seal | None = None


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


@dataclass(frozen=True, slots=True)
class ActionServerStatus:
    pid: int | None
    restarts: int
    sandbox: str
