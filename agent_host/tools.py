"""The catalogue of tools: what the model is shown, and how its wish becomes an Action.

The schemas are closed: an argument that is not listed is an error, so that nothing a model adds
can change how it is judged. Not here: whether it may be done (permissions), how (session).
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from agent_host.core.actions import (
    Action,
    CreateDirectory,
    DeletePath,
    EditFile,
    ListDirectory,
    OpenInEditor,
    ReadFile,
    Replacement,
    Risk,
    RunCommand,
    SearchFiles,
    WriteFile,
)
from agent_host.core.model import JsonObject, ToolCall, ToolSpec
from agent_host.core.uris import is_uri, uri_to_path

MAX_TIMEOUT = 600.0
DEFAULT_TIMEOUT = 120.0


class ToolProblem(Exception):
    """The wish can't be understood; the sentence is for the model."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: `action` is the name that rules and roles use for what it does."""

    name: str
    action: str
    risk: Risk
    description: str
    properties: Mapping[str, JsonObject]
    required: tuple[str, ...]
    build: "Callable[[_Arguments], Action]"

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return ToolSpec(
            self.name,
            self.description,
            {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
        )


def specs(actions: Iterable[str]) -> tuple[ToolSpec, ...]:
    """The tools for these actions, in the catalogue's order."""
    wanted = frozenset(actions)
    return tuple(tool.spec for tool in CATALOGUE if tool.action in wanted)


def find(name: str) -> Tool | None:
    """The tool of that name."""
    return next((tool for tool in CATALOGUE if tool.name == name), None)


def parse(call: ToolCall, cwd: str) -> Action:
    """What the model wishes to be done; relative paths start at `cwd`. Raises ToolProblem."""
    tool = find(call.name)
    if tool is None:
        known = ", ".join(tool.name for tool in CATALOGUE)
        raise ToolProblem(f"There is no tool {call.name!r}. The tools are: {known}.")
    if call.problem is not None:
        raise ToolProblem(f"The arguments of {call.name} can't be read: {call.problem}")
    unknown = sorted(set(call.arguments) - set(tool.properties))
    if unknown:
        allowed = ", ".join(tool.properties)
        raise ToolProblem(f"{call.name} has no argument {unknown[0]!r}. It takes: {allowed}.")
    for name in tool.required:
        if name not in call.arguments:
            raise ToolProblem(f"{call.name} needs the argument {name!r}.")
    return tool.build(_Arguments(call, cwd))


def title(action: Action) -> str:  # noqa: PLR0911 - one line for each action
    """One line for people that says what is wished; made of the model's words as they are."""
    match action:
        case ReadFile(path):
            return f"Read {path}"
        case ListDirectory(path):
            return f"List {path}"
        case SearchFiles(pattern, path):
            return f"Search {pattern!r} in {path}"
        case WriteFile(path):
            return f"Write {path}"
        case EditFile(path):
            return f"Edit {path}"
        case CreateDirectory(path):
            return f"Create the directory {path}"
        case DeletePath(path):
            return f"Delete {path}"
        case RunCommand(command):
            return f"Run {command}"
        case OpenInEditor(path):
            return f"Open {path}"


# ---- reading arguments


class _Arguments:
    """The arguments of one call, taken by name and type."""

    def __init__(self, call: ToolCall, cwd: str) -> None:
        self._call = call
        self._cwd = cwd

    def text(self, name: str, default: str | None = None) -> str:
        value = self._call.arguments.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "text")
        return value

    def optional_text(self, name: str) -> str | None:
        value = self._call.arguments.get(name)
        return None if value is None else self.text(name)

    def path(self, name: str, default: str | None = None) -> str:
        text = self.text(name, default)
        if not text.strip():
            raise self._wrong(name, "a path")
        if is_uri(text):
            return uri_to_path(text) or text
        return os.path.normpath(os.path.join(self._cwd, text))  # noqa: PTH118

    def whole(self, name: str, default: int | None = None, *, low: int = 1) -> int | None:
        value = self._call.arguments.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise self._wrong(name, "a whole number")
        if value < low:
            raise self._wrong(name, f"{low} or more")
        return int(value)

    def flag(self, name: str) -> bool:
        value = self._call.arguments.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def replacements(self, name: str) -> tuple[Replacement, ...]:
        value = self._call.arguments.get(name)
        if not isinstance(value, list) or not value:
            raise self._wrong(name, "a list of {old, new}")
        return tuple(self._replacement(name, item) for item in cast("list[object]", value))

    def _replacement(self, name: str, item: object) -> Replacement:
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        old, new = entry.get("old"), entry.get("new")
        if set(entry) != {"old", "new"} or not isinstance(old, str) or not isinstance(new, str):
            raise self._wrong(name, "a list of objects with the texts `old` and `new`, no more")
        return Replacement(old, new)

    def _wrong(self, name: str, wanted: str) -> ToolProblem:
        return ToolProblem(f"The argument {name!r} of {self._call.name} must be {wanted}.")


def _read(given: _Arguments) -> Action:
    return ReadFile(given.path("path"), given.whole("offset", 1) or 1, given.whole("limit"))


def _list(given: _Arguments) -> Action:
    return ListDirectory(given.path("path", "."), given.whole("depth", 1) or 1)


def _search(given: _Arguments) -> Action:
    return SearchFiles(
        given.text("pattern"),
        given.path("path", "."),
        given.optional_text("glob"),
        given.flag("ignoreCase"),
    )


def _write(given: _Arguments) -> Action:
    return WriteFile(given.path("path"), given.text("text"))


def _edit(given: _Arguments) -> Action:
    return EditFile(given.path("path"), given.replacements("edits"))


def _create_directory(given: _Arguments) -> Action:
    return CreateDirectory(given.path("path"))


def _delete(given: _Arguments) -> Action:
    return DeletePath(given.path("path"))


def _run(given: _Arguments) -> Action:
    timeout = given.whole("timeout", int(DEFAULT_TIMEOUT)) or int(DEFAULT_TIMEOUT)
    return RunCommand(
        given.text("command"),
        given.path("cwd", "."),
        min(float(timeout), MAX_TIMEOUT),
        given.flag("network"),
    )


def _open(given: _Arguments) -> Action:
    return OpenInEditor(given.path("path"), given.whole("line"))


# ---- the catalogue


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def _whole(description: str) -> JsonObject:
    return {"type": "integer", "minimum": 1, "description": description}


def _flag(description: str) -> JsonObject:
    return {"type": "boolean", "description": description}


_PATH = _text("A path, relative to the working directory or absolute.")
_DIRECTORY = _text("A directory; the working directory if left out.")

CATALOGUE = (
    Tool(
        "fs_read",
        "fs.read",
        "low",
        "Read a text file as it is in the editor now, unsaved changes included. Lines are "
        "numbered from 1 in the answer; the numbers are not part of the text.",
        {
            "path": _PATH,
            "offset": _whole("The first line to read."),
            "limit": _whole("How many lines to read."),
        },
        ("path",),
        _read,
    ),
    Tool(
        "fs_list",
        "fs.list",
        "low",
        "List a directory. Directories end with a slash; ignored files are left out.",
        {"path": _DIRECTORY, "depth": _whole("How many levels to list; 1 if left out.")},
        (),
        _list,
    ),
    Tool(
        "fs_search",
        "fs.search",
        "low",
        "Search text in files by a regular expression (no look-around, no back-references), "
        "unsaved changes included.",
        {
            "pattern": _text("The regular expression."),
            "path": _text("A file or directory; the working directory if left out."),
            "glob": _text("Only files whose name matches this glob, such as *.py."),
            "ignoreCase": _flag("Whether upper and lower case are the same."),
        },
        ("pattern",),
        _search,
    ),
    Tool(
        "fs_write",
        "fs.write",
        "medium",
        "Write a whole file, new or not. To change a part of a file use fs_edit.",
        {"path": _PATH, "text": _text("The whole text of the file.")},
        ("path", "text"),
        _write,
    ),
    Tool(
        "fs_edit",
        "fs.write",
        "medium",
        "Replace exact pieces of a file's text. Each `old` must occur exactly once in the file "
        "as it is now; give enough of the text around it. All edits are made, or none.",
        {
            "path": _PATH,
            "edits": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "old": _text("The exact text to replace, without line numbers."),
                        "new": _text("What stands there afterwards."),
                    },
                    "required": ["old", "new"],
                    "additionalProperties": False,
                },
            },
        },
        ("path", "edits"),
        _edit,
    ),
    Tool(
        "fs_create_directory",
        "fs.createDirectory",
        "low",
        "Create a directory, with its missing parents.",
        {"path": _PATH},
        ("path",),
        _create_directory,
    ),
    Tool(
        "fs_delete",
        "fs.delete",
        "high",
        "Delete a file, or a directory with everything in it.",
        {"path": _PATH},
        ("path",),
        _delete,
    ),
    Tool(
        "terminal_run",
        "terminal.run",
        "high",
        "Run a shell command and wait for it to end. It has no input and no terminal, and what "
        "it leaves running is ended with it. The answer holds its exit code and its output.",
        {
            "command": _text("The command line, as for bash."),
            "cwd": _DIRECTORY,
            "timeout": _whole("Seconds after which it is stopped; 120 if left out, 600 at most."),
            "network": _flag("Whether it needs the network, which it is not given otherwise."),
        },
        ("command",),
        _run,
    ),
    Tool(
        "editor_open",
        "editor.open",
        "low",
        "Show a file to the person in their editor.",
        {"path": _PATH, "line": _whole("The line to show, from 1.")},
        ("path",),
        _open,
    ),
)
"""All tools, in the order in which a model is shown them."""
