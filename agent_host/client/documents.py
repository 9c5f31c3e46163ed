"""The documents that a script holds open, changed by workspace edits as an editor would.

An edit is applied whole or not at all, and never over a version that is gone. Files that are not
open are opened for it, unsaved. Not here: telling the host (host.py).
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast
from urllib.parse import unquote, urlsplit

from agent_host.client.json_values import JsonObject, as_object, as_objects, as_text, as_whole

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\n|\r")
_UNIT_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


@dataclass(slots=True)
class OpenDocument:
    """`dirty`: its text is not what the disk holds."""

    uri: str
    language_id: str
    version: int
    text: str
    dirty: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """What an edit did. `reason` is set when nothing was done."""

    reason: str | None = None
    opened: tuple[OpenDocument, ...] = ()
    changed: tuple[OpenDocument, ...] = ()


class EditRefused(Exception):
    """The edit does not fit the documents as they are."""


@dataclass(slots=True)
class Documents:
    """Open documents by URI; columns count units of `encoding`."""

    encoding: Encoding = "utf-16"
    by_uri: dict[str, OpenDocument] = field(default_factory=dict[str, OpenDocument])

    def apply(self, edit: JsonObject) -> Applied:
        """Apply a WorkspaceEdit to the text of open documents."""
        try:
            new_texts = [self._edited(uri, version, edits) for uri, version, edits in _parts(edit)]
        except EditRefused as error:
            return Applied(reason=str(error))
        opened: list[OpenDocument] = []
        changed: list[OpenDocument] = []
        for document, text in new_texts:
            if document.uri not in self.by_uri:
                self.by_uri[document.uri] = document
                opened.append(document)
            changed.append(document)
            document.text = text
            document.version += 1
            document.dirty = True
        return Applied(None, tuple(opened), tuple(changed))

    def _edited(
        self, uri: str, version: int | None, edits: tuple[JsonObject, ...]
    ) -> tuple[OpenDocument, str]:
        document = self.by_uri.get(uri) or _from_disk(uri)
        if version is not None and version != document.version:
            raise EditRefused(f"the document has changed: it is at version {document.version}")
        return document, edited(document.text, edits, self.encoding)


def uri_of(path: str | Path) -> str:
    """The `file:` URI of a path; a URI stays as it is."""
    text = str(path)
    return text if "://" in text or text.startswith("untitled:") else Path(path).absolute().as_uri()


def path_of(uri: str) -> Path:
    """The path of a `file:` URI."""
    return Path(unquote(urlsplit(uri).path))


def edited(text: str, edits: tuple[JsonObject, ...], encoding: Encoding) -> str:
    """The text after all TextEdits, whose ranges all mean the text before. Raises EditRefused."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    places: list[tuple[int, int, str]] = []
    for edit in edits:
        span = as_object(edit.get("range"))
        begin = _offset(text, starts, as_object(span.get("start")), encoding)
        end = _offset(text, starts, as_object(span.get("end")), encoding)
        places.append((begin, end, as_text(edit.get("newText"))))
    done = ""
    at = 0
    for begin, end, new in sorted(places, key=lambda place: place[:2]):
        if begin < at or end < begin:
            raise EditRefused("the edits overlap")
        done += text[at:begin] + new
        at = end
    return done + text[at:]


def _offset(text: str, starts: list[int], position: JsonObject, encoding: Encoding) -> int:
    line, character = as_whole(position.get("line")), as_whole(position.get("character"))
    if line >= len(starts):
        return len(text)
    start = starts[line]
    end = starts[line + 1] if line + 1 < len(starts) else len(text)
    row = text[start:end].rstrip("\r\n")
    head = row.encode(_CODECS[encoding], "surrogatepass")[: character * _UNIT_BYTES[encoding]]
    return start + len(head.decode(_CODECS[encoding], "ignore"))


def _parts(edit: JsonObject) -> list[tuple[str, int | None, tuple[JsonObject, ...]]]:
    parts: list[tuple[str, int | None, tuple[JsonObject, ...]]] = []
    for change in as_objects(edit.get("documentChanges")):
        if "kind" in change:
            raise EditRefused("creating, renaming and deleting files is not declared here")
        where = as_object(change.get("textDocument"))
        version = cast("int | None", where.get("version"))
        parts.append((as_text(where.get("uri")), version, as_objects(change.get("edits"))))
    if "documentChanges" not in edit:
        for uri, edits in as_object(edit.get("changes")).items():
            parts.append((uri, None, as_objects(edits)))
    return parts


def _from_disk(uri: str) -> OpenDocument:
    try:
        text = path_of(uri).read_bytes().decode("utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise EditRefused(f"the file can't be opened: {type(error).__name__}") from error
    return OpenDocument(uri, "plaintext", 1, text)
