"""The editor's open documents as the session may use them: never one whose text is in doubt."""

from collections.abc import Sequence
from typing import Protocol

from agent_host.core.document import Document
from agent_host.core.errors import ActionFailed


class OpenDocuments(Protocol):
    """What the editor has open."""

    def document(self, uri_or_path: str) -> Document | None:
        """The open document of that URI or absolute path."""
        ...

    def documents(self) -> Sequence[Document]:
        """All open documents."""
        ...


def opened(editor: OpenDocuments, uri_or_path: str) -> Document | None:
    """The open document, None if it is not open. Raises ActionFailed `unavailable` on doubt."""
    document = editor.document(uri_or_path)
    if document is not None and document.doubtful:
        raise ActionFailed(
            "unavailable",
            f"What the editor told of {document.path or document.uri} does not fit together, so "
            "its text is not known. Ask the user to save it or to open it anew, then try again.",
        )
    return document


def in_doubt(editor: OpenDocuments) -> tuple[str, ...]:
    """The paths of open files whose text is in doubt."""
    return tuple(each.path for each in editor.documents() if each.doubtful and each.path)
