"""What a path's text says: sane or not, beneath a root, protected, secret-looking.

Pure: nothing is looked up on disk, so callers give true paths (links followed). Names are compared
as NFKC, case-folded, on every system; containment is compared exactly and by parts.
"""

import os
import re
import unicodedata
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from agent_host.permissions.protected import (
    GIT,
    NOT_SECRET,
    PROTECTED,
    SECRET,
    WARNED,
    Protected,
)

_MAX_PART = 255
_MAX_PATH = 4095
_ON_WINDOWS = os.name == "nt"
_DEVICE = re.compile(
    r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.IGNORECASE
)
_SHORT_NAME = re.compile(r"[^.]{1,6}~[0-9]+(\.[^.]{0,3})?")


def sane(path: str, *, windows: bool = _ON_WINDOWS) -> str | None:
    """Why the text can't be a path that we accept; None if it is fine."""
    if not path:
        return "the path is empty"
    if path.startswith("~"):
        return "a path can't begin with ~; give the absolute path"
    if path.startswith(("\\", "//", "/??/")):
        return "network and device forms of paths are not accepted"
    for char in path:
        if reason := _bad_character(char):
            return reason
    if len(os.fsencode(path)) > _MAX_PATH:
        return f"the path is longer than {_MAX_PATH} bytes"
    for part in split(path, windows=windows):
        if reason := _bad_part(part, windows=windows):
            return reason
    return None


def _bad_character(char: str) -> str | None:
    kind = unicodedata.category(char)
    if kind in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}:
        return f"the path holds a control or hidden character (U+{ord(char):04X})"
    return None


def _bad_part(part: str, *, windows: bool) -> str | None:
    if len(os.fsencode(part)) > _MAX_PART:
        return f"a part of the path is longer than {_MAX_PART} bytes"
    if part not in {".", ".."} and part != part.rstrip(". "):
        return "a part of the path ends with a dot or a blank"
    if not windows:
        return None
    if ":" in part:
        return "a part of the path names a stream (:)"
    if _DEVICE.fullmatch(part.rstrip(". ")):
        return "a part of the path is the name of a device"
    if _SHORT_NAME.fullmatch(part):
        return "a part of the path is a short name (~1); give the long one"
    return None


def split(path: str, *, windows: bool = _ON_WINDOWS) -> tuple[str, ...]:
    """The parts of a path, without the empty ones; a drive is no part."""
    if windows:
        path = re.sub(r"^[A-Za-z]:", "", path).replace("\\", "/")
    return tuple(part for part in path.split("/") if part)


def beneath(root: str, path: str) -> bool:
    """Whether an absolute path is the root or below it: by parts, exactly, never through `..`."""
    if not (PurePath(root).is_absolute() and PurePath(path).is_absolute()):
        return False
    if PurePath(root).drive != PurePath(path).drive:
        return False
    above, below = split(root), split(path)
    return ".." not in (*above, *below) and below[: len(above)] == above


def root_of(roots: Sequence[str], path: str) -> str | None:
    """The innermost of the roots that holds the path."""
    holding = [root for root in roots if beneath(root, path)]
    return max(holding, key=lambda root: len(split(root)), default=None)


def relative(roots: Sequence[str], path: str) -> str | None:
    """The path below its root with `/` between its parts; `.` for the root itself."""
    return next(iter(relatives(roots, path)), None)


def relatives(roots: Sequence[str], path: str) -> tuple[str, ...]:
    """The path below each root that holds it, the innermost root first."""
    depths = {len(split(root)) for root in roots if beneath(root, path)}
    parts = split(path)
    return tuple("/".join(parts[depth:]) or "." for depth in sorted(depths, reverse=True))


def resolve(cwd: str, word: str) -> str:
    """The absolute path that a word names in a directory: by text only, `..` folded."""
    return os.path.normpath(os.path.join(cwd, word))  # noqa: PTH118 - text, not a place on disk


def key(text: str) -> str:
    """The folded form in which names are compared: two names with one key may be one file."""
    shown = "".join(char for char in text if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFKC", shown).casefold()
    return unicodedata.normalize("NFKC", folded)


def _part_key(part: str) -> str:
    # Windows opens "x", "x.", "x " and "x::$DATA" as one file.
    return key(part).split(":", 1)[0].rstrip(". ") or key(part)


def is_protected(true_path: str, roots: Sequence[str] = (), own: Sequence[str] = ()) -> str | None:
    """Why writing there always asks; None if it does not.

    `roots` are the workspace roots: above them nothing counts but `.git`. `own` are the host's
    own places (roles, settings, installation).
    """
    for place in own:
        if beneath(place, true_path):
            return "it belongs to the agent host itself"
    entry = _found(PROTECTED, _parts_below(true_path, roots))
    if entry is None:
        return None
    return f"{entry.pattern}: {entry.why}"


def is_git(true_path: str, roots: Sequence[str] = ()) -> bool:
    """Whether the path is git's own data."""
    return _found(GIT, _parts_below(true_path, roots)) is not None


def warning(true_path: str) -> str | None:
    """What a question about writing there should add, if anything."""
    entry = _found(WARNED, tuple(map(_part_key, split(true_path))))
    return entry.why if entry else None


def is_secret(true_path: str) -> str | None:
    """What kind of secret the file looks like by its name; None if it does not."""
    parts = tuple(map(_part_key, split(true_path)))
    if not parts or any(_ends_with(parts, pattern) for pattern in NOT_SECRET):
        return None
    for pattern, looks_like in SECRET:
        if _ends_with(parts, pattern):
            return looks_like
    if parts[-1].startswith("id_") and "." not in parts[-1]:
        return "a private key"
    return None


def is_bare_repository(names: Collection[str]) -> bool:
    """Whether a directory with these names is one that git takes for a repository."""
    return {"head", "objects", "refs"} <= {_part_key(name) for name in names}


def _parts_below(true_path: str, roots: Sequence[str]) -> tuple[str, ...]:
    parts = tuple(map(_part_key, split(true_path)))
    # Of roots in roots the outermost counts: what is protected there stays so.
    above = min((len(split(root)) for root in roots if beneath(root, true_path)), default=None)
    if above is None:
        return parts
    if ".git" in parts[:above]:
        return parts
    # The root's own name counts: someone may have opened .vscode itself.
    return parts[max(above - 1, 0) :]


def _found(table: Sequence[Protected], parts: tuple[str, ...]) -> Protected | None:
    for entry in table:
        pattern = tuple(entry.pattern.split("/"))
        starts = range(len(parts) - len(pattern) + 1)
        if entry.kind == "file":
            starts = starts[-1:]
        for start in starts:
            window = parts[start : start + len(pattern)]
            if all(map(fnmatchcase, window, pattern)):
                return entry
    return None


def _ends_with(parts: tuple[str, ...], pattern: str) -> bool:
    globs = tuple(pattern.split("/"))
    return len(parts) >= len(globs) and all(map(fnmatchcase, parts[-len(globs) :], globs))
