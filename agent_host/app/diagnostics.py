"""What is wrong with an open role, skill or prompt file, shown on the file itself."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from agent_host.core.model import JsonObject

_SEVERITY = {"error": 1, "warning": 2}


class FileProblem(Protocol):
    """A problem in a file; `line` counts from 1."""

    @property
    def line(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def severity(self) -> Literal["error", "warning"]: ...


class FileDiagnostics:
    """Publishes the problems of open files; `notify` sends a notification to the editor.

    `find` tells what is wrong with the text of a path, None for a file that is none of ours.
    """

    def __init__(
        self,
        notify: Callable[[str, JsonObject], None],
        find: Callable[[str, str], Sequence[FileProblem] | None],
    ) -> None:
        self._notify = notify
        self._find = find
        self._shown: set[str] = set()

    def show(self, uri: str, path: str, text: str) -> None:
        """Show what is wrong with this text of a file, or that nothing is."""
        problems = self._find(path, text)
        if problems is None:
            return
        lines = text.splitlines()
        self._shown.add(uri)
        self._publish(uri, [_diagnostic(problem, lines) for problem in problems])

    def clear(self, uri: str) -> None:
        """The file is not open any more."""
        if uri in self._shown:
            self._shown.discard(uri)
            self._publish(uri, [])

    def _publish(self, uri: str, diagnostics: list[JsonObject]) -> None:
        self._notify("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": diagnostics})


def _diagnostic(problem: FileProblem, lines: list[str]) -> JsonObject:
    line = min(max(problem.line - 1, 0), max(len(lines) - 1, 0))
    # In UTF-16 units, which is at least the length in any other encoding but UTF-8; clients clamp.
    end = len(lines[line].encode("utf-16-le")) // 2 if lines else 0
    return {
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": end}},
        "severity": _SEVERITY[problem.severity],
        "source": "agent-host",
        "message": problem.reason,
    }
