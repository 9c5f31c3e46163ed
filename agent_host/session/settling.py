"""Finds out what became of edits that were planned, and of which nobody can tell the end any more.

A host that was killed, or a call that was stopped, leaves them so. Only what is there decides: an
edit of which neither the old nor the new content is there stays planned, and is named as such.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from agent_host.core.errors import ActionFailed
from agent_host.core.records import EditRecord, SessionStore
from agent_host.session.nets import moved
from agent_host.session.present import Present


class Settler:
    """Settles the edits of runs that have ended, or are about to."""

    def __init__(self, present: Present, store: SessionStore) -> None:
        self._present = present
        self._store = store

    async def run(self, run_id: str, *, pending: bool = False) -> tuple[EditRecord, ...]:
        """All edits of a run, those that were planned settled as far as can be known.

        `pending`: the editor may yet make an edit that it was asked for; if it is not seen it
        stays planned.
        """
        edits = list(await self._store.edits(run_id))
        for index, edit in enumerate(edits):
            if edit.state != "planned":
                continue
            state = await self._state(edit, edits[index + 1 :])
            if state == "applied" or (state == "failed" and not (pending and _is_open(edit))):
                self._store.update_edit(edit.edit_id, state)
                edits[index] = replace(edit, state=state)
        return tuple(edits)

    async def session(self, session_id: str) -> tuple[EditRecord, ...]:
        """The edits that were planned in any run of the session, as they are known now."""
        found: list[EditRecord] = []
        for run in await self._store.runs(session_id):
            planned = {
                e.edit_id for e in await self._store.edits(run.run_id) if e.state == "planned"
            }
            if planned and run.status != "running":
                found += [edit for edit in await self.run(run.run_id) if edit.edit_id in planned]
        return tuple(found)

    async def _state(
        self, edit: EditRecord, later: Sequence[EditRecord]
    ) -> Literal["applied", "failed"] | None:
        if edit.moved_to is not None:
            return await self._moved(edit, edit.moved_to, later)
        is_directory = edit.before_sha256 is None and edit.after_sha256 is None
        following = [each for each in later if each.uri == edit.uri and each.state != "failed"]
        if following and not is_directory:
            return _by_content(edit, following[0].before_sha256)
        try:
            there = await self._present.at(moved(edit.uri, later))
        except ActionFailed:
            return None
        if is_directory:
            is_there = there.kind == "directory"
            return "applied" if is_there == (edit.kind == "create") else "failed"
        return _by_content(edit, there.sha256) if there.kind in ("file", "missing") else None

    async def _moved(
        self, edit: EditRecord, to: str, later: Sequence[EditRecord]
    ) -> Literal["applied", "failed"] | None:
        """What is there under one of both names tells."""
        try:
            old = await self._present.on_disk(edit.uri)
            new = await self._present.on_disk(moved(to, later))
        except ActionFailed:
            return None
        if (old == "missing") == (new == "missing"):
            return None
        return "applied" if old == "missing" else "failed"


def told(edits: Sequence[EditRecord]) -> str:
    """What the model is told of edits that were cut short, "" if there were none."""
    if not edits:
        return ""
    ends = {"applied": "made", "failed": "not made"}
    lines = [f"- {_named(e)}: {ends.get(e.state, 'not known, read it')}" for e in edits]
    return "\n".join(("[The host ended during these edits; what became of them:", *lines, "]"))


def _named(edit: EditRecord) -> str:
    return f"{edit.kind} {edit.uri}" + (f" to {edit.moved_to}" if edit.moved_to else "")


def _is_open(edit: EditRecord) -> bool:
    return edit.place == "document"


def _by_content(edit: EditRecord, sha256: str | None) -> Literal["applied", "failed"] | None:
    if sha256 == edit.after_sha256:
        return "applied"
    return "failed" if sha256 == edit.before_sha256 else None
