"""Takes a run's changes back, file by file, as a run of its own that can be taken back as well.

A file whose content is not what the run left there is skipped and named, never overwritten. What
is there is compared by content, so a revert that was cut short can simply be asked for again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from agent_host.core.document import BufferEdit, Document
from agent_host.core.errors import ActionFailed, InvalidRequest
from agent_host.core.model import RunResult, TextPart, Usage
from agent_host.core.ports import Actions, Editor
from agent_host.core.records import EditRecord, RunRecord, SessionStore
from agent_host.core.uris import uri_to_path
from agent_host.editing.text import FileText, decode
from agent_host.session.clock import Clock
from agent_host.session.ledger import Ledger
from agent_host.session.opened import opened

REVERT = "revert"
"""The runtime that a revert is recorded under."""

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


@dataclass(frozen=True, slots=True)
class _Net:
    """What a run came to for one file. Hashes are None where there was no file.

    `trash_id`: what was there lies in the trash whole, be it a directory or a large file.
    """

    uri: str
    before: str | None
    after: str | None
    trash_id: str | None = None


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

    async def revert(self, run_id: str, uris: Sequence[str] | None = None) -> Reverted:
        """Take back a run, or only its changes of some files. Raises RunNotFound."""
        run = await self._store.run(run_id)
        nets = _net(await self._store.edits(run_id))
        if uris is not None:
            known = {net.uri for net in nets}
            for uri in uris:
                if uri not in known:
                    raise InvalidRequest(f"The run did not change {uri}.", field="uris")
            nets = [net for net in nets if net.uri in uris]
        own_id = self._new_id()
        self._store.start_run(self._record(run, own_id))
        ledger = Ledger(
            self._store,
            session_id=run.session_id,
            run_id=own_id,
            new_id=self._new_id,
            now=self._clock.now,
        )
        # The last change goes first, so that what a run moved about finds its way back.
        files = [await self._file(net, ledger) for net in reversed(nets)]
        self._store.end_run(
            RunResult(run.session_id, own_id, "completed", "", Usage(), ledger.edits)
        )
        return Reverted(own_id, tuple(reversed(files)))

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

    async def _file(self, net: _Net, ledger: Ledger) -> RevertedFile:
        try:
            now = await self._content(net.uri)
            if now is None and net.trash_id is not None:
                return await self._restore(net, net.trash_id, ledger)
            if _hash(now) == net.before:
                return RevertedFile(net.uri, "unchanged", "It is as it was before already.")
            if _hash(now) != net.after:
                return RevertedFile(net.uri, "skipped", "It was changed by somebody else since.")
            before = None
            if net.before is not None:
                before = await self._store.contents(net.before)
                if before is None:
                    return RevertedFile(net.uri, "failed", "Its earlier content was not kept.")
            return await self._put(net, now, before, ledger)
        except ActionFailed as failure:
            return RevertedFile(net.uri, "failed", failure.reason)

    async def _content(self, uri: str) -> bytes | None:
        """What is there now, the editor's text first."""
        document, path = opened(self._editor, uri), uri_to_path(uri)
        data, shape = None, FileText("")
        if path is not None and (await self._actions.inspect(path)).kind != "missing":
            data = (await self._actions.read(path)).data
            shape = decode(data) if document is not None else shape
        return data if document is None else shape.encoded(document.text)

    async def _put(
        self, net: _Net, now: bytes | None, before: bytes | None, ledger: Ledger
    ) -> RevertedFile:
        document, path = self._editor.document(net.uri), uri_to_path(net.uri)
        entry = await ledger.planned(net.uri, now, before, open=document is not None)
        trash = None
        try:
            if document is not None:
                await self._edit(document, decode(before).text if before is not None else "")
            if path is not None and before is None:
                trash = await self._delete(path)
            elif path is not None and document is None and before is not None:
                await self._actions.write(path, before, expected_sha256=_hash(now))
        except ActionFailed:
            ledger.settled(entry, made=False)
            raise
        ledger.settled(entry, made=True, trash_id=trash)
        return RevertedFile(net.uri, "reverted")

    async def _edit(self, document: Document, text: str) -> None:
        outcome = await self._editor.apply(
            BufferEdit(document.uri, document.text, text, "Revert of agent edits")
        )
        if outcome.status != "applied":
            raise ActionFailed("stale", outcome.reason or "It is being changed right now.")

    async def _restore(self, net: _Net, trash_id: str, ledger: Ledger) -> RevertedFile:
        data = await self._store.contents(net.before) if net.before is not None else None
        entry = await ledger.planned(net.uri, None, data, open=False, kind="create")
        try:
            await self._actions.restore(trash_id)
        except ActionFailed:
            ledger.settled(entry, made=False)
            raise
        ledger.settled(entry, made=True)
        return RevertedFile(net.uri, "reverted")

    async def _delete(self, path: str) -> str | None:
        facts = await self._actions.inspect(path)
        if facts.kind != "file" or facts.identity is None:
            return None
        return await self._actions.delete(path, identity=facts.identity)


def _net(edits: Sequence[EditRecord]) -> list[_Net]:
    """What the edits came to, by file, in the order of the first ones; failed ones don't count."""
    nets: dict[str, _Net] = {}
    for edit in edits:
        if edit.state == "failed":
            continue
        earlier = nets.get(edit.uri)
        first = earlier.before if earlier else edit.before_sha256
        was_there = earlier is None or earlier.before is not None
        trash = edit.trash_id if was_there and edit.kind == "delete" else None
        nets[edit.uri] = _Net(edit.uri, first, edit.after_sha256, trash)
    return list(nets.values())


def _hash(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()
