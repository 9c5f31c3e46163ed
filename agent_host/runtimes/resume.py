"""How a runtime that keeps its own sessions finds its own again in the history of ours.

What happened since then by another runtime, or all of it if there is no session to go back to, is
told as words before the prompt. Not here: the shape of the other items (conversation.py).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from agent_host.core.model import ImagePart, JsonObject
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Reasoned,
    Returned,
    UserSaid,
    decode,
)

MAX_TOLD = 100_000
"""Characters of an earlier conversation that are told at most; the newest ones."""

_MAX_RESULT = 2000
_TYPE = "runtime_session"


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A session of a runtime's own; `fork`: it is that of another session of ours."""

    id: str
    fork: bool


@dataclass(frozen=True, slots=True)
class Past:
    """What a runtime can go back to, and what it has missed (empty: nothing).

    `spent`: what its session had cost by its own account, in US dollars.
    """

    session: OwnSession | None
    missed: str
    spent: float | None = None


def session_item(runtime: str, own_id: str, session_id: str) -> JsonObject:
    """What to remember once the runtime's own session is known."""
    return {"type": _TYPE, "runtime": runtime, "id": own_id, "session": session_id}


def end_item(runtime: str, spent: float | None = None) -> JsonObject:
    """What to remember at a run's end: up to here the runtime knows all; `spent` as in `Past`."""
    item: JsonObject = {"type": "runtime_knows", "runtime": runtime}
    return item if spent is None else {**item, "spent": spent}


def past_of(history: Sequence[JsonObject], runtime: str, session_id: str) -> Past:
    """What there was before this run."""
    session, since, spent = None, 0, None
    for number, entry in enumerate(history):
        if entry.get("runtime") != runtime:
            continue
        own_id = entry.get("id")
        if entry.get("type") == _TYPE and isinstance(own_id, str):
            session = OwnSession(own_id, fork=entry.get("session") != session_id)
        if isinstance(cost := entry.get("spent"), float):
            spent = cost
        since = number + 1
    return Past(session, told(history[since:] if session else history), spent)


def told(history: Iterable[JsonObject]) -> str:
    """A conversation as words, the newest part of it; empty if there was none."""
    lines = [line for entry in history if (line := _line(decode(entry)))]
    text = "\n".join(lines)
    if len(text) > MAX_TOLD:
        text = f"[The beginning is left out.]\n{text[-MAX_TOLD:]}"
    return text


def _line(item: Item | None) -> str:
    match item:
        case None | Reasoned():
            return ""
        case UserSaid(parts):
            words = ("[an image]" if isinstance(part, ImagePart) else part.text for part in parts)
            return "User: " + " ".join(words)
        case AgentSaid(text):
            return f"Assistant: {text}" if text else ""
        case Called(_, name, arguments):
            return f"Tool call: {name} {json.dumps(arguments)[:_MAX_RESULT]}"
        case Returned(_, output):
            return f"Tool result: {output[:_MAX_RESULT]}"
    assert_never(item)
