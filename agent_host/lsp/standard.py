"""The few standard LSP messages that the server reads, as far as it reads them.

Lenient, because real editors are untidy: a null languageId or version is no reason to lose a
document. Not here: `initialize` (convert.py), messages that we send (plain JSON).
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from agent_host.lsp.wire_base import Heard, Token, Whole


def _or_empty(value: object) -> object:
    return "" if value is None else value


def _or_zero(value: object) -> object:
    return 0 if value is None else value


def _or_list(value: object) -> object:
    return list[object]() if value is None else value


NullableText = Annotated[str, BeforeValidator(_or_empty)]
Version = Annotated[Whole, BeforeValidator(_or_zero)]


class HeardPosition(Heard):
    """In the client's units; odd values are clamped where they are used."""

    line: Whole
    character: Whole


class HeardRange(Heard):
    start: HeardPosition
    end: HeardPosition


class DocumentName(Heard):
    uri: str


class OpenedDocument(DocumentName):
    language_id: NullableText = ""
    version: Version = 0
    text: str


class ChangedDocument(DocumentName):
    version: Version = 0


class HeardChange(Heard):
    range: HeardRange | None = None
    text: str


class DidOpen(Heard):
    text_document: OpenedDocument


class DidChange(Heard):
    text_document: ChangedDocument
    content_changes: list[HeardChange]


class DidClose(Heard):
    text_document: DocumentName


class DidSave(Heard):
    text_document: DocumentName
    text: str | None = None


class ExecuteCommand(Heard):
    command: str
    arguments: Annotated[list[JsonValue], BeforeValidator(_or_list)] = Field(
        default_factory=list[JsonValue]
    )


class CodeAction(Heard):
    text_document: DocumentName
    range: HeardRange
    context: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class CodeLens(Heard):
    text_document: DocumentName


class Completion(Heard):
    text_document: DocumentName
    position: HeardPosition


class OfDocument(Heard):
    """Folding ranges and symbols."""

    text_document: DocumentName


class FolderName(Heard):
    uri: str
    name: NullableText = ""


class FoldersEvent(Heard):
    added: Annotated[list[FolderName], BeforeValidator(_or_list)] = Field(
        default_factory=list[FolderName]
    )
    removed: Annotated[list[FolderName], BeforeValidator(_or_list)] = Field(
        default_factory=list[FolderName]
    )


class DidChangeFolders(Heard):
    event: FoldersEvent


class DidChangeConfiguration(Heard):
    """`settings` may be anything, most often null."""

    settings: JsonValue = None


class FileEvent(Heard):
    uri: str


class DidChangeWatchedFiles(Heard):
    changes: list[FileEvent]


class ProgressCancel(Heard):
    token: Token
