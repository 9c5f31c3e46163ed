"""Changes open documents through the editor and believes only the text that comes back.

Invariant: one edit of a document is in flight at a time. Not here: the verdict on an edit
(editor_flight.py), and where an edit goes (editing/locate.py).
"""

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

from agent_host.core.document import BufferEdit, EditOutcome, Position
from agent_host.core.model import JsonObject
from agent_host.core.uris import same_key
from agent_host.editing.diff import text_edits
from agent_host.editing.merge import merged
from agent_host.lsp.documents import Documents, OpenDocument
from agent_host.lsp.editor_flight import NOT_APPLIED, Flight, Reply
from agent_host.lsp.editor_misplaced import WireEdit, wire_edits
from agent_host.lsp.editor_traits import Traits
from agent_host.lsp.host import Edge, EditorError
from agent_host.lsp.json_values import is_object, list_in, text_in

_MOST_REPAIRS = 5
_MOST_WAITED = 20.0
# A person looks at a preview as long as it takes; an editor that forgot it does not hold a run.
_PREVIEW_SECONDS = 1800.0
_UNKNOWN_METHOD = -32601
_ANNOTATION = "agent"
_WARNING = 2
_TYPING = "the person types all the time, and this editor could lose some of it; try again later"
_DOUBTFUL = (
    "what the editor told of this document does not fit; it must be saved or reopened there first"
)


class Edits:
    """The way of every edit of an open document."""

    def __init__(self, edge: Edge, documents: Documents, traits: Traits) -> None:
        self._edge = edge
        self._documents = documents
        self._traits = traits
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        """Send the edit if the document still holds `before`, and find out what became of it."""
        document = self._documents.find(edit.uri)
        key = same_key(document.uri if document else edit.uri)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            outcome, without = await self._once(edit)
            if without is not None:
                outcome = await self._take_back(edit, outcome, without)
            if outcome.status == "refused" and outcome.text not in (edit.before, edit.after):
                self._warn(edit)
            return outcome

    async def _once(self, edit: BufferEdit) -> tuple[EditOutcome, str | None]:
        """The outcome, and for a misplaced edit the text as it would be without it."""
        document = self._documents.find(edit.uri)
        if document is None:
            return EditOutcome("stale", "", "the document is not open in the editor any more"), None
        if document.doubtful:
            return EditOutcome("refused", document.text, _DOUBTFUL), None
        if document.text != edit.before:
            return EditOutcome("stale", document.text, "the text has changed meanwhile"), None
        if edit.before == edit.after:
            return EditOutcome("applied", document.text), None
        if not await self._is_quiet(edit):
            return EditOutcome("refused", document.text, _TYPING), None
        if document.text != edit.before:
            return EditOutcome("stale", document.text, "the text has changed meanwhile"), None
        encoding = self._documents.encoding
        edits = wire_edits(document.buffer, edit.before, edit.after, encoding)
        apart = self._may_misplace(document)
        flight = Flight(self._documents, document, edit, edits, apart=apart)
        try:
            reply = await self._reply(flight, document, edits, edit)
            return await flight.outcome(reply), flight.text_without
        finally:
            flight.end()

    async def _reply(
        self, flight: Flight, document: OpenDocument, edits: Sequence[WireEdit], edit: BufferEdit
    ) -> Reply:
        """What the editor says, or that its text shows the edit while it says nothing."""
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(self._send(document, edits, edit))
            showing = tasks.create_task(flight.shown())
            await asyncio.wait({asking, showing}, return_when=asyncio.FIRST_COMPLETED)
            is_answered = asking.done()
            asking.cancel()
            showing.cancel()
        return asking.result() if is_answered else Reply(applied=True, reason="")

    async def _is_quiet(self, edit: BufferEdit) -> bool:
        """Wait for a moment in which nobody types, where text could be lost else."""
        seconds = self._traits.quiet_seconds
        edits = text_edits(edit.before, edit.after) if seconds else ()
        removes = any(each.range.start != each.range.end for each in edits)
        if not removes:
            return True
        try:
            async with asyncio.timeout(_MOST_WAITED):
                # It is time itself that is waited for.
                while (left := self._unquiet(edit.uri, seconds)) > 0:  # noqa: ASYNC110
                    await asyncio.sleep(left)
        except TimeoutError:
            return False
        return True

    def _unquiet(self, uri: str, seconds: float) -> float:
        """How long it takes yet until nothing was told of the document for so long."""
        document = self._documents.find(uri)
        return 0.0 if document is None else document.told_at + seconds - self._documents.clock()

    async def _take_back(self, edit: BufferEdit, outcome: EditOutcome, without: str) -> EditOutcome:
        """Take a misplaced edit back, so that nothing is lost of what the person typed."""
        text, wanted = outcome.text, without
        for _ in range(_MOST_REPAIRS):
            back = BufferEdit(edit.uri, text, wanted, edit.label)
            repair, without_repair = await self._once(back)
            if repair.status == "applied":
                return EditOutcome("stale", repair.text, "the text has changed meanwhile")
            typed = repair.text if without_repair is None else without_repair
            if without_repair is None and repair.status == "refused":
                break
            still_wanted = merged(base=text, ours=wanted, theirs=typed)
            if still_wanted is None:
                break
            text, wanted = repair.text, still_wanted
        return outcome

    def _warn(self, edit: BufferEdit) -> None:
        """Nothing that was typed may be lost: what went wrong is one undo step away."""
        name = edit.uri.rpartition("/")[2]
        message = (
            f"{name} changed while it was edited: look at it, and undo the edit if it is wrong"
        )
        self._edge.notify("window/showMessage", {"type": _WARNING, "message": message})

    def _may_misplace(self, document: OpenDocument) -> bool:
        # Version 0 is no version to some editors, so that nothing is checked.
        traits = self._traits
        checked = traits.checks_versions and traits.takes_document_changes
        return not checked or document.version == 0

    async def _send(
        self, document: OpenDocument, edits: Sequence[WireEdit], edit: BufferEdit
    ) -> Reply:
        wire = self._workspace_edit(document, edits)
        if edit.confirm:
            wire = _to_confirm(wire, edit.label)
        params: dict[str, object] = {"edit": wire}
        if edit.label:
            params["label"] = edit.label
        seconds = _PREVIEW_SECONDS if edit.confirm else self._traits.edit_seconds
        try:
            answer = await self._edge.ask("workspace/applyEdit", params, seconds)
        except TimeoutError:
            return Reply(None, "the editor did not answer, so the edit may still come")
        except EditorError as error:
            reason = f"the editor answered with an error: {error}"
            return Reply(applied=False, reason=reason, broke=error.number != _UNKNOWN_METHOD)
        if is_object(answer) and answer.get("applied") is True:
            return Reply(applied=True, reason="")
        reason = text_in(answer, "failureReason") if is_object(answer) else None
        return Reply(applied=False, reason=reason or NOT_APPLIED)

    def _workspace_edit(self, document: OpenDocument, edits: Sequence[WireEdit]) -> JsonObject:
        changes = [
            {
                "range": {"start": _wire(edit.start), "end": _wire(edit.end)},
                "newText": edit.text,
            }
            for edit in edits
        ]
        if not self._traits.takes_document_changes:
            return {"changes": {document.uri: changes}}
        identifier = {"uri": document.uri, "version": document.version}
        return {"documentChanges": [{"textDocument": identifier, "edits": changes}]}


def _to_confirm(edit: JsonObject, label: str) -> JsonObject:
    """The edit with each of its places to be confirmed by the person."""
    (change,) = (each for each in list_in(edit, "documentChanges") if is_object(each))
    annotated = [
        {**each, "annotationId": _ANNOTATION}
        for each in list_in(change, "edits")
        if is_object(each)
    ]
    return {
        "documentChanges": [{**change, "edits": annotated}],
        "changeAnnotations": {_ANNOTATION: {"label": label, "needsConfirmation": True}},
    }


def _wire(position: Position) -> JsonObject:
    return {"line": position.line, "character": position.character}
