"""Changes of one file's text: planned from what is there now, shown as a diff, made if unchanged.

The text is the open document's where there is one, else the disk's. A change whose text moved on
since it was planned is never made: `Moved` says so, and the caller plans again.
"""

import asyncio
import hashlib
import posixpath
from collections.abc import Callable
from dataclasses import dataclass

from agent_host.core.actions import EditFile, FileChange, PathFacts, WriteFile
from agent_host.core.document import BufferEdit, Document, EditOutcome
from agent_host.core.errors import ActionFailed
from agent_host.core.permission import EditPart
from agent_host.core.ports import Actions, Editor
from agent_host.core.uris import path_to_uri
from agent_host.editing.diff import text_edits, unified
from agent_host.editing.landed import is_same_but_for_endings
from agent_host.editing.locate import replace_all, rewrite_all
from agent_host.editing.text import FileText, decode, normalised, split_lines
from agent_host.session.ledger import Ledger
from agent_host.session.places import missing_directories
from agent_host.session.saving import NOT_SAVED, Saver
from agent_host.session.twins import the_open, twins_of


class Moved(Exception):
    """The text is not the one that the change was planned from."""


class Discarded(Exception):
    """A person has accepted nothing of it in the editor's preview."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change that could be made. `before` None: the file is to be created.

    `document` is the open document that it is made in, or None for the disk; `base` is the hash
    of the file's bytes on disk that it was planned from. `name` is short, for people.
    """

    uri: str
    name: str
    path: str | None
    before: str | None
    after: str
    document: Document | None
    file: FileText
    base: str | None
    diff: str

    @property
    def unsaved(self) -> bool:
        """Whether the editor's text is not the disk's."""
        return self.document is not None and (
            self.base is None
            or hashlib.sha256(self.file.encoded(self.document.text)).hexdigest() != self.base
        )

    @property
    def size(self) -> int:
        """How many lines the diff adds and removes."""
        return sum(
            line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
            for line in self.diff.splitlines()
        )


class Changes:
    """Plans and makes changes. `saves` says whether clean buffers are saved after an edit."""

    def __init__(
        self,
        editor: Editor,
        actions: Actions,
        *,
        show: Callable[[str], str],
        saves: Callable[[], bool],
    ) -> None:
        self._editor = editor
        self._actions = actions
        self._show = show
        self._saves = saves
        self._saver = Saver(editor, actions)

    async def plan(self, action: FileChange, facts: PathFacts | None) -> Change:
        """The change that an action comes to. Raises ActionFailed with help for the model."""
        document = await the_open(self._editor, self._actions, action.path, facts)
        path = facts.true_path if facts else None
        file, base = await self._on_disk(path, facts)
        if document is not None:
            before: str | None = document.text
        else:
            before = file.text if base is not None else None
        if document is None and path is None:
            raise ActionFailed("not_found", f"{action.path} is not open in the editor.")
        name = self._show(path or action.path)
        # Thousands of places in a large text take seconds, in which the editor must be served.
        after, diff = await asyncio.to_thread(_compared, action, before, name)
        return Change(
            uri=document.uri if document else path_to_uri(path or action.path),
            name=name,
            path=path,
            before=before,
            after=after,
            document=document,
            file=file,
            base=base,
            diff=diff,
        )

    def places(self, action: FileChange, change: Change) -> tuple[EditPart, ...]:
        """Each replacement of a planned edit as if it were the only one; ids count from 1."""
        before = change.before
        if before is None or not isinstance(action, EditFile):
            return ()
        parts: list[EditPart] = []
        for number, replacement in enumerate(action.replacements, 1):
            after = replace_all(before, (replacement,))
            edits = text_edits(before, after)
            line = edits[0].range.start.line + 1 if edits else 1
            diff = unified(before, after, change.name)
            parts.append(EditPart(str(number), f"{change.name}, line {line}", change.uri, diff))
        return tuple(parts)

    async def write_down(self, change: Change, ledger: Ledger) -> str:
        """Note in the ledger that it is about to be made on disk; returns the entry's id."""
        before = None if change.before is None else change.file.encoded(change.before)
        return await ledger.planned(
            change.uri, before, change.file.encoded(change.after), open=False
        )

    async def make(self, change: Change, ledger: Ledger, *, confirm: bool = False) -> str:
        """Make it; returns a note for the model (what is not saved), or "". Raises Moved.

        `confirm`: in an open document, as a person accepts it in a preview; raises Discarded.
        """
        before = None if change.before is None else change.file.encoded(change.before)
        after = change.file.encoded(change.after)
        entries = await self._planned_directories(change, ledger)
        entry = await ledger.planned(change.uri, before, after, open=change.document is not None)
        try:
            if change.document is not None:
                outcome = await self._edit(change, change.document, confirm=confirm)
                if outcome.status == "part":
                    ledger.settled(entry, made=False)
                    part = change.file.encoded(outcome.text)
                    entry = await ledger.planned(change.uri, before, part, open=True)
                note = await self._saved(change, change.document, outcome)
            else:
                note = await self._write(change, after)
        except (ActionFailed, Moved, Discarded) as failure:
            # What the editor did not confirm may still come, as does what is cancelled: both stay
            # planned in the ledger, until what is there tells (settling.py).
            if not (isinstance(failure, ActionFailed) and failure.code == "denied"):
                for each in (*entries, entry):
                    ledger.settled(each, made=False)
            raise
        for each in (*entries, entry):
            ledger.settled(each, made=True)
        return f"{note} {self._stale(change)}".strip()

    def _stale(self, change: Change) -> str:
        """A note on documents of the same file that do not show the change."""
        if change.document is None or change.path is None:
            return ""
        of_file = twins_of(self._editor, change.path)
        now = next((each for each in of_file if each.uri == change.uri), None)
        left = [each for each in of_file if now is not None and each.text != now.text]
        names = ", ".join(each.path or each.uri for each in left)
        return f"The same file is open as {names} too, without this change." if left else ""

    async def _planned_directories(self, change: Change, ledger: Ledger) -> tuple[str, ...]:
        """A new file's directories are made with it."""
        if change.path is None or change.before is not None or change.document is not None:
            return ()
        parent = posixpath.dirname(change.path)
        return await ledger.planned_directories(await missing_directories(self._actions, parent))

    async def _on_disk(
        self, path: str | None, facts: PathFacts | None
    ) -> tuple[FileText, str | None]:
        if path is None or facts is None or facts.kind == "missing":
            return FileText(""), None
        if facts.kind == "directory":
            raise ActionFailed("not_regular", f"{path} is a directory.")
        read = await self._actions.read(path)
        return decode(read.data), read.sha256

    async def _edit(self, change: Change, document: Document, *, confirm: bool) -> EditOutcome:
        outcome = await self._editor.apply(
            BufferEdit(document.uri, document.text, change.after, "Agent edit", confirm)
        )
        match outcome.status:
            case "stale":
                raise Moved
            case "discarded":
                raise Discarded
            case "refused":
                raise ActionFailed("denied", outcome.reason or "The editor did not make the edit.")
            case "applied" | "part":
                return outcome

    async def _saved(self, change: Change, document: Document, outcome: EditOutcome) -> str:
        """Save what was clean, if that is wanted; a note on what is not as planned."""
        if outcome.status == "part":
            made = unified(change.before, outcome.text, change.name)
            return f"{NOT_SAVED} The user accepted a part of it only; this was changed:\n{made}"
        was_clean = not change.unsaved
        now = self._editor.document(document.uri)
        # What a person typed is never saved by us, before the edit or since.
        is_ours = now is not None and is_same_but_for_endings(now.text, change.after)
        if now is None or not (was_clean and is_ours and self._saves()):
            return NOT_SAVED
        return await self._saver.save_one(now, change.base)

    async def _write(self, change: Change, after: bytes) -> str:
        if change.path is None:
            raise ActionFailed("not_found", "The document was closed meanwhile.")
        if self._editor.document(change.path) is not None:
            raise Moved  # it was opened while the question was open
        try:
            await self._actions.write(change.path, after, expected_sha256=change.base)
        except ActionFailed as failure:
            if failure.code in ("stale", "exists"):
                raise Moved from None
            raise
        self._editor.files_changed([change.path])
        return ""


def _compared(action: FileChange, before: str | None, name: str) -> tuple[str, str]:
    """The new text, and the diff to it. Raises ActionFailed."""
    after = _after(action, before)
    if after == before:
        raise ActionFailed("invalid", "The file already has exactly this text.")
    return after, unified(before, after, name)


def _after(action: FileChange, before: str | None) -> str:
    match action:
        case WriteFile(text=text):
            return text if before is None else rewrite_all(before, text)
        case EditFile(path=path, replacements=replacements):
            if before is None:
                raise ActionFailed("not_found", f"There is no file {path}.")
            return replace_all(before, replacements)


def exact_lines(text: str, offset: int, limit: int | None) -> str:
    """Lines as they are, the line breaks included."""
    if offset == 1 and limit is None:
        return text
    lines = split_lines(text)
    return "".join(lines[offset - 1 : None if limit is None else offset - 1 + limit])


def numbered(text: str, offset: int, limit: int | None) -> tuple[str, int, int]:
    """Lines with their numbers for the model, how many the text has, and how many are shown."""
    lines = normalised(text).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    last = len(lines) if limit is None else min(len(lines), offset - 1 + limit)
    shown = lines[offset - 1 : last]
    return (
        "\n".join(f"{offset + n}\t{line}" for n, line in enumerate(shown)),
        len(lines),
        len(shown),
    )
