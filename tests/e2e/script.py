"""The turns that a test wants the model to take, and the script file that makes it take them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says and wishes in one turn.

    `seconds` is the pause between two words; `hang`: nothing more comes; `expect` is a regular
    expression that the last tool result must match. `error` is a kind of error of the scripted
    model; `status` (of HTTP) and `cut` (where the stream ends) are for the vendor on loopback.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    seconds: float = 0
    hang: bool = False
    expect: str | None = None
    error: str | None = None
    status: int | None = None
    cut: str | None = None


def says(text: str, **more: Any) -> Turn:
    """The model answers and is done."""
    return Turn(text, **more)


def calls(*wished: Call, text: str = "", **more: Any) -> Turn:
    """The model wishes one tool call, or several at once."""
    return Turn(text, wished, **more)


def expecting(pattern: str, turn: Turn) -> Turn:
    """The turn, if the last tool result matches; else the run fails."""
    return replace(turn, expect=pattern)


def write_script(path: Path, turns: Sequence[Turn]) -> str:
    """Write the turns (JSON is YAML); returns the model's name for `agent/run`."""
    path.write_text(json.dumps([_steps(turn) for turn in turns], ensure_ascii=False), "utf-8")
    return f"scripted/{path}"


def _steps(turn: Turn) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    if turn.expect is not None:
        steps.append({"expect": {"result": turn.expect}})
    if turn.text:
        said = {"say": turn.text, "seconds": turn.seconds} if turn.seconds else turn.text
        steps.append({"text": said})
    steps += [{"call": {"name": name, "arguments": given}} for name, given in turn.calls]
    if turn.hang:
        steps.append({"hang": True})
    if turn.error is not None:
        steps.append({"error": turn.error})
    return steps
