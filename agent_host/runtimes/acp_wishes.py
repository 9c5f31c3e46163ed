"""What an ACP agent wishes, in our words, so that the gate can judge it. Pure.

A wish that can't be told whole has no counterpart and is refused. Not here: the gate.
"""

import json
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import cast

from agent_host.core.model import JsonObject, ToolCall
from agent_host.runtimes.acp_peer import as_object, objects
from agent_host.runtimes.mcp_tools import SERVER_NAME

ACTING = frozenset({"edit", "delete", "move", "execute"})
"""The kinds of tool calls that change something."""

MOST_PRINTED = 100_000
"""Characters of a command's output that are kept; the last ones."""

_PLACE = re.compile(r"\[(?:in|current working directory) ([^\[\]]+)\]")
_PATHS = ("path", "file_path", "filePath", "filepath", "abs_path", "absolute_path")


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A tool call of the agent's own, as far as it has told of it."""

    call_id: str
    kind: str = "other"
    title: str = ""
    status: str = "pending"
    given: JsonObject = field(default_factory=lambda: MappingProxyType({}))
    content: tuple[JsonObject, ...] = ()
    places: tuple[str, ...] = ()
    printed: str = ""
    result: object = None

    def told(self, update: Mapping[str, object]) -> "AgentCall":
        """With what an update says; what it leaves out stays."""
        given = as_object(update.get("rawInput"))
        content = objects(update.get("content"))
        places = [str(each.get("path", "")) for each in objects(update.get("locations"))]
        printed = as_object(as_object(update.get("_meta")).get("terminal_output_delta"))
        return replace(
            self,
            kind=str(update.get("kind") or self.kind),
            title=str(update.get("title") or self.title),
            status=str(update.get("status") or self.status),
            given=given or self.given,
            content=tuple(content) or self.content,
            places=tuple(each for each in places if each) or self.places,
            printed=(self.printed + str(printed.get("data", "")))[-MOST_PRINTED:],
            result=update.get("rawOutput") or self.result,
        )

    @property
    def paths(self) -> frozenset[str]:
        """The files that it names."""
        found = [*self.places, *(str(each.get("path", "")) for each in _diffs(self))]
        found += [value for key in _PATHS if isinstance(value := self.given.get(key), str)]
        return frozenset(each for each in found if each)

    @property
    def text(self) -> str:
        """What it has given so far, for the conversation."""
        parts = [as_object(each.get("content")).get("text") for each in self.content]
        text = "\n".join(part for part in parts if isinstance(part, str)) or self.printed
        return text or (json.dumps(self.result) if self.result else "")


def wish(call: AgentCall, *, titled: bool = False) -> ToolCall | None:
    """The wish as one of our tools; None for one that has no counterpart.

    `titled`: the title of a command is all of it, and its text begins with its folder.
    """
    by_title = titled and call.kind == "execute" and not call.given
    found = _titled(call) if by_title else _wish(call)
    return None if found is None else ToolCall(call.call_id, *found)


def choice(options: object, *, allowed: bool) -> str | None:
    """The option that says so, for this once; None: there is none.

    `allow_always` is never chosen: the agent would not ask again.
    """
    kinds = ("allow_once",) if allowed else ("reject_once", "reject_always")
    for kind in kinds:
        for option in objects(options):
            name = option.get("optionId")
            if option.get("kind") == kind and isinstance(name, str):
                return name
    return None


def comes_to_us(call: AgentCall, names: frozenset[str]) -> bool:
    """Whether it is a call of one of these tools, which our own MCP server offers.

    Each agent tells that in its own way; a command with such a title is a command.
    """
    given, server = call.given, SERVER_NAME
    if call.kind == "execute":
        said = (given.get("server"), given.get("tool"), given.get("command"))
        return said[0] == server and said[1] in names and said[2] is None
    titles = ("mcp__{1}__{0}", "{0} ({1} MCP Server)", "{1}_{0}")
    return call.kind == "other" and any(
        call.title == title.format(name, server) for name in names for title in titles
    )


def line_of(call: AgentCall) -> str:
    """The line of a command; its title if nothing else tells it."""
    command = call.given.get("command", call.given.get("cmd"))
    if isinstance(command, list):
        return shlex.join(_words(cast("list[object]", command)))
    return command if isinstance(command, str) else call.title


def only_runs(line: str, programs: Mapping[str, Collection[str]]) -> bool:
    """Whether a line is plain commands of these programs only, without the words named for each."""
    if any(mark in line for mark in "`$<>()\\"):
        return False
    try:
        commands = [shlex.split(each) for each in re.split(r"[;|&\n]+", line) if each.strip()]
    except ValueError:
        return False  # a mark may be in quotes; then what is around it is no command
    return bool(commands) and all(
        words[0] in programs
        and not {word.split("=")[0] for word in words} & set(programs[words[0]])
        for words in commands
    )


def command_line(params: JsonObject) -> str:
    """What `terminal/create` asks for, as a line for the shell."""
    arguments = params.get("args")
    words = _words(cast("list[object]", arguments)) if isinstance(arguments, list) else []
    command = str(params.get("command", ""))
    line = shlex.join([command, *words]) if words else command
    given = [(str(each.get("name")), str(each.get("value"))) for each in objects(params.get("env"))]
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in given)
    if not settings:
        return line
    return f"{settings} {line}" if words else f"export {settings}; {line}"


def _words(value: list[object]) -> list[str]:
    return [str(word) for word in value]


def _wish(call: AgentCall) -> tuple[str, JsonObject] | None:
    match call.kind:
        case "execute":
            return _execute(call)
        case "edit":
            return _edit(call)
        case "read":
            path = _only_path(call)
            return None if path is None else ("fs_read", {"path": path})
        case "delete":
            path = _only_path(call)
            return None if path is None else ("fs_delete", {"path": path})
        case "search":
            pattern = call.given.get("pattern")
            path = _only_path(call)
            where = {} if path is None else {"path": path}
            if isinstance(pattern, str):
                return "fs_search", {"pattern": pattern, **where}
            return "fs_list", where
        case _:
            return None


def _execute(call: AgentCall) -> tuple[str, JsonObject] | None:
    command = line_of(replace(call, title=""))
    if not command.strip():
        return None
    cwd = call.given.get("cwd", call.given.get("workdir"))
    # It runs outside our sandbox, so that it has the network in any case.
    where = {"cwd": cwd} if isinstance(cwd, str) and cwd else {}
    return "terminal_run", {"command": command, "network": True, **where}


def _titled(call: AgentCall) -> tuple[str, JsonObject] | None:
    place = _PLACE.match(call.text)
    if place is None or not call.title.strip():
        return None
    return "terminal_run", {"command": call.title, "network": True, "cwd": place[1]}


def _edit(call: AgentCall) -> tuple[str, JsonObject] | None:
    diffs: dict[str, list[JsonObject]] = {}
    for diff in _diffs(call):
        diffs.setdefault(str(diff.get("path", "")), []).append(diff)
    if not diffs:
        path = _only_path(call)
        return None if path is None else _edit_by_input(path, call.given)
    files = [_edit_by_diffs(path, of) for path, of in diffs.items()]
    known = [each for each in files if each is not None]
    if "" in diffs or len(known) < len(files):
        return None
    if len(known) > 1:
        return "fs_edit_files", {"files": known}
    return "fs_write" if "text" in known[0] else "fs_edit", known[0]


def _edit_by_diffs(path: str, diffs: list[JsonObject]) -> JsonObject | None:
    """The change of one file."""
    old, new = diffs[0].get("oldText"), diffs[0].get("newText")
    if not old:
        text_is_whole = len(diffs) == 1 and isinstance(new, str)
        return {"path": path, "text": new} if text_is_whole else None
    edits = [{"old": diff.get("oldText"), "new": diff.get("newText")} for diff in diffs]
    return {"path": path, "edits": edits}


def _edit_by_input(path: str, given: JsonObject) -> tuple[str, JsonObject] | None:
    for old, new in (("old_string", "new_string"), ("oldString", "newString")):
        if old in given and new in given:
            return "fs_edit", {"path": path, "edits": [{"old": given[old], "new": given[new]}]}
    content = given.get("content")
    return ("fs_write", {"path": path, "text": content}) if isinstance(content, str) else None


def _diffs(call: AgentCall) -> list[JsonObject]:
    return [each for each in call.content if each.get("type") == "diff"]


def _only_path(call: AgentCall) -> str | None:
    return next(iter(call.paths)) if len(call.paths) == 1 else None
