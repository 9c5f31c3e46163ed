"""An editor played over the raw client: it holds documents, applies edits and answers questions.

How it answers is set by the test: by how a title begins or ends, null, an error, never, or later by
hand. What every run must keep (numbered deltas, one end, ...) is checked by `check`.
"""

import contextlib
import json
import os
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.e2e.rawclient import Message, RawClient
from tests.e2e.run import Run

NEVER = object()
"""An answer that is not given; the test may give it later with `answer`."""

FIXTURES = Path(__file__).parents[1] / "fixtures" / "client-capabilities"
CLIENTS: Mapping[str, str | None] = {
    "vscode": "vscode-1.139.1-languageclient-11.0.0",
    "neovim": "neovim-0.11.4",
    "empty": None,
}


@dataclass(frozen=True, slots=True)
class Fails:
    """An error answer."""

    code: int = -32603
    message: str = "the editor failed"


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer that is sent as it is."""

    value: object


Answer = str | None | object | Fails | Callable[[Message], object]


@dataclass(slots=True)
class OpenDocument:
    """A document as the editor holds it; `before` are the texts that undo goes back to."""

    uri: str
    language: str
    version: int
    text: str
    before: list[str] = field(default_factory=list)


def client_params(client: str) -> Message:
    """The initialize params that a real client sends; for `empty` no capability at all."""
    name = CLIENTS[client]
    return (
        {"capabilities": {}}
        if name is None
        else json.loads((FIXTURES / f"{name}.json").read_text())
    )


class Editor(RawClient):
    """See the module. `answers` is how questions are answered, `applying` what an edit meets."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        client: str,
        root: Path,
        env: Mapping[str, str],
        stderr: Path,
        options: Mapping[str, object] | None = None,
        experimental: Mapping[str, object] | None = None,
    ) -> None:
        self.client = client
        self.root = root
        self.options = dict(options or {})
        self.experimental = dict(experimental or {})
        self.answers: Answer = "Allow once"
        self.applying: str = "apply"
        self.handlers: dict[str, Callable[[Message], object]] = {}
        self.documents: dict[str, OpenDocument] = {}
        self.runs: list[Run] = []
        self.encoding = "utf-16"
        self._lock = threading.RLock()
        self._untold: list[OpenDocument] = []
        super().__init__(argv, cwd=root, env=env, stderr=stderr)
        self.on_message = self._serve

    # ---- life

    def initialize(self, *, process_id: int | None = None) -> Message:
        """The handshake; returns the result of `initialize`."""
        result = self.request("initialize", self.initialize_params(process_id=process_id)).result()
        self.encoding = result["capabilities"].get("positionEncoding", "utf-16")
        self.notify("initialized", {})
        return result

    def initialize_params(self, *, process_id: int | None = None) -> Message:
        params = client_params(self.client)
        params["processId"] = process_id or os.getpid()
        params["rootUri"] = self.root.as_uri()
        params["rootPath"] = str(self.root)
        params["workspaceFolders"] = [{"uri": self.root.as_uri(), "name": self.root.name}]
        params["initializationOptions"] = self.options
        if self.experimental:
            params["capabilities"]["experimental"] = {"agentHost": self.experimental}
        return params

    def shutdown(self) -> int:
        """Orderly end; returns the exit code."""
        assert self.request("shutdown").result() is None
        self.notify("exit")
        return self.wait_exit()

    def check(self) -> None:
        """What must hold for every run and for the stream as a whole."""
        assert self.faults == [], self.tell()
        for run in self.runs:
            run.check()

    def tidy(self) -> None:
        """Check, then be as a new editor with a new host: nothing open, asked or received."""
        self.check()
        for uri in self.documents:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        self.documents, self.runs, self.handlers = {}, [], {}
        self.answers, self.applying = "Allow once", "apply"
        self.forget()

    # ---- documents

    def open(self, path: Path | str, text: str | None = None, language: str = "python") -> str:
        """Open a file (or an untitled document, given as a URI); returns its URI."""
        uri = path.as_uri() if isinstance(path, Path) else path
        if text is None:
            assert isinstance(path, Path)
            text = path.read_bytes().decode()
        with self._lock:
            self.documents[uri] = OpenDocument(uri, language, 1, text)
            item = {"uri": uri, "languageId": language, "version": 1, "text": text}
            self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """The user replaces `old` by `new`; sent as an incremental change."""
        with self._lock:
            document = self.documents[uri]
            at = document.text.index(old)
            start, end = (
                self._position(document.text, at),
                self._position(document.text, at + len(old)),
            )
            document.text = document.text.replace(old, new, 1)
            self._changed_document(document, [{"range": {"start": start, "end": end}, "text": new}])

    def undo(self, uri: str) -> None:
        """Take back the last applied edit, as one undo step."""
        with self._lock:
            document = self.documents[uri]
            document.text = document.before.pop()
            self._changed_document(document, [{"text": document.text}])

    def text(self, uri: str) -> str:
        with self._lock:
            return self.documents[uri].text

    def wait_text(self, uri: str, wanted: str) -> None:
        """Wait until an applied edit has made the document hold `wanted`."""
        self.wait_until(lambda: wanted in self.text(uri), what=f"{wanted!r} in {uri}")

    # ---- runs

    def run(self, prompt: str = "go", **params: Any) -> Run:
        """Send `agent/run` with a run id of our own."""
        run_id = params.pop("runId", None) or f"run-{uuid.uuid4().hex[:8]}"
        since = len(self.received())
        pending = self.request("agent/run", {"prompt": prompt, "runId": run_id, **params})
        run = Run(self, run_id, pending, since)
        self.runs.append(run)
        return run

    def stop(self, **params: Any) -> Any:
        return self.request("agent/stop", params).result()

    def questions(self) -> list[Message]:
        """All questions asked so far, as messages."""
        return [m for m in self.received() if m.get("method") == "window/showMessageRequest"]

    def wait_question(self, count: int = 1) -> Message:
        """The `count`-th question of this host."""
        return self.wait_for("window/showMessageRequest", count=count)

    def answer(self, question: Message, title: str | None) -> None:
        """Answer a question that was left open."""
        self.respond(question["id"], _chosen(question["params"], title))

    # ---- what the host asks for

    def _serve(self, message: Message) -> None:
        if "method" not in message or "id" not in message:
            return
        try:
            result = self._result(message["method"], message.get("params") or {})
        except KeyError as error:
            result = Fails(-32601, f"unknown method {error}")
        with contextlib.suppress(BrokenPipeError, ValueError):  # the test closed the pipe
            if isinstance(result, Fails):
                self.respond_error(message["id"], result.code, result.message)
            elif result is not NEVER:
                self.respond(message["id"], result)
            self._after_answer()

    def _result(self, method: str, params: Message) -> object:
        if method in self.handlers:
            return self.handlers[method](params)
        match method:
            case "window/showMessageRequest" if self.client != "empty":
                return self._choice(params)
            case "workspace/applyEdit":
                return self._apply(params["edit"])
            case "window/showDocument":
                return {"success": True}
            case "workspace/configuration":
                return [self.options for _ in params["items"]]
            case "window/workDoneProgress/create" | "client/registerCapability":
                return None
            case "client/unregisterCapability" | "workspace/codeLens/refresh":
                return None
            case _:
                raise KeyError(method)

    def _choice(self, params: Message) -> object:
        answer = self.answers(params) if callable(self.answers) else self.answers
        if isinstance(answer, Raw):
            return answer.value
        return _chosen(params, answer) if isinstance(answer, str) else answer

    def _apply(self, edit: Message) -> object:
        """Apply a WorkspaceEdit; the reply comes before the didChange, as in most editors."""
        if self.applying == "never":
            return NEVER
        if self.applying == "refuse":
            return {"applied": False, "failureReason": "the user said no"}
        if self.applying == "lie":
            return {"applied": True}
        with self._lock:
            changes = edit.get("documentChanges") or [
                {"textDocument": {"uri": uri, "version": None}, "edits": edits}
                for uri, edits in edit.get("changes", {}).items()
            ]
            for change in changes:
                if not self._apply_one(change):
                    return {"applied": False, "failureReason": "version"}
        return {"applied": True}

    def _renamed(self, change: Message) -> bool:
        """Move a file with its document, unsaved text and all, as VS Code does."""
        old, new = (Path(unquote(urlsplit(change[key]).path)) for key in ("oldUri", "newUri"))
        if new.exists():
            return False
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        document = self.documents.pop(change["oldUri"], None)
        if document is not None:
            item = {"textDocument": {"uri": document.uri}}
            self.notify("textDocument/didClose", item)
            self.open(new, document.text, document.language)
        return True

    def _apply_one(self, change: Message) -> bool:
        if change.get("kind") == "rename":
            return self._renamed(change)
        uri, version = change["textDocument"]["uri"], change["textDocument"].get("version")
        document = self.documents.get(uri)
        if document is None or (version is not None and version != document.version):
            return False
        document.before.append(document.text)
        spans = [
            (
                self._offset(document.text, e["range"]["start"]),
                self._offset(document.text, e["range"]["end"]),
                e["newText"],
            )
            for e in change["edits"]
        ]
        for start, end, new in sorted(spans, key=lambda span: span[0], reverse=True):
            document.text = document.text[:start] + new + document.text[end:]
        self._untold.append(document)
        return True

    def _after_answer(self) -> None:
        with self._lock:
            for document in self._untold:
                self._changed_document(document, [{"text": document.text}])
            self._untold.clear()

    def _changed_document(self, document: OpenDocument, changes: list[Message]) -> None:
        document.version += 1
        item = {"uri": document.uri, "version": document.version}
        self.notify("textDocument/didChange", {"textDocument": item, "contentChanges": changes})

    # ---- positions

    def _position(self, text: str, offset: int) -> Message:
        starts = _line_starts(text)
        line = max(number for number, start in enumerate(starts) if start <= offset)
        return {"line": line, "character": self._units(text[starts[line] : offset])}

    def _offset(self, text: str, position: Message) -> int:
        starts = _line_starts(text)
        if position["line"] >= len(starts):
            return len(text)
        start = starts[position["line"]]
        rest, units = text[start:], position["character"]
        return start + next(
            (n for n in range(len(rest)) if self._units(rest[:n]) >= units), len(rest)
        )

    def _units(self, text: str) -> int:
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self.encoding]
        return len(text.encode({1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}[width])) // width


def _chosen(params: Message, title: str | None) -> Message | None:
    if title is None:
        return None
    actions = params.get("actions") or []
    found = [
        a for a in actions if title and (a["title"].startswith(title) or a["title"].endswith(title))
    ]
    return found[0] if found else {"title": title}


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]
