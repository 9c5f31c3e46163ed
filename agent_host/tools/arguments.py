"""Reads the arguments of one tool call, by name and type.

What is not as wanted is a ToolProblem, whose sentence tells the model what is. Relative paths start
at the working directory.
"""

import os
from typing import cast

from agent_host.core.actions import EditFile, FileChange, Replacement, WriteFile
from agent_host.core.model import ToolCall
from agent_host.core.uris import is_uri, uri_to_path


class ToolProblem(Exception):
    """The wish can't be understood; the sentence is for the model."""


class Arguments:
    """The arguments of one call, taken by name and type; or a ToolProblem."""

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

    def files(self, name: str) -> tuple[FileChange, ...]:
        value = self._call.arguments.get(name)
        if not isinstance(value, list) or not value:
            raise self._wrong(name, "a list of {path, edits} or {path, text}")
        files = tuple(self._file(name, item) for item in cast("list[object]", value))
        paths = [each.path for each in files]
        if len(set(paths)) < len(paths):
            raise self._wrong(name, "a list that names each file once")
        return files

    def _file(self, name: str, item: object) -> FileChange:
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        given = Arguments(ToolCall(self._call.call_id, self._call.name, entry), self._cwd)
        if set(entry) == {"path", "edits"}:
            return EditFile(given.path("path"), given.replacements("edits"))
        if set(entry) == {"path", "text"}:
            return WriteFile(given.path("path"), given.text("text"))
        raise self._wrong(name, "a list of objects with `path` and either `edits` or `text`")

    def _replacement(self, name: str, item: object) -> Replacement:
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        old, new = entry.get("old"), entry.get("new")
        if set(entry) != {"old", "new"} or not isinstance(old, str) or not isinstance(new, str):
            raise self._wrong(name, "a list of objects with the texts `old` and `new`, no more")
        return Replacement(old, new)

    def _wrong(self, name: str, wanted: str) -> ToolProblem:
        return ToolProblem(f"The argument {name!r} of {self._call.name} must be {wanted}.")
