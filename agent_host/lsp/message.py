"""JSON-RPC messages as plain JSON: bytes to values and back, and what a sound request is.

Standard library only and cheap to import: early.py needs it. Not here: what messages mean.
"""

import json
import math
from collections.abc import Iterable
from typing import TypeGuard, cast

from agent_host.lsp.framing import frame

MessageId = str | int | float


def decode(body: bytes) -> object:
    """The JSON value of a body; raises ValueError with a reason that holds nothing of it."""
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ValueError("The message is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"The message is not JSON (at character {error.pos}).") from None
    except RecursionError:
        raise ValueError("The message is nested too deeply.") from None
    except ValueError:
        raise ValueError("The message has a number that can't be read.") from None


def encode(message: object) -> bytes:
    """A message with its header, as it goes out. A number that JSON doesn't have becomes null."""
    try:
        text = json.dumps(message, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(message), separators=(",", ":"), allow_nan=False)
    return frame(text.encode())


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a JSON value is an object (whose keys are strings, as JSON's always are)."""
    return isinstance(value, dict)


def is_id(value: object) -> TypeGuard[MessageId]:
    """Whether that can be a request's id. Some Lua and Lisp clients write whole numbers as 1.0."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, str | int) and not isinstance(value, bool)


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_object(value):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("Iterable[object]", value)]
    return value
