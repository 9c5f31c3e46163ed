"""Changes open documents through the editor and believes only the text that comes back.

Invariant: "applied" is said only when the editor's own notifications showed the edit. One edit of
a document is in flight at a time. Not here: where an edit goes (editing/locate.py).
"""

import asyncio
from dataclasses import dataclass
from weakref import WeakValueDictionary

from agent_host.core.document import BufferEdit, EditOutcome, Position
from agent_host.core.model import JsonObject
from agent_host.core.uris import same_key
from agent_host.editing.diff import text_edits
from agent_host.editing.landed import has_landed, is_same_but_for_endings, is_untouched
from agent_host.lsp.documents import Documents, OpenDocument
from agent_host.lsp.editor_traits import Traits
from agent_host.lsp.host import Edge, EditorError
from agent_host.lsp.json_values import is_object, text_in

# The slowest editors tell of a change half a second (an idle timer) to 1.3 s later.
_CONFIRM_SECONDS = 1.5
# An editor that refused may still have typing to tell, which makes the difference to "stale".
_SETTLE_SECONDS = 0.3

_READ_AGAIN = "read the file again before you edit it"


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the editor said of an edit; `applied` None: nothing, in all the time it had."""

    applied: bool | None
    reason: str


class Edits:
    """The way of every edit of an open document."""

    def __init__(self, edge: Edge, documents: Documents, traits: Traits) -> None:
        self._edge = edge
        self._documents = documents
        self._traits = traits
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        """Send the edit if the document still holds `before`, and find out what became of it."""
        lock = self._locks.setdefault(same_key(edit.uri), asyncio.Lock())
        async with lock:
            document = self._documents.find(edit.uri)
            if document is None:
                return EditOutcome("stale", "", "the document is not open in the editor any more")
            if document.doubtful:
                reason = "what the editor told of this document does not fit; it must be saved or "
                return EditOutcome("refused", document.text, reason + "reopened first")
            if document.text != edit.before:
                return EditOutcome("stale", document.text, "the text has changed meanwhile")
            if edit.before == edit.after:
                return EditOutcome("applied", document.text)
            flight = _Flight(self._documents, document, edit, apart=self._may_misplace(document))
            try:
                reply = await self._send(document, edit)
                return await flight.outcome(reply)
            finally:
                flight.end()

    def _may_misplace(self, document: OpenDocument) -> bool:
        # Version 0 is no version to some editors, so that nothing is checked.
        traits = self._traits
        checked = traits.checks_versions and traits.takes_document_changes
        return not checked or document.version == 0

    async def _send(self, document: OpenDocument, edit: BufferEdit) -> _Reply:
        params = self._params(document, edit)
        try:
            answer = await self._edge.ask("workspace/applyEdit", params, self._traits.edit_seconds)
        except TimeoutError:
            return _Reply(None, "the editor did not answer, so the edit may still come")
        except EditorError as error:
            return _Reply(applied=False, reason=f"the editor answered with an error: {error}")
        if is_object(answer) and answer.get("applied") is True:
            return _Reply(applied=True, reason="")
        reason = text_in(answer, "failureReason") if is_object(answer) else None
        return _Reply(applied=False, reason=reason or "the editor did not apply the edit")

    def _params(self, document: OpenDocument, edit: BufferEdit) -> JsonObject:
        edits = [
            {
                "range": {
                    "start": self._wire(document, change.range.start),
                    "end": self._wire(document, change.range.end),
                },
                "newText": change.text,
            }
            for change in text_edits(edit.before, edit.after)
        ]
        if not self._traits.takes_document_changes:
            return {"label": edit.label, "edit": {"changes": {document.uri: edits}}}
        identifier = {"uri": document.uri, "version": document.version}
        changes = [{"textDocument": identifier, "edits": edits}]
        return {"label": edit.label, "edit": {"documentChanges": changes}}

    def _wire(self, document: OpenDocument, position: Position) -> JsonObject:
        place = document.buffer.to_wire(position, self._documents.encoding)
        return {"line": place.line, "character": place.character}


class _Flight:
    """One edit on its way: watches every step of the document from sending to verdict."""

    def __init__(
        self, documents: Documents, document: OpenDocument, edit: BufferEdit, *, apart: bool
    ) -> None:
        self._documents = documents
        self._uri = document.uri
        self._edit = edit
        self._apart = apart
        self._was_seen = False
        self._changed = asyncio.Event()
        self.end = documents.watch(document.uri, self._look)

    async def outcome(self, reply: _Reply) -> EditOutcome:
        """Wait until the document shows what became of the edit, or the time is over."""
        seconds = _CONFIRM_SECONDS if reply.applied else _SETTLE_SECONDS
        try:
            async with asyncio.timeout(seconds):
                while not self._has_landed() and not self._is_hopeless(reply):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self._verdict(reply)

    def _look(self) -> None:
        document = self._documents.find(self._uri)
        if document is not None and document.text == self._edit.after:
            self._was_seen = True
        self._changed.set()

    def _text(self) -> str | None:
        document = self._documents.find(self._uri)
        return None if document is None else document.text

    def _has_landed(self) -> bool:
        text, edit = self._text(), self._edit
        if self._was_seen or text is None or text == edit.before:
            return self._was_seen
        if has_landed(edit.before, edit.after, text, apart=self._apart):
            return True
        is_about_endings = is_same_but_for_endings(edit.before, edit.after)
        return is_same_but_for_endings(edit.after, text) and not is_about_endings

    def _is_hopeless(self, reply: _Reply) -> bool:
        """Nothing more can come: refused, and the text is another one already; or closed."""
        text = self._text()
        return text is None or (reply.applied is False and text != self._edit.before)

    def _verdict(self, reply: _Reply) -> EditOutcome:
        text, edit = self._text(), self._edit
        if text is None:
            status = "applied" if self._was_seen else "stale"
            return EditOutcome(status, "", f"the document was closed meanwhile; {_READ_AGAIN}")
        if self._has_landed():
            return EditOutcome("applied", text, _difference(edit.after, text))
        if text == edit.before:
            return EditOutcome("refused", text, _unconfirmed(reply))
        # Without an answer the edit may still come, and must not be sent a second time.
        if reply.applied is None:
            return EditOutcome("refused", text, f"{reply.reason}; {_READ_AGAIN}")
        if is_untouched(edit.before, edit.after, text, apart=self._apart):
            return EditOutcome("stale", text, "the text has changed meanwhile")
        reason = "the text changed at the same place while the editor applied the edit"
        doubt = ", which may be misplaced" if self._apart else ""
        return EditOutcome("refused", text, f"{reason}{doubt}; {_READ_AGAIN}")


def _difference(after: str, text: str) -> str | None:
    if text == after:
        return None
    if is_same_but_for_endings(after, text):
        return "the editor keeps its own line endings"
    return "the text was also changed by somebody else"


def _unconfirmed(reply: _Reply) -> str:
    if reply.applied is False:
        return reply.reason
    said = reply.reason or "the editor says that it applied the edit, but told of no change"
    return f"{said}; {_READ_AGAIN}"
