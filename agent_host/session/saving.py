"""Has the editor save documents, and believes only what the disk holds afterwards.

A file that somebody else changed on disk is never saved over. Not here: whether a document is to
be saved (changes.py, command_runner.py).
"""

import asyncio
from collections.abc import Sequence

from agent_host.core.document import Document
from agent_host.core.errors import ActionFailed
from agent_host.core.ports import Actions, Editor
from agent_host.editing.landed import is_same_but_for_endings
from agent_host.editing.text import decode
from agent_host.session.present import hashed

_LOOKS = (0.0, 0.1, 0.4)
"""Seconds before each look: what a formatter did is told some time after the file was written."""

NOT_SAVED = "It is in the editor and not saved yet."
_CHANGED_ON_DISK = (
    "It is in the editor and not saved: the file on disk was changed by somebody else meanwhile."
)
_NOT_ON_DISK = (
    "It is in the editor. The editor says that it was saved, but the file on disk holds another "
    "text than the editor."
)


class Saver:
    """The way of every document to the disk."""

    def __init__(self, editor: Editor, actions: Actions) -> None:
        self._editor = editor
        self._actions = actions

    async def save(self, documents: Sequence[Document]) -> frozenset[str]:
        """The URIs of those that were saved, as the disk shows."""
        claimed = await self._editor.save([each.uri for each in documents])
        checked = [each for each in documents if each.uri in claimed]
        found = await asyncio.gather(*(self._is_on_disk(each) for each in checked))
        return frozenset(
            each.uri for each, is_there in zip(checked, found, strict=True) if is_there
        )

    async def save_one(self, document: Document, base: str | None) -> str:
        """Save a document whose file had the hash `base`; "" if it is, else a note on what is."""
        if document.path is None:
            return NOT_SAVED
        if await self._hash(document.path) != base:
            return _CHANGED_ON_DISK
        if not await self._editor.save([document.uri]):
            return NOT_SAVED
        return "" if await self._is_on_disk(document) else _NOT_ON_DISK

    async def _is_on_disk(self, document: Document) -> bool:
        for seconds in _LOOKS:
            await asyncio.sleep(seconds)
            try:
                if await self._holds(document):
                    return True
            except ActionFailed:
                return False  # no text, out of reach or gone: nothing proves it
        return False

    async def _holds(self, document: Document) -> bool:
        """Whether the disk has the text that was to be saved, or the one that it became."""
        if document.path is None:
            return False
        disk = decode((await self._actions.read(document.path)).data).text
        now = self._editor.document(document.uri)
        texts = {document.text} if now is None else {document.text, now.text}
        # Editors add a final newline as they save, and keep their own line endings.
        return any(is_same_but_for_endings(disk, text.removeprefix("\ufeff")) for text in texts)

    async def _hash(self, path: str) -> str | None:
        try:
            return hashed((await self._actions.read(path)).data)
        except ActionFailed:
            return None
