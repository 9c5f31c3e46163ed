"""Reads a shell command line: either plain (a chain of fixed argument lists) or not plain.

An allow-list of syntax: whatever is not understood in full is not plain. What runs is what was
read here (`execution`), not the text. What may run is decided elsewhere.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

Argv = tuple[str, ...]


def words(text: str) -> frozenset[str]:
    """The words of a text as a set: how the tables of programs are written."""
    return frozenset(text.split())


_MAX_BYTES = 4096
_MAX_COMMANDS = 20
_MAX_SEEN = 64 * 1024
_MAX_NAMES = 500
_PRINTABLE = re.compile(r"[\n -~]*")
_ODD = re.compile(r"[^\n -~]")
_NAME = re.compile(r"[\w.@%+/~-]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=,@%+-]+")
_PROGRAM = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*")
_JOINTS = {"program", "list", "pipeline"}
_OPERATORS = {"&&", "||", ";", "|"}
_KEYWORDS = words(
    "if then else elif fi for while until do done case esac select function in time coproc"
)
_NEVER_PLAIN = words(
    "alias unalias eval exec source . command builtin export declare typeset local readonly unset"
    " let test [ printf read mapfile readarray trap enable shopt set hash bind complete compgen"
    " compopt fc history getopts"
)
ONLY_BUILT_IN = words(
    "cd pushd popd dirs umask ulimit exit return break continue : wait jobs fg bg disown suspend"
    " logout times type caller help shift"
)
_MOVES = frozenset({"cd", "pushd", "popd"})


@dataclass(frozen=True, slots=True)
class Plain:
    """A chain of commands without any expansion. `operators` stand between the `parts`.

    Each operator is one of `&&`, `||`, `;`, `|`. `script` is the chain, rebuilt and quoted.
    """

    parts: tuple[Argv, ...]
    operators: tuple[str, ...]
    script: str

    @property
    def moves(self) -> bool:
        """Whether a part changes the directory that later parts run in."""
        return any(part[0] in _MOVES for part in self.parts)

    def fed_by_pipe(self, index: int) -> bool:
        """Whether that part reads what an earlier one prints."""
        return index > 0 and self.operators[index - 1] == "|"


@dataclass(frozen=True, slots=True)
class NotPlain:
    """A command line that was not understood in full; `reason` says what was in the way.

    `seen` are command lists found in it on a best effort, `names` what may be names of files:
    good enough to deny, never to allow.
    """

    reason: str
    seen: tuple[Argv, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """The reader itself failed: nothing may run."""

    reason: str


Parsed = Plain | NotPlain | Unread


@dataclass(frozen=True, slots=True)
class Execution:
    """What to run: `argv` without a shell, or `script` by a fixed bash. Exactly one is set."""

    argv: Argv | None
    script: str | None


def parse(command: str) -> Plain | NotPlain:
    """Read a command line, at most 4 KiB and 20 commands."""
    if reason := _bad_text(command):
        # Without what is odd about it, to see what it runs.
        text = _ODD.sub(" ", command[:_MAX_SEEN].replace("\\\n", "").replace("\\", ""))
        root = _parser().parse(text.encode()).root_node
        return NotPlain(reason, tuple(_seen(text, root)), names_in(command))
    root = _parser().parse(command.encode()).root_node
    try:
        return _read(command, root)
    except _NotPlainError as found:
        return NotPlain(str(found), tuple(_seen(command, root)), names_in(command))


def names_in(text: str) -> tuple[str, ...]:
    """What of any text may be names of files: a script's own `'.env'`, a redirection's target."""
    return tuple(dict.fromkeys(_NAME.findall(text[:_MAX_SEEN])))[:_MAX_NAMES]


def read_command(command: str, parser: Callable[[str], Plain | NotPlain] = parse) -> Parsed:
    """As `parse`, but a parser that fails gives `Unread` instead of raising."""
    try:
        return parser(command)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing may run
        return Unread(f"the command could not be read ({type(error).__name__})")


def execution(parsed: Plain | NotPlain, command: str) -> Execution:
    """What to run for a command line that was approved; the text itself only if not plain."""
    if isinstance(parsed, NotPlain):
        return Execution(None, command)
    if len(parsed.parts) == 1 and parsed.parts[0][0] not in ONLY_BUILT_IN:
        return Execution(parsed.parts[0], None)
    return Execution(None, parsed.script)


class _NotPlainError(Exception):
    """Carries the reason out of the reader."""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _bad_text(command: str) -> str | None:
    if not command.strip():
        return "it is empty"
    if not _PRINTABLE.fullmatch(command):
        return "it holds characters other than plain ASCII"
    if "\\" in command:
        return "it holds a backslash"
    if len(command) > _MAX_BYTES:
        return f"it is longer than {_MAX_BYTES} bytes"
    return None


def _read(command: str, root: Node) -> Plain:
    if root.has_error:
        raise _NotPlainError("it could not be parsed")
    parts: list[Argv] = []
    operators: list[str] = []
    end = 0
    for node in _pieces(root):
        gap = command[end : node.start_byte]
        end = node.end_byte
        if gap.strip(" \n"):
            raise _NotPlainError("it could not be parsed in full")
        if "\n" in gap and node.type == "command" and len(parts) == len(operators) + 1:
            operators.append(";")
        _take(command, node, parts, operators)
    if command[end:].strip(" \n"):
        raise _NotPlainError("it could not be parsed in full")
    if len(parts) == len(operators) and operators[-1:] == [";"]:
        operators.pop()
    if len(parts) != len(operators) + 1:
        raise _NotPlainError("it could not be parsed in full")
    return Plain(tuple(parts), tuple(operators), _script(parts, operators))


def _pieces(node: Node) -> Iterator[Node]:
    """Commands and operators in the order of the text."""
    for child in node.children:
        if child.type in _JOINTS:
            yield from _pieces(child)
        else:
            yield child


def _take(command: str, node: Node, parts: list[Argv], operators: list[str]) -> None:
    if node.type == "command":
        if len(parts) != len(operators):
            raise _NotPlainError("it could not be parsed in full")
        if len(parts) == _MAX_COMMANDS:
            raise _NotPlainError(f"it has more than {_MAX_COMMANDS} commands")
        parts.append(_argv(command, node))
    elif node.type in _OPERATORS:
        if len(parts) != len(operators) + 1:
            raise _NotPlainError("it could not be parsed in full")
        operators.append(node.type)
    else:
        raise _NotPlainError(f"it holds {_name(node)}")


def _name(node: Node) -> str:
    return node.type.replace("_", " ") if node.is_named else f"`{node.type}`"


def _argv(command: str, node: Node) -> Argv:
    argv = tuple(_word(command, child) for child in node.children)
    text = command[node.start_byte : node.end_byte]
    if tuple(shlex.split(text)) != argv:
        raise _NotPlainError("two readers of the command disagree")
    program = argv[0]
    if not _PROGRAM.fullmatch(program):
        raise _NotPlainError(f"{program!r} is not the name of a program")
    if program in _NEVER_PLAIN or program in _KEYWORDS:
        raise _NotPlainError(f"`{program}` changes the shell itself")
    return argv


def _word(command: str, node: Node) -> str:
    text = command[node.start_byte : node.end_byte]
    match node.type:
        case "command_name":
            (child,) = node.children or (None,)
            return _word(command, child) if child else text
        case "word" | "number":
            if not _PLAIN_WORD.fullmatch(text):
                raise _NotPlainError(f"the shell may change the word {text!r}")
            return text
        case "raw_string":
            return text[1:-1]
        case "string":
            if set(text) & set("$`") or any(
                child.type not in {'"', "string_content"} for child in node.children
            ):
                raise _NotPlainError("the shell puts something into a string")
            return text[1:-1]
        case "concatenation":
            return "".join(_word(command, child) for child in node.children)
        case _:
            raise _NotPlainError(f"it holds {_name(node)}")


def _script(parts: list[Argv], operators: list[str]) -> str:
    pieces: list[str] = []
    for part, operator in zip_longest(parts, operators):
        pieces.append(shlex.join(part))
        if operator:
            pieces.append(operator)
    return " ".join(pieces)


def _seen(command: str, root: Node) -> Iterator[Argv]:
    """The words of every command anywhere in the tree, as far as they are fixed."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.children)
        if node.type != "command":
            continue
        argv: list[str] = []
        for child in node.children:
            if child.type in {"file_redirect", "herestring_redirect", "variable_assignment"}:
                continue
            try:
                argv.append(_word(command, child))
            except _NotPlainError:
                argv.append(command[child.start_byte : child.end_byte])
        if argv:
            yield tuple(argv)
