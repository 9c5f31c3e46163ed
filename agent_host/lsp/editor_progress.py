"""Shows runs as the editor's own progress, which has a Cancel button.

A run never waits for it and goes on when the editor doesn't play along. Tokens are never used
twice. Not here: what cancelling does (a callback).
"""

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from agent_host.lsp.editor_traits import Traits
from agent_host.lsp.host import Edge, EditorError

_CREATE_SECONDS = 2.0
_SECONDS_BETWEEN = 0.25


@dataclass(slots=True)
class _Shown:
    """One run's progress; `begun` is False while the editor has not agreed to it yet."""

    token: str | int
    begun: bool = False
    reported_at: float = float("-inf")
    waiting: asyncio.TimerHandle | None = None


class Progress:
    """The progress of all runs."""

    def __init__(self, edge: Edge, traits: Traits, on_cancel: Callable[[str], None]) -> None:
        self._edge = edge
        self._may_create = traits.shows_progress
        self._on_cancel = on_cancel
        self._shown: dict[str, _Shown] = {}

    def begin(self, run_id: str, title: str, token: str | int | None) -> None:
        """Show a run, by the token that its request brought or by one that is created now."""
        if token is not None:
            shown = self._shown[run_id] = _Shown(token)
            self._begin(shown, title)
        elif self._may_create:
            shown = self._shown[run_id] = _Shown(str(uuid.uuid4()))
            self._edge.tasks.create_task(self._create(run_id, shown, title))

    def report(self, run_id: str, message: str) -> None:
        """Change the line of text, a few times a second; the latest one always arrives."""
        shown = self._shown.get(run_id)
        if shown is None or not shown.begun:
            return
        if shown.waiting is not None:
            shown.waiting.cancel()
        loop = asyncio.get_running_loop()
        due = shown.reported_at + _SECONDS_BETWEEN
        if loop.time() >= due:
            self._report(shown, message)
        else:
            shown.waiting = loop.call_at(due, self._report, shown, message)

    def end(self, run_id: str, message: str) -> None:
        """Take a run away."""
        shown = self._shown.pop(run_id, None)
        if shown is None:
            return
        if shown.waiting is not None:
            shown.waiting.cancel()
        if shown.begun:
            self._send(shown, {"kind": "end", "message": message})

    def cancelled(self, token: str | int) -> None:
        """The user pressed Cancel."""
        for run_id, shown in tuple(self._shown.items()):
            if shown.token == token:
                self._on_cancel(run_id)

    async def _create(self, run_id: str, shown: _Shown, title: str) -> None:
        try:
            await self._edge.ask(
                "window/workDoneProgress/create", {"token": shown.token}, _CREATE_SECONDS
            )
        except (EditorError, TimeoutError):
            return
        if self._shown.get(run_id) is shown:
            self._begin(shown, title)

    def _begin(self, shown: _Shown, title: str) -> None:
        shown.begun = True
        self._send(shown, {"kind": "begin", "title": title, "cancellable": True})

    def _report(self, shown: _Shown, message: str) -> None:
        shown.waiting = None
        shown.reported_at = asyncio.get_running_loop().time()
        self._send(shown, {"kind": "report", "message": message, "cancellable": True})

    def _send(self, shown: _Shown, value: dict[str, object]) -> None:
        self._edge.notify("$/progress", {"token": shown.token, "value": value})
