"""What runtimes were permitted to do themselves: each call runs until they say how it went.

A change of a file is written down as if it were made here, so that it can be taken back. A runtime
that has the host do what it was permitted is not asked about twice: a permit can be used for that,
once. Not here: who permits (gate.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_host.core.actions import RunCommand
from agent_host.core.events import Delta, Edited
from agent_host.core.model import ToolResult
from agent_host.session.call import CallLife, stopped
from agent_host.session.changes import Change, Changes
from agent_host.session.ledger import Ledger

PERMITTED = ToolResult("ok", "", "Permitted")
"""In place of a result: the runtime does it."""

_USED = ToolResult("ok", "", "Done through the host")
_OTHER = ToolResult("failed", "", "Not done: the agent has the host do something else instead")


@dataclass(frozen=True, slots=True)
class _Permit:
    """One call that a runtime carries out; `changes` by their entries in the ledger."""

    life: CallLife
    changes: Mapping[str, Change]
    command: RunCommand | None
    as_asked: bool = True


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

    async def give(
        self, life: CallLife, changes: Sequence[Change], command: RunCommand | None
    ) -> ToolResult:
        """Leave an allowed call to the runtime; `command` is in its true folder."""
        entries = {await self._changes.write_down(each, self._ledger): each for each in changes}
        self.settle(life.call.call_id, stopped())  # should a runtime use an id twice
        self._open[life.call.call_id] = _Permit(life, entries, command)
        return PERMITTED

    def settle(self, call_id: str, result: ToolResult) -> None:
        """Tell how one went; an id that is not open is ignored."""
        permit = self._open.pop(call_id, None)
        if permit is None:
            return
        made = result.status == "ok"
        for entry, change in permit.changes.items():
            if result.status != "stopped":
                # One that was stopped stays planned: nobody knows how far it came.
                self._ledger.settled(entry, made=made)
            if made:
                self._tell(Edited(call_id, change.uri, change.diff, "applied"))
        permit.life.end(result)

    def use_change(self, change: Change) -> bool:
        """The host is to make this: whether exactly this was permitted, text for text.

        What was permitted for the file is void either way.
        """
        found = [
            (call_id, entry)
            for call_id, permit in self._open.items()
            for entry, each in permit.changes.items()
            if _file(each) == _file(change)
        ]
        allowed = False
        for call_id, entry in found:
            permit = self._open[call_id]
            left = dict(permit.changes)
            asked = left.pop(entry)
            is_it = not allowed and (asked.before, asked.after) == (change.before, change.after)
            allowed = allowed or is_it
            self._ledger.settled(entry, made=False)  # it gets an entry of its own
            self._keep(call_id, replace(permit, changes=left, as_asked=permit.as_asked and is_it))
        return allowed

    def use_command(self, command: RunCommand) -> bool:
        """The host is to run this, in its true folder: whether exactly this was permitted.

        What was permitted for that line is void either way.
        """
        for call_id, permit in self._open.items():
            if permit.command is not None and permit.command.command == command.command:
                is_it = _covers(permit.command, command)
                self._keep(call_id, replace(permit, command=None, as_asked=is_it))
                return is_it
        return False

    def close(self) -> None:
        """All that are still open were stopped."""
        for call_id in tuple(self._open):
            self.settle(call_id, stopped())

    def _keep(self, call_id: str, permit: _Permit) -> None:
        """What is left of a permit of which something was used."""
        self._open[call_id] = permit
        if not permit.changes:
            self.settle(call_id, _USED if permit.as_asked else _OTHER)


def _file(change: Change) -> str:
    return change.path or change.uri


def _covers(permitted: RunCommand, wanted: RunCommand) -> bool:
    """What a runtime runs itself has no sandbox, so that the host's way is never wider."""
    return permitted.cwd == wanted.cwd and (permitted.network or not wanted.network)
