"""The one ordered stream of a run's deltas: numbered, merged while the editor is behind.

`seq` counts from 1 without gaps, Ended is the last and comes exactly once. Only consecutive text,
reasoning or output of one call is ever merged; nothing is dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent_host.core.events import Delta, Ended, NumberedDelta, Reasoning, Text, ToolOutput
from agent_host.core.model import Origin

Mergeable = Text | Reasoning | ToolOutput

BEHIND = 64 * 1024
"""Bytes of backlog above which deltas are merged."""

FULL = 64 * 1024 * 1024
"""Bytes held back for one run above which it is given up."""


class DeltaOutlet(Protocol):
    """The part of the Editor port that takes deltas."""

    def send(self, delta: NumberedDelta) -> None:
        """Queue a delta; never blocks."""

    def backlog(self) -> int:
        """Bytes queued that the editor has not read yet."""
        ...

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once the backlog has shrunk; returns how to unsubscribe."""
        ...


class DeltaStream:
    """Numbers and sends the deltas of one run.

    `keep` gets every delta that is sent, for the store. `overflow` is called once when the editor
    has not read for so long that the run must end.
    """

    def __init__(
        self,
        *,
        session_id: str,
        run_id: str,
        outlet: DeltaOutlet,
        keep: Callable[[NumberedDelta], None],
        overflow: Callable[[], None],
        stream: bool = True,
    ) -> None:
        self._session_id = session_id
        self._run_id = run_id
        self._outlet = outlet
        self._keep = keep
        self._overflow = overflow
        self._stream = stream
        self._seq = 0
        self._held: _Held | None = None
        self._ended = False
        self._unsubscribe = outlet.on_drained(self._drained)

    @property
    def ended(self) -> bool:
        """Whether Ended was sent."""
        return self._ended

    def send(self, origin: Origin, delta: Delta) -> None:
        """Send a delta now, or merge it with what waits. After Ended nothing is sent."""
        if self._ended or (not self._stream and isinstance(delta, Text | Reasoning)):
            return
        if not isinstance(delta, Mergeable):
            self._release()
            self._emit(origin, delta)
        elif self._held is not None and self._held.joins(origin, delta):
            self._hold(self._held, delta)
        else:
            self._release()
            if self._outlet.backlog() > BEHIND:
                self._held = _Held(origin, delta)
                self._hold(self._held, delta)
            else:
                self._emit(origin, delta)
        if isinstance(delta, Ended):
            self._ended = True
            self._unsubscribe()

    def _hold(self, held: "_Held", delta: Mergeable) -> None:
        held.parts.append(delta.text)
        held.size += len(delta.text)
        if held.size > FULL:
            self._overflow()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._emit(held.origin, replace(held.first, text="".join(held.parts)))

    def _drained(self) -> None:
        if self._held is not None and self._outlet.backlog() <= BEHIND:
            self._release()

    def _emit(self, origin: Origin, delta: Delta) -> None:
        self._seq += 1
        numbered = NumberedDelta(self._session_id, self._run_id, self._seq, origin, delta)
        self._outlet.send(numbered)
        self._keep(numbered)


@dataclass(slots=True)
class _Held:
    """Deltas of one kind and origin that wait to be sent as one."""

    origin: Origin
    first: Mergeable
    parts: list[str] = field(default_factory=list[str])
    size: int = 0

    def joins(self, origin: Origin, delta: Mergeable) -> bool:
        if origin != self.origin or type(delta) is not type(self.first):
            return False
        if isinstance(self.first, ToolOutput) and isinstance(delta, ToolOutput):
            return (self.first.call_id, self.first.stream) == (delta.call_id, delta.stream)
        return True
