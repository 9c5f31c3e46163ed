"""The Editor port over LSP: where questions, edits, texts and progress meet the wire.

Every request to the editor has a bound or is a person's to answer. Not here: what each of them
does (editor_*.py), and the mirror of the editor's documents (documents.py).
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from agent_host.core.document import BufferEdit, Document, EditOutcome, Position, Range
from agent_host.core.events import NumberedDelta
from agent_host.core.model import JsonObject
from agent_host.core.permission import Answer, Question
from agent_host.core.uris import path_to_uri
from agent_host.lsp.documents import Documents
from agent_host.lsp.editor_edits import Edits
from agent_host.lsp.editor_moves import Moves
from agent_host.lsp.editor_progress import Progress
from agent_host.lsp.editor_questions import Questions
from agent_host.lsp.editor_texts import Texts
from agent_host.lsp.editor_traits import traits_of
from agent_host.lsp.host import Edge, EditorError
from agent_host.lsp.json_values import is_list, is_object, list_in

_SHOW_SECONDS = 10.0
_WARNING = 2
_DIAGNOSE_SECONDS = 10.0
# Saving runs formatters and asks about files that changed on disk.
_SAVE_SECONDS = 30.0


class LspEditor:
    """Implements core.ports.Editor. `on_cancel` gets the id of a run that is cancelled there."""

    def __init__(
        self,
        edge: Edge,
        documents: Documents,
        *,
        state_dir: Path,
        on_cancel: Callable[[str], None],
    ) -> None:
        self._edge = edge
        self._documents = documents
        self._traits = traits_of(edge.client)
        self._texts = Texts(state_dir / "shown")
        self._edits = Edits(edge, documents, self._traits)
        self._moves = Moves(edge, documents, self._traits)
        self._questions = Questions(edge, self._traits, self.show_text)
        self._progress = Progress(edge, self._traits, on_cancel)

    # ---- questions

    @property
    def can_ask(self) -> bool:
        """Whether a question has any way to a person."""
        return self._questions.can_ask

    async def ask(self, question: Question) -> Answer:
        """Ask a person. Cancelling withdraws the dialog; a late answer is ignored."""
        return await self._questions.ask(question)

    # ---- documents

    def document(self, uri_or_path: str) -> Document | None:
        """The open document of that URI or absolute path."""
        found = self._documents.find(uri_or_path)
        return None if found is None else found.frozen()

    def documents(self) -> Sequence[Document]:
        """All open documents."""
        return tuple(document.frozen() for document in self._documents.all())

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        """Change an open document in one undo step, and verify it."""
        return await self._edits.apply(edit)

    @property
    def previews(self) -> bool:
        """Whether it shows an edit first where it is asked to."""
        return self._traits.previews

    @property
    def moves(self) -> Literal["all", "clean", "none"]:
        """Which open documents it takes along when it moves files."""
        return self._traits.moves

    async def move(self, uri: str, to: str) -> bool:
        """Have it move a file or directory; whether it answered."""
        return await self._moves.move(uri, to)

    async def save(self, uris: Sequence[str]) -> Sequence[str]:
        """Save open documents by `agent/save`; returns those that the editor says it saved."""
        if not self._traits.saves or not uris:
            return ()
        answer = await self._try("agent/save", {"uris": list(uris)}, _SAVE_SECONDS)
        saved = list_in(answer, "saved") if is_object(answer) else ()
        return tuple(uri for uri in uris if uri in saved)

    @property
    def can_diagnose(self) -> bool:
        """Whether the editor has declared `agent/diagnostics`."""
        return self._traits.diagnoses

    async def diagnostics(self, uri: str) -> Sequence[JsonObject] | None:
        """What the editor shows for a document; None if it does not tell."""
        if not self._traits.diagnoses:
            return None
        answer = await self._try("agent/diagnostics", {"uri": uri}, _DIAGNOSE_SECONDS)
        if not is_object(answer) or not is_list(answer.get("diagnostics")):
            return None
        return tuple(each for each in list_in(answer, "diagnostics") if is_object(each))

    def files_changed(self, paths: Sequence[str], *, left_open: Sequence[Document] = ()) -> None:
        """Say which documents have no file any more.

        Of changed files LSP has no message to an editor: editors watch the disk themselves.
        """
        del paths
        if left_open:
            names = ", ".join(each.path or each.uri for each in left_open)
            message = (
                f"The agent has moved or deleted the file of what is still open: {names}. "
                "Close it; saving it would make the file anew under this name."
            )
            self._edge.notify("window/showMessage", {"type": _WARNING, "message": message})

    # ---- showing

    async def show(
        self, uri: str, selection: Range | None = None, *, takes_focus: bool = False
    ) -> bool:
        """Open a document; the keyboard stays where the person types unless `takes_focus`."""
        if not self._traits.shows_documents:
            return False
        params: dict[str, object] = {"uri": uri, "takeFocus": takes_focus}
        if selection is not None:
            params["selection"] = self._wire_range(uri, selection)
        try:
            answer = await self._edge.ask("window/showDocument", params, _SHOW_SECONDS)
        except EditorError:
            # Neovim opens the document and then fails at a place that is not there.
            return selection is not None and await self.show(uri, takes_focus=takes_focus)
        except TimeoutError:
            return False
        return is_object(answer) and answer.get("success") is True

    async def show_text(self, title: str, text: str) -> str | None:
        """Open a text as a read-only file of the state directory; else say where that is."""
        try:
            path = await asyncio.to_thread(self._texts.write, title, text)
        except OSError as error:
            return f"(It can't be shown: {error.strerror}.)"
        if await self.show(path_to_uri(str(path)), takes_focus=True):
            return None
        return f"(All of it is in {path}.)"

    # ---- deltas and progress

    def send(self, delta: NumberedDelta) -> None:
        """Queue a delta; never blocks."""
        self._edge.send_delta(delta)

    def backlog(self) -> int:
        """Bytes queued for the editor that it has not read yet."""
        return self._edge.backlog()

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back whenever the backlog has shrunk; returns how to unsubscribe."""
        return self._edge.on_drained(callback)

    async def begin_progress(self, run_id: str, title: str, token: str | int | None) -> None:
        """Show a run in the editor; returns at once, whatever the editor does about it."""
        self._progress.begin(run_id, title, token)

    def report_progress(self, run_id: str, message: str) -> None:
        """Change the shown run's one line of text."""
        self._progress.report(run_id, message)

    def end_progress(self, run_id: str, message: str) -> None:
        """Take the shown run away."""
        self._progress.end(run_id, message)

    def progress_cancelled(self, token: str | int) -> None:
        """The user pressed Cancel (`window/workDoneProgress/cancel`)."""
        self._progress.cancelled(token)

    # ---- the wire

    async def _try(self, method: str, params: JsonObject, seconds: float) -> object:
        try:
            return await self._edge.ask(method, params, seconds)
        except (EditorError, TimeoutError):
            return None

    def _wire_range(self, uri: str, selection: Range) -> JsonObject:
        return {
            "start": self._wire(uri, selection.start),
            "end": self._wire(uri, selection.end),
        }

    def _wire(self, uri: str, position: Position) -> JsonObject:
        document = self._documents.find(uri)
        if document is not None:
            position = document.buffer.on_a_line(position)
            position = document.buffer.to_wire(position, self._documents.encoding)
        return {"line": position.line, "character": position.character}
