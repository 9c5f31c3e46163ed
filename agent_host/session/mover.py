"""Moves a file or directory, through the editor where it has open documents there, else on disk.

The disk tells whether it was moved, whatever the editor says. Text that is not saved is never left
behind at the old name. Not here: whether it may be done (permissions/moves.py).
"""

import posixpath
from collections.abc import Sequence
from typing import Literal

from agent_host.core.actions import PathFacts
from agent_host.core.document import Document
from agent_host.core.errors import ActionFailed
from agent_host.core.ports import Actions, Editor
from agent_host.core.uris import path_to_uri, uri_to_path
from agent_host.editing.landed import is_same_but_for_endings
from agent_host.editing.text import decode
from agent_host.session.ledger import Ledger
from agent_host.session.places import documents_at, missing_directories, true_place
from agent_host.session.present import Present

_LEFT = "It is still open in the editor under its old name, where there is no file any more: "


class Mover:
    """Moves; raises ActionFailed with a reason for the model, and then nothing was moved."""

    def __init__(self, editor: Editor, actions: Actions) -> None:
        self._editor = editor
        self._actions = actions
        self._present = Present(editor, actions)

    async def move(self, path: str, to: str, facts: PathFacts, ledger: Ledger) -> str:
        """Move what the facts say to the true path `to`; returns a note for the model, or ""."""
        if facts.identity is None:
            raise ActionFailed("not_found", f"There is no {path}.")
        place = await true_place(self._actions, path, facts)
        # What is moved of a link is the link, not what it leads to.
        is_file = facts.kind == "file" and place == facts.true_path
        sha256 = (await self._present.at(path_to_uri(place))).sha256 if is_file else None
        return await self._move(place, to, facts.identity, sha256, ledger)

    async def move_back(self, uri: str, to: str, sha256: str | None, ledger: Ledger) -> str:
        """Move what is at one file URI to another, as `move`."""
        path, new = uri_to_path(uri), uri_to_path(to)
        facts = None if path is None else await self._actions.inspect(path)
        if path is None or new is None or facts is None or facts.identity is None:
            raise ActionFailed("not_found", "It is not there any more.")
        return await self._move(path, new, facts.identity, sha256, ledger)

    async def _move(
        self, path: str, to: str, identity: str, sha256: str | None, ledger: Ledger
    ) -> str:
        await self._refuse_open(path, to)
        documents = await self._at(path)
        await self._refuse_unsaved(documents)
        parent = posixpath.dirname(to)
        entries = list(
            await ledger.planned_directories(await missing_directories(self._actions, parent))
        )
        uri, new = path_to_uri(path), path_to_uri(to)
        entries.append(await ledger.planned_move(uri, new, sha256, open=bool(documents)))
        try:
            if not (documents and await self._by_editor(path, to, identity)):
                await self._actions.move(path, to, identity=identity)
        except ActionFailed as failure:
            # What the editor did not answer may still come: that stays planned (settling.py).
            if failure.code != "timeout":
                for entry in entries:
                    ledger.settled(entry, made=False)
            raise
        for entry in entries:
            ledger.settled(entry, made=True)
        left = await self._at(path)
        self._editor.files_changed([path, to], left_open=left)
        return _LEFT + ", ".join(each.path or each.uri for each in left) if left else ""

    async def _at(self, path: str) -> list[Document]:
        return await documents_at(self._editor, self._actions, path)

    async def _refuse_open(self, path: str, to: str) -> None:
        """What is open under the new name must be what comes there, left open by a move before."""
        for each in await self._at(to):
            rest = (each.path or "").removeprefix(to)
            if each.doubtful or not await self._is_text_of(path + rest, each):
                raise ActionFailed("exists", f"{each.path} is open in the editor already.")

    async def _refuse_unsaved(self, documents: Sequence[Document]) -> None:
        if self._editor.moves == "all":
            return
        for each in documents:
            if each.doubtful or not await self._is_text_of(each.path or "", each):
                raise ActionFailed(
                    "unavailable",
                    f"{each.path} has unsaved changes in the editor, which would be left behind "
                    "at the old name. Ask the user to save it, then move it.",
                )

    async def _is_text_of(self, path: str, document: Document) -> bool:
        """Whether a document has the text of a file on disk."""
        try:
            disk = decode((await self._actions.read(path)).data).text
        except ActionFailed:
            return False
        return is_same_but_for_endings(disk, document.text.removeprefix("\ufeff"))

    async def _by_editor(self, path: str, to: str, identity: str) -> bool:
        """Whether the editor has moved it; if not, it has left it alone."""
        if self._editor.moves == "none":
            return False
        if (await self._actions.inspect(path)).identity != identity:
            raise ActionFailed("stale", f"{path} is not what it was when its move was approved.")
        if (await self._actions.inspect(to)).kind != "missing":
            raise ActionFailed("exists", f"Something else is at {to} already.")
        answered = await self._editor.move(path_to_uri(path), path_to_uri(to))
        old, new = await self._kind(path), await self._kind(to)
        if old == "missing" and new != "missing":
            return True
        if not answered:
            reason = "The editor did not answer, so it may still move it; look before you go on."
            raise ActionFailed("timeout", reason)
        if new != "missing" or old == "missing":
            reason = f"The editor did something else than to move it; look at {path} and {to}."
            raise ActionFailed("timeout", reason)
        return False

    async def _kind(self, path: str) -> Literal["file", "directory", "missing", "other"]:
        return (await self._actions.inspect(path)).kind
