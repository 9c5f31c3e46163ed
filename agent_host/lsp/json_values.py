"""Reading JSON that an editor sent without trusting its shape: what is odd counts as absent."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from agent_host.core.model import JsonObject


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether this is a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Whether this is a JSON array."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def object_in(value: object, *keys: str) -> JsonObject:
    """The object at a path of keys, an empty one if there is none."""
    for key in keys:
        value = value.get(key) if is_object(value) else None
    return value if is_object(value) else {}


def list_in(value: JsonObject, key: str) -> Sequence[object]:
    """The array at a key, an empty one if there is none."""
    found = value.get(key)
    return found if is_list(found) else ()


def text_in(value: JsonObject, key: str) -> str | None:
    """The string at a key."""
    found = value.get(key)
    return found if isinstance(found, str) else None


def int_in(value: JsonObject, key: str) -> int | None:
    """The whole number at a key."""
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
