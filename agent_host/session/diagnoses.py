"""The diagnostics that an editor shows, as text for the model: one a line, worst first. Pure."""

from collections.abc import Mapping, Sequence

from agent_host.core.model import JsonObject

MOST = 100
"""How many are told; the others are counted."""

_LONGEST = 500
_NAMES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def told(diagnostics: Sequence[JsonObject]) -> str:
    """LSP Diagnostics, whatever is missing or odd in them; lines count from 1."""
    if not diagnostics:
        return "The editor shows no diagnostics for this file."
    ordered = sorted(diagnostics, key=lambda each: (_severity(each), _line(each)))
    lines = [_told(each) for each in ordered[:MOST]]
    if len(ordered) > MOST:
        lines.append(f"[{len(ordered) - MOST} more are left out.]")
    return "\n".join(lines)


def _told(diagnostic: JsonObject) -> str:
    severity = _NAMES[_severity(diagnostic)]
    source, code = diagnostic.get("source"), diagnostic.get("code")
    who = " ".join(str(each) for each in (source, code) if isinstance(each, str | int))
    message = " ".join(str(diagnostic.get("message", "")).split())
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}…"
    return f"line {_line(diagnostic)}: {severity}: {message}{f' [{who}]' if who else ''}"


def _severity(diagnostic: JsonObject) -> int:
    severity = diagnostic.get("severity")
    return severity if isinstance(severity, int) and severity in _NAMES else 1


def _line(diagnostic: JsonObject) -> int:
    place: object = diagnostic
    for key in ("range", "start", "line"):
        place = place.get(key) if isinstance(place, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return place + 1 if isinstance(place, int) else 1
