"""The conversation documents that are open, the one that was opened or changed last at the end."""

import asyncio
from collections.abc import Iterator

from agent_host.conversation.format import SUFFIX, Conversation, is_conversation, parse
from agent_host.core.document import Document
from agent_host.core.errors import InvalidRequest
from agent_host.core.ports import Editor
from agent_host.core.uris import same_key


class Shelf:
    """Told of every document; it knows which are conversations."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._open: dict[str, str] = {}
        self._parsed: dict[str, tuple[str, Conversation]] = {}
        self._none_open = asyncio.Event()
        self._none_open.set()

    def opened(self, uri: str) -> bool:
        """A document was opened; whether it is a conversation."""
        document = self._editor.document(uri)
        if document is None or not is_conversation(uri, document.language_id, document.text):
            return False
        self._open[same_key(uri)] = document.uri
        self._none_open.clear()
        return True

    def changed(self, uri: str) -> bool:
        """A document was changed; an unnamed one may have become a conversation."""
        key = same_key(uri)
        if key in self._open:
            self._open[key] = self._open.pop(key)
            return True
        return not uri.startswith("file:") and self.opened(uri)

    def closed(self, uri: str) -> bool:
        """A document was closed; whether it was a conversation."""
        key = same_key(uri)
        self._parsed.pop(key, None)
        if self._open.pop(key, None) is None:
            return False
        if not self._open:
            self._none_open.set()
        return True

    @property
    def any_open(self) -> bool:
        """Whether a person can see a conversation."""
        return bool(self._open)

    async def none_open(self) -> None:
        """Return once no conversation document is open."""
        await self._none_open.wait()

    def holds(self, uri: str) -> bool:
        """Whether this conversation is open."""
        return same_key(uri) in self._open

    def conversation(self, uri: str) -> Conversation | None:
        """A conversation document as it is now; None for other documents. Parsed once a change."""
        key = same_key(uri)
        document = self._editor.document(uri) if key in self._open else None
        if document is None:
            return None
        kept = self._parsed.get(key)
        if kept is None or kept[0] is not document.text:
            kept = self._parsed[key] = (document.text, parse(document.text))
        return kept[1]

    def find(self, uri: str | None) -> Document:
        """The named conversation, or the one that was opened or changed last.

        Raises InvalidRequest.
        """
        named = uri if uri is not None else next(reversed(self._open.values()), None)
        document = self._editor.document(named) if named is not None else None
        if document is None or not self.holds(document.uri):
            what = "That document is no conversation" if uri else "No conversation is open"
            text = f"{what}: open a document whose name ends in {SUFFIX}, and send from it."
            raise InvalidRequest(text, field="uri")
        return document

    def latest(self) -> Iterator[Document]:
        """All of them, the latest first."""
        for uri in reversed(tuple(self._open.values())):
            document = self._editor.document(uri)
            if document is not None:
                yield document
