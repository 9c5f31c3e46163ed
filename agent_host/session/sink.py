"""What a runtime says while it runs, as deltas. Nothing here blocks or raises."""

from collections.abc import Callable, Sequence
from typing import Protocol

from agent_host.core.events import (
    Compacted,
    Delta,
    Logged,
    PlanEntry,
    Planned,
    Reasoning,
    Retried,
    Text,
)
from agent_host.core.model import JsonObject, Usage


class Remember(Protocol):
    """Keeps items of the conversation; with `boundary` they replace all that was kept before."""

    def __call__(self, items: Sequence[JsonObject], *, boundary: bool = False) -> None: ...


class Sink:
    """The RunSink of one run. `said` is the text since the last tool call, what a stopped run
    has for an answer.
    """

    def __init__(
        self,
        tell: Callable[[Delta], None],
        remember: Remember,
        add_usage: Callable[[Usage], None],
        set_usage: Callable[[Usage], None],
        show_life: Callable[[], None],
    ) -> None:
        self._tell = tell
        self._remember = remember
        self._add_usage = add_usage
        self._set_usage = set_usage
        self._show_life = show_life
        self._parts: list[str] = []
        self.exit_code: int | None = None
        self.signal: str | None = None

    @property
    def said(self) -> str:
        """The text of the answer so far."""
        return "".join(self._parts)

    def text(self, text: str) -> None:
        self._parts.append(text)
        self._tell(Text(text))

    def reasoning(self, text: str) -> None:
        self._tell(Reasoning(text))

    def usage(self, usage: Usage) -> None:
        self._add_usage(usage)

    def total(self, usage: Usage) -> None:
        self._set_usage(usage)

    def log(self, source: str, text: str) -> None:
        self._tell(Logged(source, text))

    def retry(self, reason: str, wait_seconds: float) -> None:
        self._parts.clear()
        self._tell(Retried(reason, wait_seconds))

    def plan(self, entries: Sequence[PlanEntry]) -> None:
        self._tell(Planned(tuple(entries)))

    def remember(self, items: Sequence[JsonObject]) -> None:
        self._remember(items)
        if any("output" in item for item in items):
            self._parts.clear()  # a tool has answered: what was said before is not the answer

    def compacted(self, how: Compacted, items: Sequence[JsonObject]) -> None:
        self._remember(items, boundary=True)
        self._tell(how)

    def alive(self) -> None:
        self._show_life()

    def exited(self, exit_code: int | None, signal: str | None) -> None:
        self.exit_code, self.signal = exit_code, signal
