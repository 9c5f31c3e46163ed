"""Makes the mirror of a document sound again after the editor told what does not fit.

A full text or a save does it; where the editor does not tell what it saved, the disk is read. The
person is told once what to do. Not here: noticing that something does not fit (lsp/documents.py).
"""

from collections.abc import Callable

from agent_host.core.errors import ActionFailed
from agent_host.core.model import JsonObject
from agent_host.core.ports import Actions
from agent_host.editing.text import decode
from agent_host.lsp.documents import Documents

_WARNING = 2


class Recovery:
    """Follows the documents of one editor; `notify` sends a message to it."""

    def __init__(
        self, documents: Documents, actions: Actions, notify: Callable[[str, JsonObject], None]
    ) -> None:
        self._documents = documents
        self._actions = actions
        self._notify = notify
        self._told: set[str] = set()

    def changed(self, uri: str) -> None:
        """A document was changed: say so if its text is in doubt now."""
        document = self._documents.find(uri)
        if document is None or not document.doubtful:
            self._told.discard(uri)
        elif uri not in self._told:
            self._told.add(uri)
            name = uri.rpartition("/")[2]
            message = f"{name} and what the agent knows of it are out of step: save or reopen it"
            self._notify("window/showMessage", {"type": _WARNING, "message": message})

    async def saved(self, uri: str) -> None:
        """A document was saved and its text not told: while it is in doubt the disk is read."""
        document = self._documents.find(uri)
        if document is None or not document.doubtful or document.path is None:
            return
        revision = document.revision
        try:
            text = decode((await self._actions.read(document.path)).data).text
        except ActionFailed:
            return  # outside the workspace, or no text: it stays in doubt
        self._documents.saved_as(uri, revision, text)
        self.changed(uri)
