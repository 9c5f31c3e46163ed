"""The mirror of the editor's open documents, fed by its notifications.

Invariant: a document's text is, character by character, what the editor last told. Untidy traffic
never raises. Not here: reading the disk, and changing documents (editor_edits.py).
"""

import math
import time
from collections.abc import Callable, Sequence

from agent_host.core.document import Document
from agent_host.core.uris import path_to_uri, same_key, uri_to_path
from agent_host.editing.landed import is_same_but_for_endings
from agent_host.lsp.buffer import Buffer
from agent_host.lsp.host import ContentChange, PositionEncoding

Watcher = Callable[[], None]


class OpenDocument:
    """One document as the editor told it.

    `revision` counts what was told, whatever the versions say. `doubtful` is set when the editor
    addressed a place that the mirror does not have, or saved another text; the next full text
    clears it, or a save, or a change that leads to the text that was saved (`awaited`). `told_at`:
    when the editor last told of a change, by the mirror's clock.
    """

    def __init__(self, uri: str, language_id: str, version: int, text: str) -> None:
        self.uri = uri
        self.path = uri_to_path(uri)
        self.language_id = language_id
        self.version = version
        self.buffer = Buffer(text)
        self.revision = 0
        self.doubtful = False
        self.awaited: str | None = None
        self.told_at = -math.inf
        self.true_path = self.path

    @property
    def text(self) -> str:
        """The whole text."""
        return self.buffer.text

    def frozen(self) -> Document:
        """The document as the core sees it."""
        return Document(
            self.uri,
            self.path,
            self.version,
            self.text,
            self.language_id,
            self.doubtful,
            self.true_path,
        )


class Documents:
    """All open documents. `true_path` follows links: a file is found by its true path too."""

    def __init__(
        self,
        *,
        encoding: PositionEncoding = "utf-16",
        true_path: Callable[[str], str] = lambda path: path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.encoding: PositionEncoding = encoding
        self.clock = clock
        self._true_path = true_path
        self._open: dict[str, OpenDocument] = {}
        self._aliases: dict[str, str] = {}
        self._watchers: dict[str, list[Watcher]] = {}

    def find(self, uri_or_path: str) -> OpenDocument | None:
        """The open document of a URI or an absolute path, however they are spelled."""
        key = same_key(uri_or_path)
        found = self._open.get(key)
        return found or self._open.get(self._aliases.get(key, key))

    def all(self) -> Sequence[OpenDocument]:
        """The open documents, oldest first."""
        return tuple(self._open.values())

    def watch(self, uri: str, watcher: Watcher) -> Callable[[], None]:
        """Call back after each step of a change, opening or closing; returns how to stop.

        A step is one content change: an editor may put its user's typing into one message with
        an edit of ours, and the text in between is what proves the edit.
        """
        key = same_key(uri)
        watchers = self._watchers.setdefault(key, [])
        watchers.append(watcher)

        def stop() -> None:
            watchers.remove(watcher)
            if not watchers and self._watchers.get(key) is watchers:
                del self._watchers[key]

        return stop

    # ---- what the editor tells

    def did_open(self, uri: str, language_id: str, version: int, text: str) -> None:
        """A second opening of an open document replaces its text and keeps a known language."""
        key = same_key(uri)
        before = self._open.get(key)
        document = OpenDocument(uri, language_id, version, text)
        if before is None:
            self._learn_alias(key, document)
        else:
            document.true_path = before.true_path
            document.revision = before.revision + 1
            document.language_id = language_id or before.language_id
        self._open[key] = document
        self._tell(key)

    def did_change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> None:
        """Full or incremental changes, one after the other; ignored for what is not open."""
        key = same_key(uri)
        document = self._open.get(key)
        if document is None:
            return
        document.version = version
        document.told_at = self.clock()
        for change in changes:
            self._change(document, change)
            document.revision += 1
            if document.awaited is not None and document.awaited == document.text:
                document.doubtful, document.awaited = False, None
            self._tell(key)

    def did_save(self, uri: str, text: str | None = None) -> None:
        """What was saved, if it is told, heals a mirror in doubt, and casts doubt on another one.

        That one is not replaced: an editor may tell of what was typed before only after the save.
        """
        key = same_key(uri)
        document = self._open.get(key)
        if document is None or text is None:
            return
        if document.doubtful:
            document.doubtful, document.awaited = False, None
            if text != document.text:
                document.buffer = Buffer(text)
                document.revision += 1
            self._tell(key)
        elif not is_same_but_for_endings(text, document.text):
            document.doubtful, document.awaited = True, text

    def saved_as(self, uri: str, revision: int, text: str) -> None:
        """What the disk holds after a save, if the document was not changed since."""
        document = self._open.get(same_key(uri))
        if document is not None and document.revision == revision:
            self.did_save(uri, text)

    def did_close(self, uri: str) -> None:
        """From now on the disk is the truth."""
        key = same_key(uri)
        if self._open.pop(key, None) is not None:
            self._aliases = {alias: of for alias, of in self._aliases.items() if of != key}
            self._tell(key)

    def _change(self, document: OpenDocument, change: ContentChange) -> None:
        where = change.range
        if where is None:
            document.buffer = Buffer(change.text)
            document.doubtful, document.awaited = False, None
            return
        # The line after the last one is a usual way to say "the end"; further is a mismatch.
        if where.start.line > document.buffer.line_count:
            document.doubtful = True
        start = document.buffer.from_wire(where.start, self.encoding)
        end = document.buffer.from_wire(where.end, self.encoding)
        if (end.line, end.character) < (start.line, start.character):
            start, end = end, start
        document.buffer.replace(start, end, change.text)

    def _learn_alias(self, key: str, document: OpenDocument) -> None:
        if document.path is not None:
            document.true_path = self._true_path(document.path)
            alias = path_to_uri(document.true_path)
            if alias != key:
                self._aliases.setdefault(alias, key)

    def _tell(self, key: str) -> None:
        for watcher in tuple(self._watchers.get(key, ())):
            watcher()
