"""Reading decoded JSON with types; what is of another type counts as absent."""

from collections.abc import Mapping
from typing import TypeGuard

JsonObject = Mapping[str, object]


def as_object(value: object) -> JsonObject:
    """The object, or an empty one."""
    return value if _is_object(value) else {}


def as_objects(value: object) -> tuple[JsonObject, ...]:
    """The objects of a list."""
    return tuple(item for item in as_list(value) if _is_object(item))


def as_list(value: object) -> list[object]:
    return value if _is_list(value) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)
