"""How messages are spelled: a JSON object a line, `type` first, bytes as base64.

What doesn't decode to exactly the declared fields is refused with WireError.
"""

import base64
import binascii
import json
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Literal, Union, cast, get_args, get_origin, get_type_hints

from agent_host.action_wire.messages import ToHost, ToServer, WireError


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
