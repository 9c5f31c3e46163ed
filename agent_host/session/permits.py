"""What runtimes were permitted to do themselves: each call runs until they say how it went.

A change of a file is written down as if it were made here, so that it can be taken back. Not here:
who permits (gate.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

from agent_host.core.events import Delta, Edited
from agent_host.core.model import ToolResult
from agent_host.session.call import CallLife, stopped
from agent_host.session.changes import Change, Changes
from agent_host.session.ledger import Ledger

PERMITTED = ToolResult("ok", "", "Permitted")
"""In place of a result: the runtime does it."""


@dataclass(frozen=True, slots=True)
class _Permit:
    """One call that a runtime carries out; `entry` is its change's in the ledger."""

    life: CallLife
    change: Change | None
    entry: str | None


class Permits:
    """The calls of one run that its runtime is carrying out."""

    def __init__(self, changes: Changes, ledger: Ledger, tell: Callable[[Delta], None]) -> None:
        self._changes = changes
        self._ledger = ledger
        self._tell = tell
        self._open: dict[str, _Permit] = {}

    @property
    def any(self) -> bool:
        """Whether one is being carried out."""
        return bool(self._open)

    async def give(self, life: CallLife, change: Change | None) -> ToolResult:
        """Leave an allowed call to the runtime."""
        entry = None
        if change is not None:
            entry = await self._changes.write_down(change, self._ledger)
        self.settle(life.call.call_id, stopped())  # should a runtime use an id twice
        self._open[life.call.call_id] = _Permit(life, change, entry)
        return PERMITTED

    def settle(self, call_id: str, result: ToolResult) -> None:
        """Tell how one went; an id that is not open is ignored."""
        permit = self._open.pop(call_id, None)
        if permit is None:
            return
        made = result.status == "ok"
        if permit.entry is not None and result.status != "stopped":
            # One that was stopped stays planned: nobody knows how far it came.
            self._ledger.settled(permit.entry, made=made)
        if permit.change is not None and made:
            change = permit.change
            self._tell(Edited(call_id, change.uri, change.diff, "applied"))
        permit.life.end(result)

    def close(self) -> None:
        """All that are still open were stopped."""
        for call_id in tuple(self._open):
            self.settle(call_id, stopped())
