"""What a run changed, written down before each change, so that it can be taken back.

A change that the store could not keep is made all the same, and named when the run is reverted.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_host.core.actions import EditKind, FileEdit, WrittenKind
from agent_host.core.records import EditRecord, SessionStore
from agent_host.core.uris import beneath, path_to_uri


@dataclass(frozen=True, slots=True)
class Made:
    """A change that was made. Hashes are None where there was no file, and for directories.

    `moved_to`: the new URI of what was moved.
    """

    uri: str
    kind: WrittenKind
    before_sha256: str | None
    after_sha256: str | None
    moved_to: str | None = None

    @property
    def is_directory(self) -> bool:
        """Whether it was a directory that was made, deleted or moved."""
        return self.before_sha256 is None and self.after_sha256 is None


class Ledger:
    """The changes of one run, in their order."""

    def __init__(
        self,
        store: SessionStore,
        *,
        session_id: str,
        run_id: str,
        new_id: Callable[[], str],
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._run_id = run_id
        self._new_id = new_id
        self._now = now
        self._kinds: dict[str, EditKind] = {}
        self._waiting: dict[str, Made] = {}
        self.made: list[Made] = []

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """What the run has come to for each file, oldest first."""
        return tuple(FileEdit(uri, kind) for uri, kind in self._kinds.items())

    @property
    def unsettled(self) -> frozenset[str]:
        """The ids of changes of which nobody has said whether they were made."""
        return frozenset(self._waiting)

    async def planned(  # noqa: PLR0913 - what is to be written down
        self,
        uri: str,
        before: bytes | None,
        after: bytes | None,
        *,
        open: bool,  # noqa: A002 - whether the document is open is what it says
        kind: EditKind | None = None,
        before_sha256: str | None = None,
        after_sha256: str | None = None,
        restored: str | None = None,
    ) -> str:
        """Write down a change that is about to be made; returns its id for `settled`.

        The hashes: of bytes that are too many to be kept. What is deleted is put into the trash
        under the same id; `restored` is the id of what comes out of it.
        """
        edit_id = self._new_id()
        kind = kind or ("create" if before is None else "delete" if after is None else "change")
        record = EditRecord(
            edit_id=edit_id,
            session_id=self._session_id,
            run_id=self._run_id,
            uri=uri,
            kind=kind,
            place="document" if open else "disk",
            before_sha256=_hash(before) or before_sha256,
            after_sha256=_hash(after) or after_sha256,
            at=self._now(),
            trash_id=edit_id if kind == "delete" else restored,
        )
        await self._store.record_edit(record, before, after)
        self._waiting[edit_id] = Made(uri, kind, record.before_sha256, record.after_sha256)
        return edit_id

    async def planned_move(
        self,
        uri: str,
        to: str,
        sha256: str | None,
        *,
        open: bool,  # noqa: A002 - as above
    ) -> str:
        """Write down a move that is about to be made; `sha256` None: of a directory or a link."""
        edit_id = self._new_id()
        record = EditRecord(
            edit_id=edit_id,
            session_id=self._session_id,
            run_id=self._run_id,
            uri=uri,
            kind="move",
            place="document" if open else "disk",
            before_sha256=sha256,
            after_sha256=sha256,
            at=self._now(),
            moved_to=to,
        )
        await self._store.record_edit(record, None, None)
        self._waiting[edit_id] = Made(uri, "move", sha256, sha256, to)
        return edit_id

    async def planned_directories(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Write down directories that are about to be made, outermost first; returns the ids."""
        return tuple(
            [
                await self.planned(path_to_uri(path), None, None, open=False, kind="create")
                for path in paths
            ]
        )

    def settled(self, edit_id: str, *, made: bool) -> None:
        """Say whether the change was made."""
        done = self._waiting.pop(edit_id)
        self._store.update_edit(edit_id, "applied" if made else "failed")
        # A directory that was made holds no text: it is not told among the files.
        is_new_directory = done.is_directory and done.kind == "create"
        if not made or is_new_directory:
            return
        self.made.append(done)
        if done.kind == "move":
            self._moved(done.uri, done.moved_to or "")
        else:
            self._merge(done.uri, done.kind)

    def _moved(self, old: str, new: str) -> None:
        """What was moved is gone here and new there, with what else the run did to it."""
        for uri in tuple(self._kinds):
            rest = beneath(uri, old)
            if rest:
                self._kinds[new + rest] = self._kinds.pop(uri)
        self._merge(old, "delete")
        self._merge(new, "create")

    def _merge(self, uri: str, kind: EditKind) -> None:
        merged = _merged(self._kinds.get(uri), kind)
        if merged is None:
            del self._kinds[uri]
        else:
            self._kinds[uri] = merged


def _merged(earlier: EditKind | None, later: EditKind) -> EditKind | None:
    """What two changes of one file come to; None: nothing."""
    if earlier == "create":
        return None if later == "delete" else "create"
    if earlier == "delete" and later == "create":
        return "change"
    return later


def _hash(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
