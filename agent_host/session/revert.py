"""Takes a run's changes back, file by file, as a run of its own that can be taken back as well.

A file whose content is not what the run left there is skipped and named, never overwritten. What
is there is compared by content, so a revert that was cut short can simply be asked for again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from agent_host.core.document import BufferEdit, Document
from agent_host.core.errors import ActionFailed, InvalidRequest
from agent_host.core.model import RunResult, TextPart, Usage
from agent_host.core.ports import Actions, Editor
from agent_host.core.records import EditRecord, RunRecord, SessionStore
from agent_host.core.uris import uri_to_path
from agent_host.editing.text import decode
from agent_host.session.clock import Clock
from agent_host.session.ledger import Ledger
from agent_host.session.mover import Mover
from agent_host.session.nets import (
    DirectoryNet,
    FileNet,
    MoveNet,
    Net,
    chosen,
    is_within,
    moved,
    nets_of,
)
from agent_host.session.present import Present, hashed
from agent_host.session.settling import Settler
from agent_host.session.undoing import undone

REVERT = "revert"
"""The runtime that a revert is recorded under."""

_CHANGED = "It was changed by somebody else since."
_GONE = "It is not there any more: somebody else has deleted or moved it since."

RevertStatus = Literal["reverted", "unchanged", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class RevertedFile:
    """What came of one file; `reason` says why it is not as before."""

    uri: str
    status: RevertStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reverted:
    """`run_id` is the revert's own: revert that one to have the changes again."""

    run_id: str
    files: tuple[RevertedFile, ...]


class Reverter:
    """Reverts runs, of this host or of an earlier one."""

    def __init__(
        self,
        editor: Editor,
        actions: Actions,
        store: SessionStore,
        *,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._editor = editor
        self._actions = actions
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._mover = Mover(editor, actions)
        self._present = Present(editor, actions)
        self._settler = Settler(self._present, store)

    async def revert(self, run_id: str, uris: Sequence[str] | None = None) -> Reverted:
        """Take back a run, or only its changes of some files. Raises RunNotFound."""
        run = await self._store.run(run_id)
        edits = await self._settler.run(run_id)
        nets = nets_of(edits)
        if uris is not None:
            nets = _chosen(nets, uris, edits)
        own_id = self._new_id()
        self._store.start_run(self._record(run, own_id))
        ledger = Ledger(
            self._store,
            session_id=run.session_id,
            run_id=own_id,
            new_id=self._new_id,
            now=self._clock.now,
        )
        files = await self._all(nets, ledger)
        self._store.end_run(
            RunResult(run.session_id, own_id, "completed", "", Usage(), ledger.edits)
        )
        return Reverted(own_id, files)

    def _record(self, run: RunRecord, own_id: str) -> RunRecord:
        return replace(
            run,
            run_id=own_id,
            prompt=(TextPart(f"Revert {run.run_id}"),),
            runtime=REVERT,
            started=self._clock.now(),
            status="running",
            ended=None,
            usage=Usage(),
            output="",
            edits=(),
        )

    async def _all(self, nets: Sequence[Net], ledger: Ledger) -> tuple[RevertedFile, ...]:
        """The last change goes first, so that what a run moved about finds its way back."""
        files: list[RevertedFile] = []
        stuck: list[MoveNet] = []
        for net in reversed(nets):
            move = next((each for each in stuck if is_within(net, each.uri)), None)
            if move is not None:
                # Whatever has its old name by now, it is not what the run changed.
                reason = f"Its move to {move.to} could not be taken back, so it is left as it is."
                files.append(RevertedFile(net.uri, "skipped", reason))
                continue
            files.append(await self._one(net, ledger))
            if isinstance(net, MoveNet) and files[-1].status in ("skipped", "failed"):
                stuck.append(net)
        return tuple(reversed(files))

    async def _one(self, net: Net, ledger: Ledger) -> RevertedFile:
        try:
            match net:
                case FileNet():
                    return await self._file(net, ledger)
                case DirectoryNet():
                    return await self._directory(net, ledger)
                case MoveNet():
                    return await self._move(net, ledger)
                case _:
                    assert_never(net)
        except ActionFailed as failure:
            return RevertedFile(net.uri, "failed", failure.reason)

    # ---- files

    async def _file(self, net: FileNet, ledger: Ledger) -> RevertedFile:
        there = await self._present.at(net.uri)
        if there.kind not in ("file", "missing"):
            return RevertedFile(net.uri, "skipped", "Something else is there by now.")
        if there.sha256 == net.before:
            return RevertedFile(net.uri, "unchanged", "It is as it was before already.")
        if there.sha256 != net.after:
            return RevertedFile(net.uri, "skipped", _CHANGED if there.sha256 else _GONE)
        if there.kind == "missing" and net.trash_id is not None:
            try:
                return await self._restore(net.uri, net.before, net.trash_id, ledger)
            except ActionFailed as failure:
                if failure.code != "not_found":
                    raise
        if net.before is None and len(net.steps) == 1:
            return await self._put(net.uri, None, ledger)
        before = await undone(net.steps, self._store.contents)
        if before is None:
            reason = "It was changed by somebody else, at the same place, between the run's edits."
            return RevertedFile(net.uri, "skipped", reason)
        return await self._put(net.uri, before, ledger)

    async def _put(self, uri: str, before: bytes | None, ledger: Ledger) -> RevertedFile:
        document, path = self._editor.document(uri), uri_to_path(uri)
        now = await self._present.data(uri)
        entry = await ledger.planned(uri, now, before, open=document is not None)
        try:
            if document is not None:
                await self._edit(document, decode(before).text if before is not None else "")
            if path is not None and before is None:
                await self._delete(path, entry)
            elif path is not None and document is None and before is not None:
                await self._actions.write(path, before, expected_sha256=hashed(now))
        except ActionFailed:
            ledger.settled(entry, made=False)
            raise
        ledger.settled(entry, made=True)
        return RevertedFile(uri, "reverted")

    async def _edit(self, document: Document, text: str) -> None:
        outcome = await self._editor.apply(
            BufferEdit(document.uri, document.text, text, "Revert of agent edits")
        )
        if outcome.status != "applied":
            raise ActionFailed("stale", outcome.reason or "It is being changed right now.")

    # ---- directories, and what lies in the trash

    async def _directory(self, net: DirectoryNet, ledger: Ledger) -> RevertedFile:
        there = await self._present.at(net.uri)
        if net.trash_id is not None:
            if there.kind != "missing":
                return RevertedFile(net.uri, "skipped", "Something is there again by now.")
            return await self._restore(net.uri, None, net.trash_id, ledger)
        if there.kind == "missing":
            return RevertedFile(net.uri, "unchanged", "It is not there any more.")
        facts = there.facts if there.kind == "directory" else None
        if facts is None or (facts.count and not net.restored):
            return RevertedFile(net.uri, "skipped", "It is not empty: others have put files there.")
        entry = await ledger.planned(net.uri, None, None, open=False, kind="delete")
        try:
            await self._delete(facts.true_path, entry)
        except ActionFailed:
            ledger.settled(entry, made=False)
            raise
        ledger.settled(entry, made=True)
        whole = "With all that is in it; revert this to have it again." if net.restored else None
        return RevertedFile(net.uri, "reverted", whole)

    async def _restore(
        self, uri: str, before: str | None, trash_id: str, ledger: Ledger
    ) -> RevertedFile:
        data = await self._store.contents(before) if before is not None else None
        entry = await ledger.planned(
            uri, None, data, open=False, kind="create", after_sha256=before, restored=trash_id
        )
        try:
            await self._actions.restore(trash_id)
        except ActionFailed:
            ledger.settled(entry, made=False)
            raise
        ledger.settled(entry, made=True)
        return RevertedFile(uri, "reverted")

    # ---- what was moved

    async def _move(self, net: MoveNet, ledger: Ledger) -> RevertedFile:
        old = await self._present.on_disk(net.uri)
        new = await self._present.on_disk(net.to)
        if new == "missing":
            if old == "missing":
                return RevertedFile(net.uri, "skipped", f"It is not at {net.to} any more.")
            return RevertedFile(net.uri, "unchanged", "It is where it was before already.")
        if old != "missing":
            return RevertedFile(net.uri, "skipped", "Something else has its old name by now.")
        if net.sha256 is not None and (await self._present.at(net.to)).sha256 != net.sha256:
            return RevertedFile(net.uri, "skipped", _CHANGED)
        note = await self._mover.move_back(net.to, net.uri, net.sha256, ledger)
        return RevertedFile(net.uri, "reverted", note or None)

    async def _delete(self, path: str, entry: str) -> None:
        facts = await self._actions.inspect(path)
        if facts.kind != "missing" and facts.identity is not None:
            await self._actions.delete(path, identity=facts.identity, trash_id=entry)


def _chosen(nets: Sequence[Net], uris: Sequence[str], edits: Sequence[EditRecord]) -> list[Net]:
    """The nets of these files; one may be named as it is called since a directory was moved."""
    names = {edit.uri: moved(edit.uri, edits[n + 1 :]) for n, edit in enumerate(edits)}
    wanted: set[str] = set()
    for uri in uris:
        found = {first for first, last in names.items() if uri in (first, last)}
        if not found:
            raise InvalidRequest(f"The run did not change {uri}.", field="uris")
        wanted |= found
    return chosen(nets, wanted)
