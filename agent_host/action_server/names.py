"""Judging file names by patterns: globs, and the lists of secret-looking names. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache


def is_secret(path: str, patterns: Sequence[str]) -> bool:
    """Whether the last part of `path` looks like a secret, or its last parts do.

    Patterns are globs over as many parts as they have, upper and lower case alike; one that begins
    with `!` takes back what earlier ones said.
    """
    parts = path.rstrip("/").casefold().split("/")
    alone, folders = _first_look(tuple(patterns))
    # Nearly every name is told apart here.
    if not alone.fullmatch(parts[-1]) and not folders.fullmatch("".join(parts[-2:-1])):
        return False
    secret = False
    for pattern in patterns:
        bare = pattern.removeprefix("!").casefold()
        if glob(bare).fullmatch("/".join(parts[-1 - bare.count("/") :])):
            secret = not pattern.startswith("!")
    return secret


def matches_glob(relative: str, pattern: str) -> bool:
    """As ripgrep's --glob: without `/` it is about the name alone, `!` turns it round."""
    wanted = not pattern.startswith("!")
    bare = pattern.removeprefix("!")
    if "/" in bare.rstrip("/"):
        return wanted == bool(glob(bare.strip("/")).fullmatch(relative))
    names = relative.split("/")
    return wanted == any(glob(bare.rstrip("/")).fullmatch(name) for name in names)


def any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """One expression for names that match any of the globs, `!` and upper case aside."""
    return _any_of(tuple(patterns))


@lru_cache(maxsize=16)
def _first_look(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What patterns of one part say of a name, and longer ones of the folder that it is in."""
    longer = [each.split("/")[-2] for each in patterns if "/" in each]
    return any_of([each for each in patterns if "/" not in each]), any_of(longer)


@lru_cache(maxsize=16)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    plain = [_translated(pattern.removeprefix("!").casefold()) for pattern in patterns]
    return re.compile("|".join(plain) if plain else "(?!)", re.DOTALL)


@lru_cache(maxsize=256)
def glob(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression: `*` and `?` stay within a part, `**` does not."""
    return re.compile(_translated(pattern), re.DOTALL)


def _translated(pattern: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(pattern):
        rest = pattern[position:]
        if rest.startswith("**/"):
            out.append("(?:.*/)?")
            position += 3
        elif rest.startswith("**"):
            out.append(".*")
            position += 2
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            body = rest[1:end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[{'^' + body[1:] if body[0] in '!^' else body}]")
            position += end + 1
        elif rest[0] == "{" and "}" in rest:
            end = rest.index("}")
            parts = rest[1:end].split(",")
            out.append("(?:" + "|".join(map(_translated, parts)) + ")")
            position += end + 1
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(rest[0], re.escape(rest[0])))
            position += 1
    return "".join(out)
