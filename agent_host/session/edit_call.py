"""One call that changes the text of files: judged file by file, asked about once, then made.

Each file is changed whole or not at all, whatever becomes of the others. What a person refused of
it is told to the model by name. Not here: what a change comes to and how it is made (changes.py).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from agent_host.core.actions import EditFile, EditFiles, FileChange
from agent_host.core.errors import ActionFailed
from agent_host.core.events import Edited
from agent_host.core.model import ToolResult
from agent_host.core.permission import EditPart
from agent_host.permissions.engine import unread_because
from agent_host.session.asker import Outcome
from agent_host.session.call import CallLife, denied, failed, stopped
from agent_host.session.changes import Change, Changes, Discarded, Moved
from agent_host.session.judge import Judged
from agent_host.session.ledger import Ledger

ROUNDS = 8
"""How often a change is planned anew because its text moved on, before it is given up."""


MOST_PLACES = 50
"""So many places of one file can be chosen from; more are accepted or refused together."""


class Ask(Protocol):
    """Puts one question about all of these; `diff` is of all of them together."""

    def __call__(
        self, judged: Sequence[Judged], diff: str, parts: Sequence[EditPart]
    ) -> Awaitable[Outcome]: ...


@dataclass(frozen=True, slots=True)
class _Wish:
    """A file's change, judged and planned."""

    action: FileChange
    judged: Judged
    change: Change


@dataclass(frozen=True, slots=True)
class _FileResult:
    """What became of one file; `text` is for the model."""

    name: str
    status: Literal["ok", "denied", "failed"]
    text: str
    by_user: bool = False


async def planned(changes: Changes, action: FileChange, judged: Judged) -> Change:
    """What the change comes to. Raises ActionFailed, which shows no text that may not be read."""
    facts = judged.subject.facts
    try:
        return await changes.plan(action, facts)
    except ActionFailed as failure:
        why = unread_because(facts.true_path, judged.policy) if facts else None
        if why is None:
            raise
        reason = f"It does not fit what is there, which is not shown ({why}): read the file first."
        raise ActionFailed(failure.code, reason) from None


class EditCall:
    """The way of one such call; `perform` is called once. `is_over`: all is to end.

    `was_permitted`: whether the runtime has a permit for exactly this, which is used up by it.
    """

    def __init__(
        self,
        life: CallLife,
        changes: Changes,
        ledger: Ledger,
        *,
        judge: Callable[[FileChange], Awaitable[Judged]],
        ask: Ask,
        was_permitted: Callable[[Change], bool],
        is_over: Callable[[], bool],
    ) -> None:
        self._life = life
        self._changes = changes
        self._ledger = ledger
        self._judge = judge
        self._ask = ask
        self._was_permitted = was_permitted
        self._is_over = is_over
        self._results: dict[str, _FileResult] = {}
        self._left_out: dict[str, str] = {}
        self._previews = False

    async def perform(self, action: FileChange | EditFiles) -> ToolResult:
        """Judge, ask if need be, make. Raises nothing but faults of ours and CancelledError."""
        files = action.files if isinstance(action, EditFiles) else (action,)
        pending: Sequence[FileChange] = files
        for _ in range(ROUNDS):
            self._life.move("judge")
            pending = await self._round(pending)
            if self._is_over():
                return stopped()
            if not pending:
                break
        for each in pending:
            self._failed(
                each, "The text kept changing while the edit was being made. Read it again."
            )
        results = [self._results[each.path] for each in files]
        return _told(results) if isinstance(action, EditFiles) else _told_of_one(results[0])

    async def _round(self, files: Sequence[FileChange]) -> list[FileChange]:
        """Bring these files as far as they go; returns those whose text has moved on."""
        moved: list[FileChange] = []
        wishes = [wish for each in files if (wish := await self._wish(each)) is not None]
        if self._is_over():
            return []
        known = [wish for wish in wishes if self._was_permitted(wish.change)]
        asked = [
            wish for wish in wishes if wish.judged.decision.verdict == "ask" and wish not in known
        ]
        if asked:
            self._life.move("ask")
            wishes = [wish for wish in wishes if wish not in asked]
            wishes += await self._accepted(asked, moved)
        if self._is_over():
            return []
        if wishes:
            self._life.move("allow")
        for wish in wishes:
            try:
                confirm = self._previews and wish.judged.decision.verdict == "ask"
                note = await self._changes.make(wish.change, self._ledger, confirm=confirm)
            except Discarded:
                self._denied(wish.action, "they discarded it in the preview", by_user=True)
            except Moved:
                moved.append(wish.action)
            except ActionFailed as failure:
                self._failed(wish.action, failure.reason)
            else:
                self._made(wish, note)
        return moved

    async def _wish(self, action: FileChange) -> _Wish | None:
        """None: it is settled already, since it was denied or makes no sense."""
        try:
            judged = await self._judge(action)
            if judged.decision.verdict == "deny":
                self._denied(action, judged.decision.reason)
                return None
            return _Wish(action, judged, await planned(self._changes, action, judged))
        except ActionFailed as failure:
            self._failed(action, failure.reason)
            return None

    # ---- asking

    async def _accepted(self, asked: Sequence[_Wish], moved: list[FileChange]) -> list[_Wish]:
        """What a person has accepted of these; what they refused is noted."""
        for wish in asked:
            change = wish.change
            self._life.tell(Edited(self._life.call.call_id, change.uri, change.diff, "proposed"))
        diff = "".join(wish.change.diff for wish in asked)
        parts = self._parts(asked)
        outcome = await self._ask([wish.judged for wish in asked], diff, parts)
        self._previews = outcome.previews
        if not outcome.allowed:
            for wish in asked:
                self._denied(wish.action, outcome.reason, by_user=outcome.by_user)
            return []
        chosen = frozenset(part.id for part in parts)
        if outcome.accepted is not None:
            chosen &= frozenset(outcome.accepted)
        if len(chosen) == len(parts):
            return list(asked)
        if len(asked) == 1:
            return await self._narrowed(asked[0], chosen, outcome.reason, moved)
        refused = [wish for n, wish in enumerate(asked, 1) if str(n) not in chosen]
        for wish in refused:
            self._denied(wish.action, _refusal(outcome.reason), by_user=True)
        return [wish for wish in asked if wish not in refused]

    def _parts(self, asked: Sequence[_Wish]) -> tuple[EditPart, ...]:
        """What may be chosen from: files, or the places of one file; ids count from 1."""
        if len(asked) == 1:
            wish = asked[0]
            is_edit = (
                isinstance(wish.action, EditFile)
                and 1 < len(wish.action.replacements) <= MOST_PLACES
            )
            return self._changes.places(wish.action, wish.change) if is_edit else ()
        changes = [wish.change for wish in asked]
        return tuple(
            EditPart(str(number), change.name, change.uri, change.diff)
            for number, change in enumerate(changes, 1)
        )

    async def _narrowed(
        self, wish: _Wish, chosen: frozenset[str], said: str, moved: list[FileChange]
    ) -> list[_Wish]:
        """The places of one file that were accepted, as a change of the text that was shown."""
        assert isinstance(wish.action, EditFile)  # noqa: S101 - only those have places
        numbered = list(enumerate(wish.action.replacements, 1))
        kept = tuple(each for number, each in numbered if str(number) in chosen)
        if not kept:
            self._denied(wish.action, _refusal(said), by_user=True)
            return []
        refused = [str(number) for number, _ in numbered if str(number) not in chosen]
        action = replace(wish.action, replacements=kept)
        which = ", ".join(refused)
        left_out = f"The user refused replacement {which}, which was not made. {said}"
        self._left_out[action.path] = left_out.rstrip()
        try:
            change = await self._changes.plan(action, wish.judged.subject.facts)
        except ActionFailed as failure:
            self._failed(action, failure.reason)
            return []
        if (change.before, change.base) != (wish.change.before, wish.change.base):
            moved.append(action)
            return []
        return [_Wish(action, wish.judged, change)]

    # ---- what came of it

    def _made(self, wish: _Wish, note: str) -> None:
        change = wish.change
        self._life.tell(Edited(self._life.call.call_id, change.uri, change.diff, "applied"))
        name = change.path or change.uri
        did = "Created" if change.before is None else "Changed"
        left_out = self._left_out.get(wish.action.path, "")
        notes = " ".join(part for part in (note, left_out) if part)
        text = f"{did} {name}, {change.size} lines of the diff. {notes}".rstrip()
        self._results[wish.action.path] = _FileResult(f"{did} {name}", "ok", text)

    def _failed(self, action: FileChange, reason: str) -> None:
        self._results[action.path] = _FileResult(action.path, "failed", reason)

    def _denied(self, action: FileChange, reason: str, *, by_user: bool = False) -> None:
        self._results[action.path] = _FileResult(action.path, "denied", reason, by_user)


def _refusal(said: str) -> str:
    return said or "the user did not accept it"


def _told_of_one(result: _FileResult) -> ToolResult:
    match result.status:
        case "ok":
            return ToolResult("ok", result.text, result.name)
        case "denied":
            return denied(result.text, by_user=result.by_user)
        case "failed":
            return failed(result.text)


def _told(results: Sequence[_FileResult]) -> ToolResult:
    """What the model hears of several files: each by name."""
    made = [each for each in results if each.status == "ok"]
    refused = [each for each in results if each.status == "denied"]
    if len(refused) == len(results) and len({(r.text, r.by_user) for r in refused}) == 1:
        return denied(refused[0].text, by_user=refused[0].by_user)
    lines: list[str] = []
    for each in results:
        match each.status:
            case "ok":
                lines.append(each.text)
            case "denied":
                who = "the user refused it" if each.by_user else "it is not allowed"
                lines.append(f"{each.name} was not changed: {who}. Reason: {each.text}")
            case "failed":
                lines.append(f"{each.name} was not changed: this failed: {each.text}")
    status = "ok" if made else "denied" if len(refused) == len(results) else "failed"
    summary = f"Changed {len(made)} of {len(results)} files"
    return ToolResult(status, "\n".join(lines), summary)
