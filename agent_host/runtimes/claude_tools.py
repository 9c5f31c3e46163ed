"""The claude CLI's own tools in our words, so that the gate can judge what the CLI is to do itself.

Only tools that can be told so are switched on. Not here: the gate, and our own tools.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agent_host.core.model import JsonObject, ToolCall

_DEFAULT_SECONDS = 120


def wish(name: str, given: JsonObject, call_id: str) -> ToolCall | None:
    """The CLI's wish as one of ours; None for a tool that has no counterpart."""
    found = _KNOWN.get(name)
    if found is None:
        return None
    tool, arguments = found
    return ToolCall(call_id, tool, arguments(given))


def _read(given: JsonObject) -> JsonObject:
    return {"path": given.get("file_path")}


def _write(given: JsonObject) -> JsonObject:
    return {"path": given.get("file_path"), "text": given.get("content")}


def _edit(given: JsonObject) -> JsonObject:
    edit = {"old": given.get("old_string"), "new": given.get("new_string")}
    return {"path": given.get("file_path"), "edits": [edit]}


def _bash(given: JsonObject) -> JsonObject:
    milliseconds = given.get("timeout")
    seconds = _DEFAULT_SECONDS
    if isinstance(milliseconds, int | float):
        seconds = max(1, int(milliseconds) // 1000)
    # It runs outside our sandbox, so that it has the network in any case.
    return {"command": given.get("command"), "timeout": seconds, "network": True}


def _glob(given: JsonObject) -> JsonObject:
    return {"path": given["path"]} if given.get("path") else {}


def _grep(given: JsonObject) -> JsonObject:
    return {"pattern": given.get("pattern"), **_glob(given)}


_KNOWN: Mapping[str, tuple[str, Callable[[JsonObject], JsonObject]]] = MappingProxyType(
    {
        "Bash": ("terminal_run", _bash),
        "Edit": ("fs_edit", _edit),
        "Glob": ("fs_list", _glob),
        "Grep": ("fs_search", _grep),
        "Read": ("fs_read", _read),
        "Write": ("fs_write", _write),
    }
)

NATIVE = tuple(_KNOWN)
"""The CLI's own tools that can be judged."""
