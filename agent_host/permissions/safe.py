"""The table of commands that only read: whole flags, listed one by one.

A flag that is not listed makes the command unsafe, and so does an operand that begins with `-`.
Not here: whether the files that a command names may be read (commands.py).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_host.permissions.shell import Argv

_NUMBER = r"\+?[0-9]{1,9}"
_TEXT = r"[^-].*"
_NAME = r"[^-].*"


@dataclass(frozen=True, slots=True)
class SafeCommand:
    """`letters` may be joined after one dash; `words` are whole flags; `values` take one value.

    `values` maps a flag to the pattern of its value. `operands` is the largest number of others.
    `first_is_text`: the first operand is a pattern, not a file. `files`: operands are files.
    `recursive` names flags with which it reads whole trees (`*`: always). `no_folders`: of a
    directory it would read the files, links included.
    """

    letters: str = ""
    words: frozenset[str] = frozenset()
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    operands: int = 100
    files: bool = True
    first_is_text: bool = False
    recursive: frozenset[str] = frozenset()
    no_folders: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a safe command reads: the `files` that it names, and whether whole trees.

    `no_folders`: none of them may be a directory.
    """

    files: tuple[str, ...]
    recursive: bool
    no_folders: bool = False


_SEARCH_VALUES = {"-e": _TEXT, "-A": _NUMBER, "-B": _NUMBER, "-C": _NUMBER, "-m": _NUMBER}
_NO_FILES = SafeCommand(files=False)
_NOTHING = SafeCommand(operands=0)
_SUM = SafeCommand()
_ENDS = SafeCommand("qv0123456789", values={"-n": _NUMBER, "-c": _NUMBER})

_SAFE: Mapping[str, SafeCommand] = {
    "pwd": SafeCommand("LP", operands=0),
    "true": _NOTHING,
    "false": _NOTHING,
    "whoami": _NOTHING,
    "uname": SafeCommand("asnrvmo", operands=0),
    "id": SafeCommand("ugnGr", operands=1, files=False),
    "ls": SafeCommand("aAl1hdFinstrS", frozenset({"--all", "--color=never"})),
    "cat": SafeCommand("nbsAET"),
    "head": _ENDS,
    "tail": _ENDS,
    "wc": SafeCommand("lwcmL"),
    "nl": SafeCommand(),
    "cut": SafeCommand("s", values={"-d": r".", "-f": r"[0-9,-]+", "-c": r"[0-9,-]+"}),
    "tr": SafeCommand("dsc", operands=2, files=False),
    "rev": SafeCommand(),
    "tac": SafeCommand(),
    "stat": SafeCommand("L", values={"-c": _TEXT}),
    "basename": _NO_FILES,
    "dirname": _NO_FILES,
    "realpath": SafeCommand("emqsz"),
    "sha256sum": _SUM,
    "md5sum": _SUM,
    "grep": SafeCommand(
        "rnilcEFwvohHqsx",
        values=_SEARCH_VALUES,
        first_is_text=True,
        recursive=frozenset({"r"}),
    ),
    "rg": SafeCommand(
        "nilcFwvoHqsx",
        values=_SEARCH_VALUES,
        first_is_text=True,
        recursive=frozenset({"*"}),
    ),
    "sort": SafeCommand("nru", values={"-k": r"[0-9]+[a-zA-Z]*(,[0-9]+[a-zA-Z]*)?", "-t": r"."}),
    "uniq": SafeCommand("cdui", operands=1),
    "diff": SafeCommand("uqbBw", operands=2, no_folders=True),
    "echo": SafeCommand("n", files=False),
    "which": SafeCommand("a", files=False),
}

_FIND_VALUES: Mapping[str, str] = {
    "-name": _NAME,
    "-iname": _NAME,
    "-path": _NAME,
    "-type": r"[fdl]",
    "-maxdepth": r"[0-9]{1,3}",
    "-mindepth": r"[0-9]{1,3}",
    "-size": r"[+]?[0-9]{1,12}[bcwkMG]?",
    "-newer": _NAME,
}
_SED_PRINT = re.compile(r"[0-9]{1,9}(,([0-9]{1,9}|\$))?p")


def is_safe(argv: Argv) -> str | None:
    """Why the command only reads; None if that is not known."""
    return None if reading(argv) is None else f"`{argv[0]}` with these flags only reads"


def reading(argv: Argv) -> Reading | None:
    """What the command reads if it is in the table; None if it is not."""
    match argv:
        case ("find", *rest):
            return _find(rest)
        case ("sed", "-n", script, *files):
            if not _SED_PRINT.fullmatch(script) or any(word.startswith("-") for word in files):
                return None
            return Reading(tuple(files), recursive=False)
        case (program, *rest) if program in _SAFE:
            return _table(_SAFE[program], rest)
        case _:
            return None


def _table(entry: SafeCommand, rest: list[str]) -> Reading | None:
    operands: list[str] = []
    recursive = "*" in entry.recursive
    text_given = not entry.first_is_text
    waiting = iter(rest)
    for word in waiting:
        if not word.startswith("-"):
            operands.append(word)
        elif word in entry.values:
            if not re.fullmatch(entry.values[word], next(waiting, "")):
                return None
            text_given = text_given or word == "-e"
        elif _known_flag(entry, word):
            recursive = recursive or bool(set(word) & entry.recursive)
        else:
            return None
    if len(operands) > entry.operands or (not text_given and not operands):
        return None
    files = operands if text_given else operands[1:]
    return Reading(tuple(files) if entry.files else (), recursive, entry.no_folders)


def _known_flag(entry: SafeCommand, word: str) -> bool:
    if word in entry.words:
        return True
    letters = word[1:]
    if letters and not letters.startswith("-") and set(letters) <= set(entry.letters):
        return True
    flag, value = word[:2], word[2:]
    return bool(value) and flag in entry.values and _attached(entry.values[flag], value)


def _attached(pattern: str, value: str) -> bool:
    # Only values of a closed form may be attached: "-n5", never "-efoo".
    return pattern != _TEXT and bool(re.fullmatch(pattern, value))


def _find(rest: list[str]) -> Reading | None:
    places: list[str] = []
    waiting = iter(rest)
    in_expression = False
    for word in waiting:
        if not word.startswith("-"):
            if in_expression or word[:1] in {"!", "(", ")", ","}:
                return None
            places.append(word)
            continue
        in_expression = True
        if word == "-print":
            continue
        if word not in _FIND_VALUES or not re.fullmatch(_FIND_VALUES[word], next(waiting, "")):
            return None
    return Reading(tuple(places) or (".",), recursive=False)
