"""Core data to JSON text and back, by the types of its fields.

Reading is tolerant of time: unknown keys are ignored, missing ones take their defaults, deltas of
an unknown kind become Omitted. Text survives whatever is in it (NUL, lone surrogates).
"""

import dataclasses
import functools
import json
import types
from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from agent_host.core.events import Delta, Omitted

_Record = TypeVar("_Record")


class CodecError(ValueError):
    """Stored or imported text that is not what it should be."""


def encode(value: object) -> str:
    """JSON text of a dataclass or of plain data."""
    return dumps(plain(value))


def decode(kind: type[_Record], text: str) -> _Record:
    """The dataclass `kind` from its text; raises CodecError."""
    return record(kind, loads(text))


def record(kind: type[_Record], value: object) -> _Record:
    """The dataclass `kind` from plain data; raises CodecError."""
    return cast("_Record", _typed(kind, value))


def delta_kind(delta: Delta) -> str:
    """The name under which a delta is stored: `text`, `toolRequested`, ..."""
    return _kind_name(type(delta))


def decode_delta(kind: str, text: str) -> Delta:
    """The delta of that kind; raises CodecError if it is known but broken."""
    found = _delta_kinds().get(kind)
    if found is None:
        return Omitted(what=kind, size=len(text))
    return cast("Delta", _typed(found, loads(text)))


def dumps(value: object) -> str:
    """Compact JSON, readable where it can be."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isascii() or _has_utf8(text):
        return text
    return json.dumps(value, separators=(",", ":"))


def loads(text: str) -> object:
    """Plain data from JSON text; raises CodecError."""
    try:
        return cast("object", json.loads(text))
    except ValueError as error:
        raise CodecError(f"not JSON: {error}") from error


def clean(text: str) -> str:
    """Text that any database takes as it is: no NUL, no lone surrogates."""
    text = text.replace("\0", "\ufffd")
    return text if _has_utf8(text) else text.encode("utf-8", "replace").decode("utf-8")


def plain(value: object) -> object:
    """Dataclasses as objects, sequences and sets as arrays; anything unknown as its text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): plain(item) for key, item in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in cast("Iterable[object]", value)]
    return str(value)


# ---- reading


def _typed(hint: object, value: object) -> object:
    if hint is object or (hint is type(None) and value is None):
        return value
    origin = cast("object", get_origin(hint))
    if origin is not None:
        return _generic(hint, origin, value)
    if dataclasses.is_dataclass(hint):
        return _fields(cast("type", hint), value)
    if hint is float and type(value) is int:
        return float(value)
    if hint is type(value):
        return value
    raise CodecError(f"{hint} expected, {type(value).__name__} found")


def _generic(hint: object, origin: object, value: object) -> object:
    arguments = cast("tuple[object, ...]", get_args(hint))
    if origin is Literal:
        if value in arguments:
            return value
        raise CodecError(f"one of {arguments} expected")
    if origin is Union or origin is types.UnionType:
        return _first_fit(arguments, value)
    if (origin is tuple or origin is frozenset) and isinstance(value, list):
        items = (_typed(arguments[0], item) for item in cast("list[object]", value))
        return tuple(items) if origin is tuple else frozenset(items)
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {key: _typed(arguments[1], item) for key, item in members.items()}
    raise CodecError(f"{hint} expected, {type(value).__name__} found")


def _first_fit(hints: tuple[object, ...], value: object) -> object:
    problem = "no choice"
    for hint in hints:
        try:
            return _typed(hint, value)
        except CodecError as error:
            problem = str(error)
    raise CodecError(problem)


def _fields(kind: type, value: object) -> object:
    if not isinstance(value, dict):
        raise CodecError(f"{kind.__name__} expected, {type(value).__name__} found")
    members = cast("dict[str, object]", value)
    found: dict[str, object] = {}
    for name, hint in _hints(kind).items():
        if name in members:
            found[name] = _member(kind, name, hint, members[name])
    try:
        return cast("object", kind(**found))
    except TypeError as error:
        raise CodecError(f"{kind.__name__} is not complete") from error


def _member(kind: type, name: str, hint: object, value: object) -> object:
    try:
        return _typed(hint, value)
    except CodecError as error:
        raise CodecError(f"{kind.__name__}.{name}: {error}") from error


@functools.cache
def _hints(kind: type) -> Mapping[str, object]:
    return cast("Mapping[str, object]", get_type_hints(kind))


@functools.cache
def _delta_kinds() -> Mapping[str, type]:
    kinds = cast("tuple[type, ...]", get_args(Delta))
    return {_kind_name(kind): kind for kind in kinds}


def _kind_name(kind: type) -> str:
    return kind.__name__[0].lower() + kind.__name__[1:]


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
