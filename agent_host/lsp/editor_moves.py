"""Has the editor move a file or directory, so that its open documents go along.

What the editor answers proves nothing; the disk does, and that is looked at elsewhere. Nothing is
ever moved over what is there.
"""

import asyncio
from collections.abc import Callable, Sequence

from agent_host.core.uris import beneath, path_to_uri, same_key
from agent_host.lsp.documents import Documents, OpenDocument
from agent_host.lsp.editor_traits import Traits
from agent_host.lsp.host import Edge, EditorError

# Editors close the old document and open the new one before they answer, or soon after.
_FOLLOW_SECONDS = 1.5


class Moves:
    """The way of every move of what has open documents."""

    def __init__(self, edge: Edge, documents: Documents, traits: Traits) -> None:
        self._edge = edge
        self._documents = documents
        self._seconds = traits.edit_seconds

    async def move(self, uri: str, to: str) -> bool:
        """Ask for it, and wait until the documents have followed; False: there was no answer."""
        document = self._documents.find(uri)
        operation = {
            "kind": "rename",
            "oldUri": document.uri if document else uri,
            "newUri": to,
            "options": {"overwrite": False, "ignoreIfExists": False},
        }
        params = {"label": "Agent move", "edit": {"documentChanges": [operation]}}
        left = self._below(uri)
        changed = asyncio.Event()
        stops = [self._documents.watch(each.uri, changed.set) for each in left]
        try:
            await self._edge.ask("workspace/applyEdit", params, self._seconds)
            await self._followed(uri, changed)
        except TimeoutError:
            return False
        except EditorError:
            return True
        finally:
            _call_all(stops)
        return True

    async def _followed(self, uri: str, changed: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(_FOLLOW_SECONDS):
                while self._below(uri):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pass  # those that are left are told of

    def _below(self, uri: str) -> list[OpenDocument]:
        folder = same_key(uri)
        return [
            each
            for each in self._documents.all()
            if each.path is not None and beneath(path_to_uri(each.path), folder) is not None
        ]


def _call_all(stops: Sequence[Callable[[], None]]) -> None:
    for stop in stops:
        stop()
