"""Shows a run's deltas on a terminal: the answer as it comes, everything else in short lines.

The answer goes to `answer`, all that happens beside it to `side`; both may be one screen.
"""

from collections.abc import Callable, Mapping

from agent_host.client import Delta, RunResult
from agent_host.client.json_values import JsonObject, as_list, as_objects, as_text, as_whole
from agent_host.commands.terminal import Screen

_MARKS = {"ok": "✓", "denied": "✗ denied:", "failed": "✗ failed:", "stopped": "■ stopped:"}
_PLAN_MARKS = {"completed": "[x]", "inProgress": "[>]", "pending": "[ ]"}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class View:
    """Draws one run. `verbose` shows reasons of decisions and a runtime's log too."""

    def __init__(self, answer: Screen, side: Screen, *, verbose: bool = False) -> None:
        self._answer = answer
        self._side = side
        self._verbose = verbose
        self._shown: Mapping[str, Callable[[JsonObject], None]] = {
            "started": self._started,
            "text": self._text,
            "reasoning": self._reasoning,
            "toolCall": self._tool_call,
            "toolOutput": self._tool_output,
            "toolResult": self._tool_result,
            "edit": self._edit,
            "plan": self._plan,
            "log": self._log,
            "retry": self._retry,
            "omitted": self._omitted,
            "compacted": self._compacted,
        }

    def show(self, delta: Delta) -> None:
        """Draw one delta; kinds that say nothing to a person are skipped."""
        draw, data = self._shown.get(delta.kind), delta.data
        path = [as_text(name) for name in as_list(delta.origin.get("path"))]
        if draw is None:
            return
        if len(path) > 1 and delta.kind == "text":
            draw = self._reasoning  # what a called agent says is no part of the answer
        elif len(path) > 1 and delta.kind == "toolCall":
            data = {**data, "title": f"{'/'.join(path)}: {as_text(data.get('title'))}"}
        draw(data)

    def end(self, result: RunResult) -> None:
        """The last line: how it ended and what it used."""
        self._answer.end_line()
        why = as_text(result.raw.get("reason")) or as_text(result.raw.get("limit"))
        why = as_text(result.error.get("error")) if result.error else why
        good = result.status == "completed"
        said = f"{result.status}: {why}" if why else result.status
        self._side.line(f"{said} ({used(result.usage)})", "dim" if good else "red")

    def _started(self, data: JsonObject) -> None:
        self._side.line(f"{as_text(data.get('role'))} · {as_text(data.get('model'))}", "dim")

    def _text(self, data: JsonObject) -> None:
        if self._side is not self._answer:
            self._side.end_line()
        self._answer.write(as_text(data.get("text")))

    def _reasoning(self, data: JsonObject) -> None:
        if self._verbose or self._side.color:
            self._side.write(as_text(data.get("text")), "dim")

    def _tool_call(self, data: JsonObject) -> None:
        self._between()
        self._side.line(f"• {as_text(data.get('title')) or as_text(data.get('name'))}", "cyan")

    def _tool_output(self, data: JsonObject) -> None:
        self._between()
        for line in as_text(data.get("text")).splitlines():
            self._side.line(f"  │ {line}", "dim")

    def _tool_result(self, data: JsonObject) -> None:
        self._between()
        status = as_text(data.get("status"))
        style = "green" if status == "ok" else "red"
        self._side.line(f"  {_MARKS.get(status, status)} {as_text(data.get('summary'))}", style)

    def _edit(self, data: JsonObject) -> None:
        if data.get("state") == "proposed":
            self._between()
            show_diff(self._side, as_text(data.get("diff")))

    def _plan(self, data: JsonObject) -> None:
        self._between()
        for entry in as_objects(data.get("entries")):
            mark = _PLAN_MARKS.get(as_text(entry.get("status")), "[ ]")
            self._side.line(f"{mark} {as_text(entry.get('text'))}")

    def _log(self, data: JsonObject) -> None:
        if self._verbose:
            self._side.line(f"{as_text(data.get('source'))}: {as_text(data.get('text'))}", "dim")

    def _retry(self, data: JsonObject) -> None:
        self._between()
        reason = as_text(data.get("reason"))
        self._side.line(f"asked again ({reason}); the answer begins anew", "yellow")

    def _omitted(self, data: JsonObject) -> None:
        size = f"{as_whole(data.get('size')):,}"
        self._side.line(f"({size} bytes of {as_text(data.get('what'))} left out)", "dim")

    def _compacted(self, data: JsonObject) -> None:
        self._between()
        before, after = as_whole(data.get("before")), as_whole(data.get("after"))
        self._side.line(f"── compacted: {before:,} tokens became {after:,} ──", "yellow")

    def _between(self) -> None:
        self._answer.end_line()


def show_diff(screen: Screen, diff: str) -> None:
    """A unified diff, colored where there is color."""
    for line in diff.splitlines():
        screen.line(f"  {line}", _DIFF_STYLES.get(line[:1]))


def used(usage: JsonObject) -> str:
    """`3 requests, 1,200 tokens in (900 cached), 80 out, $0.0123`; what is not known is said."""
    requests = as_whole(usage.get("requests"))
    cost = usage.get("costUsd")
    about = "about " if usage.get("estimated") else ""
    price = f"{about}${cost:.4f}" if isinstance(cost, int | float) else "price unknown"
    cached = as_whole(usage.get("cachedTokens"))
    reused = f" ({cached:,} cached)" if cached else ""
    return (
        f"{requests} {'request' if requests == 1 else 'requests'}, "
        f"{as_whole(usage.get('inputTokens')):,} tokens in{reused}, "
        f"{as_whole(usage.get('outputTokens')):,} out, {price}"
    )
