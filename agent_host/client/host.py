"""A host process and the editor that this client plays to it.

Leaving the context ends the host, in bounded time, whatever state it is in. Not here: what a
terminal shows (the commands `run` and `demo`).
"""

import asyncio
import contextlib
import os
import signal
import sys
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_host.client.connection import Connection, HostError, HostGone, MethodUnknown
from agent_host.client.documents import Documents, OpenDocument, path_of, uri_of
from agent_host.client.json_values import JsonObject, as_list, as_object, as_objects, as_text
from agent_host.client.questions import (
    OnQuestion,
    answer,
    question_of_ask,
    question_of_message,
)
from agent_host.client.runs import Delta, Following, Run

HOST_COMMAND = (sys.executable, "-m", "agent_host", "serve", "--stdio")
CAPABILITIES: JsonObject = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {"synchronization": {"didSave": True}},
    "window": {
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}},
        "showDocument": {"support": True},
        "workDoneProgress": True,
    },
    "experimental": {"agentHost": {"ask": True, "save": True}},
}

_KILL_SECONDS = 2.0
_STDERR_LINES = 50


class AgentHostClient:
    """An editor without a screen; make one with `start`.

    `documents` are the open ones by URI, `shown` the URIs that the host wanted shown,
    `capabilities` what the host declared.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        workspace: Path,
        options: JsonObject,
        on_question: OnQuestion,
        on_notification: Callable[[str, JsonObject], None] | None,
    ) -> None:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        self.workspace = workspace
        self.capabilities: JsonObject = {}
        self.shown: list[str] = []
        self._process = process
        self._options = options
        self._on_question: OnQuestion = on_question
        self._on_notification = on_notification
        self._documents = Documents()
        self._runs: dict[str, Run] = {}
        self._following: dict[str, Following] = {}
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._connection = Connection(process.stdout, process.stdin, self._answer, self._hear)

    @classmethod
    @asynccontextmanager
    async def start(  # noqa: PLR0913 (all by name, nearly all optional)
        cls,
        *,
        workspace: str | Path,
        command: Sequence[str] = HOST_COMMAND,
        env: Mapping[str, str] | None = None,
        initialization_options: JsonObject | None = None,
        on_question: OnQuestion = "deny",
        capabilities: JsonObject = CAPABILITIES,
        on_notification: Callable[[str, JsonObject], None] | None = None,
        patience: float = 5.0,
    ) -> "AsyncGenerator[AgentHostClient]":
        """Start a host for a folder; leaving the context ends it.

        `env` is the host's whole environment (None: as this process has it). `on_question` is
        `deny`, `allow` (once), or a function from a Question to a choice. An exception of such a
        function denies, and rises here. Raises HostGone or HostError when there is no handshake,
        and OSError when the command can't be started. `patience`: seconds that the host has for
        each step of its end.
        """
        root = _resolved(workspace)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd=root,
            start_new_session=True,  # so that Ctrl-C is for us alone
        )
        client = cls(process, root, initialization_options or {}, on_question, on_notification)
        try:
            async with asyncio.TaskGroup() as tasks:
                listening = (tasks.create_task(client._live()), tasks.create_task(client._listen()))
                try:
                    await client._initialize(capabilities)
                    yield client
                finally:
                    await client._end(patience)
                    for task in listening:
                        task.cancel()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    @property
    def pid(self) -> int:
        """The host's process."""
        return self._process.pid

    @property
    def documents(self) -> Mapping[str, OpenDocument]:
        return self._documents.by_uri

    @property
    def stderr(self) -> str:
        """The last lines that the host logged."""
        return "\n".join(self._stderr)

    # ---- asking

    async def run(
        self,
        prompt: str | Sequence[JsonObject],
        *,
        run_id: str | None = None,
        session_id: str | None = None,
        **more: object,
    ) -> Run:
        """Start a run. `more` are other keys of `agent/run`: role, model, runtime, cwd, context...

        Returns at once: see `Run.deltas` and `Run.result`. Raises HostGone.
        """
        run_id = run_id or f"run-{uuid.uuid4().hex}"
        wished = {"prompt": prompt, "runId": run_id, "sessionId": session_id, **more}
        params = {key: value for key, value in wished.items() if value is not None}
        _, future = self._connection.send("agent/run", params)
        run = self._runs[run_id] = Run(self._connection, run_id, future)
        await self._connection.drain()
        return run

    @asynccontextmanager
    async def follow(
        self, session_id: str, *, cursor: str | None = None, after: Delta | None = None
    ) -> "AsyncGenerator[Following]":
        """A session that another host runs: what it has said since a place, then what it says.

        The place is a cursor of `agent/session/load` or the last delta that is known; else it is
        the beginning. Raises HostError or HostGone.
        """
        seen = after and {"runId": after.run_id, "seq": after.seq}
        wished = {"sessionId": session_id, "cursor": cursor, "after": seen}
        following = self._following[session_id] = Following()
        params = {key: value for key, value in wished.items() if value is not None}
        try:
            answered = as_object(await self.request("agent/session/attach", params))
            following.run_id = as_text(answered.get("runId")) or None
            yield following
        finally:
            self._following.pop(session_id, None)
            following.end()
            with contextlib.suppress(HostError, HostGone):
                await self.request("agent/session/detach", {"sessionId": session_id})

    async def request(self, method: str, params: object = None) -> object:
        """Any request. Cancelling it withdraws it. Raises HostError or HostGone."""
        return await self._connection.request(method, params)

    def notify(self, method: str, params: object = None) -> None:
        """Any notification."""
        self._connection.notify(method, params)

    # ---- documents

    def open_document(self, where: str | Path, text: str, language_id: str = "plaintext") -> str:
        """Open a file (or an `untitled:` URI) with this text, saved or not; returns its URI."""
        uri = uri_of(where)
        document = OpenDocument(uri, language_id, 1, text, dirty=True)
        self._documents.by_uri[uri] = document
        self._tell_open(document)
        return uri

    def change_document(self, uri: str, text: str) -> None:
        """As if the user typed: the whole new text."""
        document = self._documents.by_uri[uri]
        document.text, document.dirty = text, True
        document.version += 1
        self._tell_change(document)

    def save_document(self, uri: str) -> None:
        """Write the text to the file."""
        document = self._documents.by_uri[uri]
        path_of(uri).write_bytes(document.text.encode())
        document.dirty = False
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close_document(self, uri: str) -> None:
        """Forget the text; the disk's counts again."""
        del self._documents.by_uri[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def _tell_open(self, document: OpenDocument) -> None:
        item = {
            "uri": document.uri,
            "languageId": document.language_id,
            "version": document.version,
            "text": document.text,
        }
        self.notify("textDocument/didOpen", {"textDocument": item})

    def _tell_change(self, document: OpenDocument) -> None:
        where = {"uri": document.uri, "version": document.version}
        changes = [{"text": document.text}]
        self.notify("textDocument/didChange", {"textDocument": where, "contentChanges": changes})

    # ---- what the host asks and tells

    async def _answer(self, method: str, params: JsonObject) -> object:
        match method:
            case "window/showMessageRequest":
                found = await answer(question_of_message(params), self._on_question)
                return {"title": found.option.title} if found.option else None
            case "agent/ask":
                found = await answer(question_of_ask(params), self._on_question)
                chosen = {"optionId": found.option.id} if found.option else {}
                return {**chosen, "reason": found.reason} if found.reason else chosen
            case "workspace/applyEdit":
                return self._apply(as_object(params.get("edit")))
            case "window/showDocument":
                self.shown.append(as_text(params.get("uri")))
                return {"success": True}
            case "agent/save":
                return {"saved": self._save(as_list(params.get("uris")))}
            case "workspace/configuration":
                return [self._options for _ in as_objects(params.get("items"))]
            case "workspace/workspaceFolders":
                return self._folders()
            case "window/workDoneProgress/create" | "client/registerCapability":
                return None
            case _:
                raise MethodUnknown(method)

    def _apply(self, edit: JsonObject) -> JsonObject:
        applied = self._documents.apply(edit)
        if applied.reason is not None:
            return {"applied": False, "failureReason": applied.reason}
        for document in applied.opened:
            self._tell_open(document)
        for document in applied.changed:
            if document not in applied.opened:
                self._tell_change(document)
        return {"applied": True}

    def _save(self, uris: Sequence[object]) -> list[str]:
        wanted = [uri for uri in uris if isinstance(uri, str) and uri in self._documents.by_uri]
        for uri in wanted:
            self.save_document(uri)
        return wanted

    def _hear(self, method: str, params: JsonObject) -> None:
        if method == "agent/delta":
            delta = Delta.of(params)
            run = self._runs.get(delta.run_id)
            following = self._following.get(delta.session_id)
            if run is not None:
                run.put(delta)
            elif following is not None:
                following.put(delta)
        elif method == "agent/session/detached":
            following = self._following.get(as_text(params.get("sessionId")))
            if following is not None:
                following.end(as_text(params.get("reason")))
        if self._on_notification is not None:
            self._on_notification(method, params)

    # ---- life

    async def _initialize(self, capabilities: JsonObject) -> None:
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "agent-host client"},
            "rootUri": self.workspace.as_uri(),
            "workspaceFolders": self._folders(),
            "capabilities": capabilities,
            "initializationOptions": self._options,
        }
        answered = as_object(await self.request("initialize", params))
        self.capabilities = as_object(answered.get("capabilities"))
        encoding = self.capabilities.get("positionEncoding")
        if encoding in ("utf-8", "utf-16", "utf-32"):
            self._documents.encoding = encoding
        self.notify("initialized", {})

    def _folders(self) -> list[JsonObject]:
        return [{"uri": self.workspace.as_uri(), "name": self.workspace.name}]

    async def _live(self) -> None:
        """Serve until the host closes its output, then tell everybody who waits."""
        try:
            await self._connection.serve()
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _KILL_SECONDS)
            ended = self._process.returncode
            how = "closed its output" if ended is None else f"ended with code {ended}"
            tail = f": {self._stderr[-1]}" if self._stderr else "."
            self._connection.fail(HostGone(f"The host {how}{tail}"))
            for following in self._following.values():
                following.end(f"The host {how}{tail}")

    async def _listen(self) -> None:
        """Drain stderr, so that a host that logs much never stands still."""
        assert self._process.stderr is not None  # noqa: S101
        rest = b""
        while chunk := await self._process.stderr.read(64 * 1024):
            *lines, rest = (rest + chunk)[-64 * 1024 :].split(b"\n")
            self._stderr.extend(line.decode("utf-8", "replace") for line in lines)

    async def _end(self, patience: float) -> None:
        """Ask the host to end; else make it."""
        with contextlib.suppress(HostError, HostGone, TimeoutError):
            await asyncio.wait_for(self.request("shutdown"), patience)
        self.notify("exit")
        self._connection.close()
        for force in (None, signal.SIGTERM, signal.SIGKILL):
            if force is not None:
                self._signal(force)
            try:
                await asyncio.wait_for(self._process.wait(), patience)
            except TimeoutError:
                continue
            return

    def _signal(self, force: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, force)


def _resolved(workspace: str | Path) -> Path:
    return Path(workspace).resolve()
