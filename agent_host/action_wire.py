"""What the host and the action server say to each other: one JSON object a line on two pipes.

The only module both sides import. Messages are frozen dataclasses, bytes travel as base64, and
what doesn't decode to exactly the declared fields is refused with WireError.
"""

import base64
import binascii
import json
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Literal, Union, cast, get_args, get_origin, get_type_hints

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
    outside of the roots. `rg` is ripgrep's path. `secret` are patterns of file names as in
    `Names`. `confine` asks for Landlock around the file worker.
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
    path: str
    identity: str


@dataclass(frozen=True, slots=True)
class Restore:
    trash_id: str


@dataclass(frozen=True, slots=True)
class Run:
    """Start `argv` in `cwd` with exactly `env`; the words of TOKENS are filled in by the child.

    `namespaced`: argv is a bubblewrap whose init dies with it; otherwise a launcher of ours
    hunts the command's processes down. `seccomp` is a BPF program, `copies` the bytes of
    private files that argv binds over others.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout: float
    namespaced: bool = False
    seccomp: bytes = b""
    copies: tuple[bytes, ...] = ()
    writable: tuple[str, ...] | None = None


TOKEN_INFO = "{info-fd}"  # noqa: S105 - a place in an argv, not a secret
TOKEN_SECCOMP = "{seccomp-fd}"  # noqa: S105
TOKEN_COPY = "{copy-%d}"  # noqa: S105


FileCall = Inspect | Read | ListDirectory | Search | Write | CreateDirectory | Delete | Restore


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
class Ran:
    """How a command ended; `copies` holds those private files that it changed, by number."""

    output: str
    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    omitted: int = 0
    note: str | None = None
    copies: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


Result = Facts | Content | Entries | Found | Name | Ran


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


# ---- spelling


def encode(message: ToServer | ToHost) -> bytes:
    """One line, its newline included. Lone surrogates survive as JSON escapes."""
    return json.dumps(_plain(message), separators=(",", ":")).encode("ascii") + b"\n"


def decode_to_server(line: bytes) -> ToServer:
    return cast("ToServer", _typed(ToServer, _parse(line), "message"))


def decode_to_host(line: bytes) -> ToHost:
    return cast("ToHost", _typed(ToHost, _parse(line), "message"))


@dataclass(frozen=True, slots=True)
class Head:
    """What a relay needs to know of a message: its type, its id and the type of its call."""

    type: str
    id: int | None
    call: str | None


def head(line: bytes) -> Head:
    """Look at the beginning of a line from `encode` without decoding megabytes behind it."""
    found = re.match(rb'\{"type":"(\w+)"(?:,"id":(\d+))?(?:,"call":\{"type":"(\w+)")?', line)
    if found is None:
        raise WireError("not a message")
    kind, number, call = found.groups()
    return Head(kind.decode(), int(number) if number else None, call.decode() if call else None)


class Lines:
    """Cuts a byte stream into lines; one longer than `limit` bytes raises WireError."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines."""
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(data)
            return []
        self._keep(head)
        lines = [b"".join(self._parts), *rest.split(b"\n")]
        self._parts, self._size = [], 0
        self._keep(lines.pop())
        return lines

    def rest(self) -> bytes:
        """What came after the last newline."""
        return b"".join(self._parts)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._limit:
            raise WireError(f"a line is longer than {self._limit} bytes")
        if data:
            self._parts.append(data)


def _parse(line: bytes) -> object:
    try:
        return cast("object", json.loads(line))
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from None


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        spelled = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
        return {"type": type(value).__name__, **spelled}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, tuple):
        return [_plain(each) for each in cast("tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return {key: _plain(each) for key, each in mapping.items()}
    return value


def _typed(kind: object, value: object, where: str) -> object:
    origin = get_origin(kind)
    if origin is Union or origin is types.UnionType:
        return _one_of(get_args(kind), value, where)
    if origin is Literal:
        if value in get_args(kind):
            return value
        raise WireError(f"{where}: not one of {get_args(kind)}")
    if origin is tuple:
        if not isinstance(value, list):
            raise WireError(f"{where}: not a list")
        each_kind = get_args(kind)[0]
        return tuple(_typed(each_kind, each, where) for each in cast("list[object]", value))
    if origin is Mapping:
        mapping, each_kind = _object(value, where), get_args(kind)[1]
        return {key: _typed(each_kind, each, where) for key, each in mapping.items()}
    plain = cast("type[object]", kind)
    return (_message if is_dataclass(plain) else _scalar)(plain, value, where)


def _one_of(kinds: tuple[object, ...], value: object, where: str) -> object:
    if value is None and types.NoneType in kinds:
        return None
    messages = {kind.__name__: kind for kind in kinds if isinstance(kind, type)}
    if not any(is_dataclass(kind) for kind in messages.values()):
        return _typed(next(kind for kind in kinds if kind is not types.NoneType), value, where)
    name = _object(value, where).get("type")
    kind = messages.get(name) if isinstance(name, str) else None
    if kind is None:
        raise WireError(f"{where}: unknown type {name!r}")
    return _message(kind, value, where)


def _message(kind: type, value: object, where: str) -> object:
    given = {key: each for key, each in _object(value, where).items() if key != "type"}
    kinds = _hints(kind)
    if given.keys() != kinds.keys():
        raise WireError(f"{where}: {kind.__name__} has other fields than {sorted(given)}")
    spelled = {key: _typed(kinds[key], each, f"{where}.{key}") for key, each in given.items()}
    return cast("object", kind(**spelled))


def _scalar(kind: type, value: object, where: str) -> object:
    if kind is bytes and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise WireError(f"{where}: not base64") from None
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type(value) is kind:
        return value
    raise WireError(f"{where}: not a {kind.__name__}")


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise WireError(f"{where}: not an object")
    return cast("dict[str, object]", value)


@cache
def _hints(kind: type) -> dict[str, object]:
    return get_type_hints(kind)
