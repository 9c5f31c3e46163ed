"""Whether a rule matches an action: by structure only, never by rendered text.

Each effect errs to its safe side. An allow rule matches exactly what it says. A deny or ask rule
also matches longer commands, other spellings of a name, and everything below a directory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from agent_host.core.permission import Rule
from agent_host.permissions import paths
from agent_host.permissions.programs import base
from agent_host.permissions.servers import wrong_form
from agent_host.permissions.shell import Argv

ACTIONS = (
    "fs.read",
    "fs.list",
    "fs.search",
    "fs.write",
    "fs.createDirectory",
    "fs.delete",
    "terminal.run",
    "editor.open",
    "skill.use",
    "agent.call",
)
"""The actions that we know; those of MCP servers are called `mcp:<server>/<tool>`."""

FROM_HOST = frozenset({"skill.use"})
"""Those that only read what the host itself has for agents."""

ANY_MORE = "..."
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Target:
    """What a rule is held against: one action on one true path, or one part of a command.

    For `agent.call` the path is the name of the role that is called.
    """

    action: str
    path: str | None = None
    argv: Argv | None = None
    network: bool = False


def matches(rule: Rule, target: Target, roots: Sequence[str]) -> bool:
    """Whether the rule speaks about the target."""
    if not fnmatchcase(target.action, rule.action):
        return False
    if rule.effect == "allow" and target.network and not rule.network:
        return False
    if rule.path is not None and not _path_matches(rule, target, roots):
        return False
    return rule.argv is None or _argv_matches(rule, target.argv)


def names_exactly(rule: Rule, target: Target) -> bool:
    """Whether the rule names the target without a wildcard: a file's own name, a whole command."""
    if target.argv is not None:
        words = rule.argv or (ANY_MORE,)
        return words[-1] != ANY_MORE and not any(_WILD & set(word) for word in words)
    return rule.path is not None and not _WILD & set(rule.path.rsplit("/", 1)[-1])


def knows_action(pattern: str) -> bool:
    """Whether an action glob can match anything that exists."""
    if pattern.startswith("mcp"):
        return wrong_form(pattern) is None
    return any(fnmatchcase(name, pattern) for name in ACTIONS)


def _argv_matches(rule: Rule, argv: Argv | None) -> bool:
    if argv is None or rule.argv is None or not rule.argv:
        return False
    words = rule.argv
    open_end = rule.effect != "allow"
    if words[-1] == ANY_MORE:
        words, open_end = words[:-1], True
    if len(argv) < len(words) or (len(argv) > len(words) and not open_end):
        return False
    if rule.effect != "allow" and words and _is_program(argv[0], words[0]):
        words, argv = words[1:], argv[1:]
    return all(fnmatchcase(word, glob) for word, glob in zip(argv, words, strict=False))


def _is_program(program: str, glob: str) -> bool:
    """`/usr/bin/curl`, `./curl`, `CURL` and `curl.exe` are denied where `curl` is."""
    return "/" not in glob and fnmatchcase(base(program), base(glob))


def _path_matches(rule: Rule, target: Target, roots: Sequence[str]) -> bool:
    path = target.path
    if path is None or rule.path is None:
        return False
    if target.action == "agent.call":
        return fnmatchcase(path, rule.path)
    strict = rule.effect == "allow"
    if rule.path.startswith("/"):
        return glob_matches(rule.path, path, strict=strict)
    # Of roots in roots an allow rule means the innermost, what narrows each of them.
    places = paths.relatives(roots, path)[: 1 if strict else None]
    return any(glob_matches(rule.path, inside, strict=strict) for inside in places)


def glob_matches(pattern: str, path: str, *, strict: bool) -> bool:
    """Match a path; `**` stands for any number of parts, `*` stays within one.

    A pattern without `/` means the name at any depth. Unless `strict`, names are compared folded
    and what lies below a matching directory matches too.
    """
    if not strict:
        pattern, path = paths.key(pattern), paths.key(path)
    globs = tuple(part for part in pattern.split("/") if part not in {"", "."})
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if "/" not in pattern.rstrip("/"):
        globs = ("**", *globs)
    if strict:
        return _parts_match(globs, parts)
    return any(_parts_match(globs, parts[:end]) for end in range(len(parts) + 1))


@lru_cache(maxsize=4096)
def _parts_match(globs: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if not globs:
        return not parts
    if globs[0] == "**":
        return _parts_match(globs[1:], parts) or (bool(parts) and _parts_match(globs, parts[1:]))
    return bool(parts) and fnmatchcase(parts[0], globs[0]) and _parts_match(globs[1:], parts[1:])
