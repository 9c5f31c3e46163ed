"""What became of one edit: the verdict on it, from what the editor said and what its text shows.

Invariant: "applied" is said only when the editor's own notifications showed the edit. Not here:
sending (editor_edits.py).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agent_host.core.document import BufferEdit, EditOutcome
from agent_host.editing.landed import (
    has_landed,
    is_part,
    is_same_but_for_endings,
    is_untouched,
)
from agent_host.lsp.documents import Documents, OpenDocument
from agent_host.lsp.editor_misplaced import WireEdit, text_without

# The slowest editors tell of a change half a second (an idle timer) to 1.3 s later.
_CONFIRM_SECONDS = 1.5
# An editor that refused may still have typing to tell, which makes the difference to "stale".
_SETTLE_SECONDS = 0.7

# Most editors answer at the same time as they tell of the change; some never do.
_SILENT_SECONDS = 0.5

NOT_APPLIED = "the editor did not apply the edit"
"""Why, of an editor that gives no reason."""
_READ_AGAIN = "read the file again before you edit it"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the editor said of an edit; `applied` None: nothing, in all the time it had.

    `broke`: it broke while it made the edit; Eglot also says so of an edit of an older text.
    """

    applied: bool | None
    reason: str
    broke: bool = False


class Flight:
    """Watches every step of the document from the sending of an edit to the verdict on it.

    `apart`: the editor may have put the edit at a wrong place. When it did, `text_without` is the
    text as it would be without the edit, if that can be known.
    """

    def __init__(
        self,
        documents: Documents,
        document: OpenDocument,
        edit: BufferEdit,
        wire_edits: Sequence[WireEdit],
        *,
        apart: bool,
    ) -> None:
        self.text_without: str | None = None
        self._documents = documents
        self._uri = document.uri
        self._edit = edit
        self._wire_edits = wire_edits
        self._apart = apart
        self._states = [edit.before]
        self._was_seen = False
        self._changed = asyncio.Event()
        self.end = documents.watch(document.uri, self._look)

    async def outcome(self, reply: Reply) -> EditOutcome:
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

    async def shown(self) -> None:
        """Return when its place has changed for so long that no answer is to be expected."""
        while not self._has_landed() and not self._is_touched():
            self._changed.clear()
            await self._changed.wait()
        await asyncio.sleep(_SILENT_SECONDS)

    def _look(self) -> None:
        text = self._text()
        if text == self._edit.after:
            self._was_seen = True
        if self._apart and text is not None and text != self._states[-1]:
            self._states.append(text)
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

    def _is_touched(self) -> bool:
        text, edit = self._text(), self._edit
        is_same = text is None or is_untouched(edit.before, edit.after, text, apart=self._apart)
        return not is_same

    def _is_hopeless(self, reply: Reply) -> bool:
        """Nothing more can come: closed, or misplaced, or refused for a text that has changed."""
        text = self._text()
        if text is None or (reply.applied is False and text != self._edit.before):
            return True
        if self._apart and len(self._states) > 1:
            encoding = self._documents.encoding
            self.text_without = text_without(self._states, self._wire_edits, encoding)
        return self.text_without is not None

    def _verdict(self, reply: Reply) -> EditOutcome:
        text, edit = self._text(), self._edit
        if text is None:
            status = "applied" if self._was_seen else "stale"
            return EditOutcome(status, "", f"the document was closed meanwhile; {_READ_AGAIN}")
        if self._has_landed():
            return EditOutcome("applied", text, _difference(edit.after, text))
        if text == edit.before:
            is_discarded = edit.confirm and reply.reason == NOT_APPLIED
            status = "discarded" if is_discarded else "refused"
            may_come = reply.applied is not False or reply.broke
            return EditOutcome(status, text, _unconfirmed(reply), may_come=may_come)
        if edit.confirm and reply.applied and is_part(edit.before, edit.after, text):
            return EditOutcome("part", text)
        # Without an answer the edit may still come, and must not be sent a second time.
        if reply.applied is None:
            return EditOutcome("refused", text, f"{reply.reason}; {_READ_AGAIN}", may_come=True)
        # Who puts edits at wrong places and says that this one is made, has put it somewhere.
        is_somewhere = self._apart and reply.applied
        if not is_somewhere and is_untouched(edit.before, edit.after, text, apart=self._apart):
            return EditOutcome("stale", text, "the text has changed meanwhile")
        reason = "the text changed at the same place while the editor applied the edit"
        doubt = ", which may be misplaced" if self._apart else ""
        return EditOutcome("refused", text, f"{reason}{doubt}; {_READ_AGAIN}", may_come=True)


def _difference(after: str, text: str) -> str | None:
    if text == after:
        return None
    if is_same_but_for_endings(after, text):
        return "the editor keeps its own line endings"
    return "the text was also changed by somebody else"


def _unconfirmed(reply: Reply) -> str:
    if reply.applied is False:
        return reply.reason
    said = reply.reason or "the editor says that it applied the edit, but told of no change"
    return f"{said}; {_READ_AGAIN}"
