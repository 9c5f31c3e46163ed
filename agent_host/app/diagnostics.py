"""What is wrong with an open role file, shown on the file itself."""

from collections.abc import Callable

from agent_host.core.model import JsonObject, RoleProblem
from agent_host.fields.reader import ParseRules
from agent_host.roles import role_problems

_SEVERITY = {"error": 1, "warning": 2}


class RoleDiagnostics:
    """Publishes the problems of open role files; `notify` sends a notification to the editor."""

    def __init__(self, notify: Callable[[str, JsonObject], None], parse_rules: ParseRules) -> None:
        self._notify = notify
        self._parse_rules = parse_rules

    def show(self, uri: str, path: str, text: str) -> None:
        """Show what is wrong with this text of a role file, or that nothing is."""
        problems = role_problems(path, text, self._parse_rules)
        lines = text.splitlines()
        self._publish(uri, [_diagnostic(problem, lines) for problem in problems])

    def clear(self, uri: str) -> None:
        """The file is not open any more."""
        self._publish(uri, [])

    def _publish(self, uri: str, diagnostics: list[JsonObject]) -> None:
        self._notify("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": diagnostics})


def _diagnostic(problem: RoleProblem, lines: list[str]) -> JsonObject:
    line = min(max(problem.line - 1, 0), max(len(lines) - 1, 0))
    # In UTF-16 units, which is at least the length in any other encoding but UTF-8; clients clamp.
    end = len(lines[line].encode("utf-16-le")) // 2 if lines else 0
    return {
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": end}},
        "severity": _SEVERITY[problem.severity],
        "source": "agent-host",
        "message": problem.reason,
    }
