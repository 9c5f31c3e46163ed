"""The messages between host and action server, as frozen dataclasses. Paths are absolute."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_host.action_wire.approved import Approved

MAX_DATA = 10 * 1024 * 1024
"""Bytes of a file that are read or written at once."""

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one message."""

BEAT_SECONDS = 2.0
SILENCE_SECONDS = 10.0
GRACE_SECONDS = 5.0
"""How long a command has after SIGTERM before it is killed."""

HEAD_BYTES = 32 * 1024
TAIL_BYTES = 96 * 1024
OUTPUT_BYTES = 64 * 1024 * 1024
"""A command that prints more is killed."""


class WireError(ValueError):
    """A line that is no message."""


# ---- host -> action server


@dataclass(frozen=True, slots=True)
class Start:
    """The first message. `roots` are the only places that file actions reach.

    `trash` holds what was deleted, `scratch` private copies; both belong to the host and are
    outside of the roots. `rg` is ripgrep's path. `secret` are patterns of file names globs over
    file names, `!` takes back. `confine` asks for Landlock around the file worker.
    """

    roots: tuple[str, ...]
    trash: str
    scratch: str
    rg: str | None
    secret: tuple[str, ...] = ()
    confine: bool = True


@dataclass(frozen=True, slots=True)
class Inspect:
    path: str


@dataclass(frozen=True, slots=True)
class Read:
    path: str


@dataclass(frozen=True, slots=True)
class ListDirectory:
    path: str
    depth: int
    limit: int


@dataclass(frozen=True, slots=True)
class Search:
    pattern: str
    path: str
    glob: str | None
    ignore_case: bool
    limit: int
    overlay: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    data: bytes
    expected_sha256: str | None


@dataclass(frozen=True, slots=True)
class CreateDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class Delete:
    """`trash_id`: under which it is put away, 32 hex digits; None: one is made up."""

    path: str
    identity: str
    trash_id: str | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    trash_id: str


@dataclass(frozen=True, slots=True)
class Move:
    """Give what `identity` says another name, never one that is taken."""

    path: str
    identity: str
    to: str


@dataclass(frozen=True, slots=True)
class Watch:
    """Look for names in all roots that commands must not change, or read.

    `protected` are globs over one or more folded parts of a path, `secret` as in Start.
    """

    protected: tuple[str, ...]
    secret: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tidy:
    """Remove those of `paths` that are nothing but mount points left behind."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Confine:
    """What the launcher's Landlock leaves: writing beneath `writable`, reading but for `hidden`."""

    writable: tuple[str, ...]
    hidden: tuple[str, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Start `argv` in `cwd` with exactly `env`; the words of TOKENS are filled in by the child.

    It must be what `approved` says, or it is not started.
    `namespaced`: argv is a bubblewrap whose init dies with it; otherwise a launcher of ours
    hunts the command's processes down, after `confine`, if given. `seccomp` is a BPF program,
    `copies` the bytes of private files that argv binds over the word behind their token.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout: float
    approved: Approved
    namespaced: bool = False
    seccomp: bytes = b""
    copies: tuple[bytes, ...] = ()
    confine: Confine | None = None


TOKEN_INFO = "{info-fd}"  # noqa: S105 - a place in an argv, not a secret
TOKEN_SECCOMP = "{seccomp-fd}"  # noqa: S105
TOKEN_COPY = "{copy-%d}"  # noqa: S105


FileCall = (
    Inspect
    | Read
    | ListDirectory
    | Search
    | Write
    | CreateDirectory
    | Delete
    | Restore
    | Move
    | Watch
    | Tidy
)


@dataclass(frozen=True, slots=True)
class Call:
    id: int
    call: FileCall | Run


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the call of that id; it is answered all the same, once it is really over."""

    id: int


ToServer = Start | Call | Cancel


# ---- action server -> host


@dataclass(frozen=True, slots=True)
class Ready:
    pid: int


@dataclass(frozen=True, slots=True)
class Beat:
    """Sent every BEAT_SECONDS: the action server's loop turns."""


@dataclass(frozen=True, slots=True)
class Output:
    id: int
    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
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
class Content:
    data: bytes
    sha256: str
    true_path: str


@dataclass(frozen=True, slots=True)
class Entries:
    entries: tuple[str, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    hits: tuple[Hit, ...]
    omitted: int
    skipped_secret: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """A text that names something: a new hash, a trash id; empty where there is none."""

    value: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """One name that commands must not change. `print` changes when anything in it does.

    "repository": its config and hooks are listed apart, the rest of it is for commands.
    """

    path: str
    kind: Literal["directory", "file", "link", "repository"]
    print: str


@dataclass(frozen=True, slots=True)
class Watchlist:
    """`complete` False: there was not enough time for all of the tree."""

    watched: tuple[Watched, ...]
    secrets: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended; `copies` holds those private files that it changed, by number."""

    output: str
    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    omitted: int = 0
    note: str | None = None
    copies: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


Result = Facts | Content | Entries | Found | Name | Watchlist | Ran


@dataclass(frozen=True, slots=True)
class Done:
    id: int
    result: Result


@dataclass(frozen=True, slots=True)
class Failed:
    """`code` is one of core's ActionFailed codes, `reason` a sentence for the model."""

    id: int
    code: str
    reason: str


ToHost = Ready | Beat | Output | Done | Failed
