"""What a prompt names: `@file`, `@file:3-9`, `@"a file"` and `/command`. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_MENTION = re.compile(r'(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"`]+))(:\d+(?:-\d+)?)?')
_LINES = re.compile(r":(\d+)(?:-(\d+))?$")
_TYPED = re.compile(r'(?:^|[\s(])@("?)([^\s"]*|(?<=")[^"]*)$')
_COMMAND = re.compile(r"^/([\w-]*)$")
_CALL = re.compile(r"\A/([\w-]+)(?:\s+(.*))?\Z", re.DOTALL)
_TRAILING = ".,;:!?)]}'>"

MOST_OFFERED = 100


@dataclass(frozen=True, slots=True)
class Mention:
    """A file that a prompt names; lines count from 1, both ends included."""

    path: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """The word before the cursor that can be completed; it begins at column `start`."""

    kind: Literal["file", "command"]
    start: int
    word: str


def mentions(prompt: str) -> tuple[Mention, ...]:
    """What may be meant as files, each once, in order; whether they exist is not known here."""
    found: dict[Mention, None] = {}
    for match in _MENTION.finditer(prompt):
        quoted, plain, lines = match.groups()
        word = f"{quoted}{lines or ''}" if quoted else plain.rstrip(_TRAILING)
        place = _LINES.search(word)
        path = word[: place.start()] if place else word
        if not path:
            continue
        first = int(place[1]) if place else None
        last = int(place[2] or place[1]) if place else None
        found[Mention(path, first, last)] = None
    return tuple(found)


def mention(path: str, first: int | None = None, last: int | None = None) -> str:
    """A file, or lines of it, as a prompt names them."""
    name = f'@"{path}"' if re.search(r"\s", path) else f"@{path}"
    if first is None:
        return name
    return f"{name}:{first}" if last in (None, first) else f"{name}:{first}-{last}"


def command_of(prompt: str) -> tuple[str, str] | None:
    """Name and argument of a prompt that begins with `/name`."""
    match = _CALL.match(prompt)
    return (match[1], (match[2] or "").strip()) if match else None


def typed(line: str) -> Typed | None:
    """What could be completed at the end of this beginning of a line."""
    if match := _COMMAND.match(line):
        return Typed("command", 0, match[1])
    if match := _TYPED.search(line):
        return Typed("file", match.start(1) - 1, match[2])
    return None


def matching(word: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names that hold the word in any case: those whose last part begins with it come first."""
    low = word.lower()
    if not low:
        return tuple(sorted(names, key=lambda name: (name.count("/"), name))[:MOST_OFFERED])
    held = [name for name in names if low in name.lower()]

    def rank(name: str) -> tuple[bool, bool, int, str]:
        last = name.rstrip("/").rpartition("/")[2].lower()
        return (not name.lower().startswith(low), not last.startswith(low), len(name), name)

    return tuple(sorted(held, key=rank)[:MOST_OFFERED])
