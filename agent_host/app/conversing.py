"""Conversation documents as an editor without a plug-in meets them: lenses, actions, completion.

Everything but completion is answered from memory. Not here: commands (conversation_commands.py).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_host.conversation.conversations import Conversations
from agent_host.conversation.files import WorkspaceFiles
from agent_host.conversation.format import Conversation
from agent_host.conversation.mentions import MOST_OFFERED, Typed, matching, mention, typed
from agent_host.conversation.offers import (
    Offer,
    Place,
    about_place,
    about_questions,
    in_conversation,
    nearest,
    stop,
)
from agent_host.conversation.questions import OpenQuestions
from agent_host.core.document import Position, Range
from agent_host.core.model import JsonObject
from agent_host.lsp.documents import Documents, OpenDocument
from agent_host.lsp.host import Edge, EditorError
from agent_host.lsp.json_values import is_object, list_in, object_in, text_in

REFRESH_SECONDS = 5.0
_FILE, _FOLDER, _KEYWORD = 17, 19, 14
_SYMBOL_YOU, _SYMBOL_AGENT = 15, 24
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class PromptCommand:
    """What a prompt can begin with: `/name`."""

    name: str
    description: str


class Conversing:
    """`running` tells the runs that go on, `commands` what a prompt can begin with."""

    def __init__(
        self,
        edge: Edge,
        documents: Documents,
        conversations: Conversations,
        questions: OpenQuestions,
        files: WorkspaceFiles,
        *,
        running: Callable[[], Sequence[str]],
        commands: Callable[[], Awaitable[Sequence[PromptCommand]]],
    ) -> None:
        self._edge = edge
        self._documents = documents
        self._conversations = conversations
        self._questions = questions
        self._files = files
        self._running = running
        self._commands = commands
        self._refreshing = False
        self._lenses_asked = False

    # ---- lenses and actions

    def code_lenses(self, uri: str) -> Sequence[JsonObject]:
        """The lenses of a conversation document; other documents have none."""
        conversation = self._conversations.shelf.conversation(uri)
        if conversation is None:
            return ()
        self._lenses_asked = True
        return [
            {"range": _at_line(offer.line), "command": _command(offer, offer.title)}
            for offer in self._offers(uri, conversation)
        ]

    def code_actions(self, uri: str, where: Range, context: JsonObject) -> Sequence[JsonObject]:
        """What can be done here now. `where` is in any units: lines are enough."""
        conversation = self._conversations.shelf.conversation(uri)
        running, questions = self._running(), self._questions.all()
        if conversation is not None:
            offers = [*nearest(self._offers(uri, conversation), where.end.line)]
        else:
            offers = [*about_questions(questions)]
            offers += [stop(None)] if running else []
        wanted = [each for each in list_in(context, "only") if isinstance(each, str)]
        actions = [_action(offer, f"Agent: {_lower(offer.title)}") for offer in offers]
        if conversation is None:
            place = self._place(uri, where, context)
            actions += [_action(offer, offer.title) for offer in about_place(place)]
        if not wanted:
            return actions
        return [each for each in actions if any(_is_kind(each["kind"], kind) for kind in wanted)]

    def refresh(self) -> None:
        """Have the editor ask for the lenses again, if it takes such a request and has any."""
        lens = object_in(self._edge.client.capabilities, "workspace", "codeLens")
        if not self._lenses_asked or self._refreshing:
            return
        if lens.get("refreshSupport") is True:
            self._refreshing = True
            self._edge.tasks.create_task(self._refresh())

    # ---- the shape of a document

    def folding_ranges(self, uri: str) -> Sequence[JsonObject] | None:
        """Each entry, and each block of what the agent did; None for other documents."""
        conversation, document = (
            self._conversations.shelf.conversation(uri),
            self._documents.find(uri),
        )
        if conversation is None or document is None:
            return None
        found = [
            (entry.line, entry.last_line)
            for entry in conversation.entries
            if entry.last_line > entry.line
        ]
        found += _quoted(document.text.split("\n"))
        return [{"startLine": first, "endLine": last, "kind": "region"} for first, last in found]

    def document_symbols(self, uri: str) -> Sequence[JsonObject] | None:
        """The entries by who speaks and the first words; None for other documents."""
        conversation = self._conversations.shelf.conversation(uri)
        if conversation is None:
            return None
        symbols = object_in(self._edge.client.capabilities, "textDocument", "documentSymbol")
        is_tree = symbols.get("hierarchicalDocumentSymbolSupport") is True
        found: list[JsonObject] = []
        for entry in conversation.entries:
            who = "You" if entry.speaker == "you" else "Agent"
            kind = _SYMBOL_YOU if entry.speaker == "you" else _SYMBOL_AGENT
            words = " ".join(entry.body[:200].split())[:_LONGEST_NAME]
            symbol: dict[str, object] = {"name": f"{who}: {words}" if words else who, "kind": kind}
            whole = {**_at_line(entry.line), "end": {"line": entry.last_line + 1, "character": 0}}
            if is_tree:
                symbol |= {"range": whole, "selectionRange": _at_line(entry.line)}
            else:
                symbol["location"] = {"uri": uri, "range": whole}
            found.append(symbol)
        return found

    # ---- completion

    async def completion(self, uri: str, position: Position) -> JsonObject | None:
        """Files after `@`, commands after `/`; `position` is in the editor's units."""
        document = self._documents.find(uri)
        if document is None or self._conversations.shelf.conversation(uri) is None:
            return None
        at = document.buffer.from_wire(position, self._documents.encoding)
        found = typed(document.buffer.line(at.line)[: at.character])
        if found is None:
            return None
        names = await self._files.names() if found.kind == "file" else ()
        commands = await self._commands() if found.kind == "command" else ()
        start = document.buffer.to_wire(Position(at.line, found.start), self._documents.encoding)
        edit = {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": position.line, "character": position.character},
        }
        items = _items(found, names, commands, edit)
        return {"isIncomplete": len(items) >= MOST_OFFERED, "items": items}

    # ---- the rest

    def _offers(self, uri: str, conversation: Conversation) -> Sequence[Offer]:
        run_id = self._conversations.run_of(uri)
        return in_conversation(uri, conversation, run_id, self._questions.all())

    def _place(self, uri: str, where: Range, context: JsonObject) -> Place:
        document: OpenDocument | None = self._documents.find(uri)
        path = document.path if document is not None else None
        first, last = where.start.line + 1, where.end.line + 1
        if where.end.character == 0 and last > first:
            last -= 1  # a selection that ends at the start of a line does not hold that line
        messages = [
            text_in(each, "message")
            for each in list_in(context, "diagnostics")
            if is_object(each) and each.get("source") != "agent-host"
        ]
        return Place(
            uri,
            self._files.name_of(path) if path else uri,
            (first, last),
            where.start != where.end,
            tuple(message for message in messages if message),
        )

    async def _refresh(self) -> None:
        self._refreshing = False
        try:
            await self._edge.ask("workspace/codeLens/refresh", {}, REFRESH_SECONDS)
        except (EditorError, TimeoutError):
            return


def _items(
    found: Typed, names: Sequence[str], commands: Sequence[PromptCommand], edit: JsonObject
) -> list[dict[str, object]]:
    if found.kind == "command":
        return [
            _item(f"/{each.name}", _KEYWORD, each.description, edit)
            for each in commands
            if each.name.startswith(found.word)
        ]
    return [
        _item(mention(name), _FOLDER if name.endswith("/") else _FILE, None, edit, index)
        for index, name in enumerate(matching(found.word, names))
    ]


def _item(
    label: str, kind: int, detail: str | None, edit: JsonObject, rank: int = 0
) -> dict[str, object]:
    item: dict[str, object] = {
        "label": label,
        "kind": kind,
        "filterText": label,
        "sortText": f"{rank:04}",
        "textEdit": {"range": edit, "newText": label},
    }
    return item | ({"detail": detail} if detail else {})


def _quoted(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The blocks of at least three lines that begin with `>`."""
    found: list[tuple[int, int]] = []
    first: int | None = None
    for number, line in enumerate([*lines, ""]):
        if line.startswith(">"):
            first = number if first is None else first
        elif first is not None:
            if number - first > 2:
                found.append((first, number - 1))
            first = None
    return found


def _at_line(line: int) -> dict[str, object]:
    place = {"line": line, "character": 0}
    return {"start": place, "end": place}


def _command(offer: Offer, title: str) -> JsonObject:
    return {"title": title, "command": offer.command, "arguments": [dict(offer.arguments)]}


def _action(offer: Offer, title: str) -> dict[str, object]:
    return {"title": title, "kind": offer.kind, "command": _command(offer, title)}


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _is_kind(kind: object, wanted: str) -> bool:
    return isinstance(kind, str) and (kind == wanted or kind.startswith(f"{wanted}."))
