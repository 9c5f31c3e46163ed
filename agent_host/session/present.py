"""What is at a URI right now, the editor's text first: its hash, and its bytes where they matter.

Nothing is changed here. An open document counts as the bytes that saving it would write.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from agent_host.core.actions import PathFacts
from agent_host.core.errors import ActionFailed
from agent_host.core.ports import Actions, Editor
from agent_host.core.uris import uri_to_path
from agent_host.editing.text import FileText, decode
from agent_host.session.opened import opened


@dataclass(frozen=True, slots=True)
class There:
    """`sha256` is None where there is no file. `facts` None: it is not a file's URI."""

    kind: Literal["file", "directory", "missing", "other"]
    sha256: str | None
    facts: PathFacts | None


class Present:
    """Looks; raises ActionFailed for what can't be known."""

    def __init__(self, editor: Editor, actions: Actions) -> None:
        self._editor = editor
        self._actions = actions

    async def at(self, uri: str) -> There:
        """What is there."""
        document, path = opened(self._editor, uri), uri_to_path(uri)
        facts = None if path is None else await self._actions.inspect(path)
        if document is not None:
            data = await self.data(uri)
            return There("file", hashed(data), facts)
        if facts is None:
            raise ActionFailed("unavailable", "It is not open in the editor any more.")
        return There(facts.kind, facts.sha256 if facts.kind == "file" else None, facts)

    async def on_disk(self, uri: str) -> Literal["file", "directory", "missing", "other"]:
        """What is there on the disk, whatever the editor has open."""
        path = uri_to_path(uri)
        if path is None:
            raise ActionFailed("unavailable", "It is no file.")
        return (await self._actions.inspect(path)).kind

    async def data(self, uri: str) -> bytes | None:
        """The bytes that are there, None for no file."""
        document, path = opened(self._editor, uri), uri_to_path(uri)
        data, shape = None, FileText("")
        if path is not None and (await self._actions.inspect(path)).kind != "missing":
            data = (await self._actions.read(path)).data
            shape = decode(data) if document is not None else shape
        return data if document is None else shape.encoded(document.text)


def hashed(data: bytes | None) -> str | None:
    """The hash by which the ledger and the store name bytes."""
    return None if data is None else sha256(data).hexdigest()
