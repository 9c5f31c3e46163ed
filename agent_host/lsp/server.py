"""The methods: each reads its params, asks the Host and tells the result. Nothing else.

Not here: JSON-RPC (protocol.py), shapes (wire.py, standard.py), bytes and signals (loop.py), and
anything that the application decides (Host).
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pygls.lsp.server import LanguageServer

from agent_host import __version__
from agent_host.core.errors import InvalidRequest
from agent_host.core.model import JsonObject
from agent_host.lsp import convert, convert_guidance, convert_session, standard, wire
from agent_host.lsp.capabilities import COMMANDS, initialize_result
from agent_host.lsp.convert_status import status_answer
from agent_host.lsp.host import Folder, Host, MakeHost
from agent_host.lsp.json_values import is_object
from agent_host.lsp.protocol import EdgeProtocol
from agent_host.lsp.sessions import SessionMethods
from agent_host.lsp.wire_base import Told, read
from agent_host.lsp.wire_settings import SettingsAnswer, SettingsParams
from agent_host.session.library import Library

HOST_SECONDS = 1.8

log = logging.getLogger(__name__)

_Params = TypeVar("_Params", bound=BaseModel)


class Server:
    """One connection's methods. `edge` is the protocol, to be fed and to send by.

    `on_initialized` is called with the client's processId, `on_failure` when there is no Host.
    """

    def __init__(
        self,
        make_host: MakeHost,
        *,
        on_editor: Callable[[int | None], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._pygls = _PyglsServer("agent-host", __version__, protocol_cls=EdgeProtocol)
        self.edge = cast("EdgeProtocol", self._pygls.protocol)
        self._make_host = make_host
        self._on_editor = on_editor
        self._on_failure = on_failure
        self._host: Host | None = None
        self._begun = False
        self._closing = asyncio.Lock()
        self._closed = False
        self._register()

    async def close(self) -> None:
        """Close the Host, within HOST_SECONDS; who comes later waits for the same end."""
        async with self._closing:
            if self._host is None or self._closed:
                return
            try:
                async with asyncio.timeout(HOST_SECONDS):
                    await self._host.close()
            except TimeoutError:
                log.error("The host did not close within %s s.", HOST_SECONDS)  # noqa: TRY400
            except Exception:
                log.exception("The host did not close.")
            self._closed = True

    def editor_stuck(self) -> None:
        """The backlog passed its cap."""
        if self._host is not None:
            self._host.editor_stuck()

    # ---- the table

    def _register(self) -> None:
        self._feature("initialize", self._initialize)
        self._on("initialized", wire.Anything, self._initialized)
        self._on("shutdown", wire.Anything, self._shutdown)
        self._on("agent/run", wire.RunParams, self._run)
        self._on("agent/stop", wire.StopParams, self._stop)
        self._on("agent/steer", wire.SteerParams, self._steer)
        self._on("agent/steer/list", wire.PendingParams, self._pending)
        self._on("agent/steer/remove", wire.UnsteerParams, self._unsteer)
        self._feature("agent/ping", lambda _: wire.PingAnswer().json_object())
        self._on("agent/status", wire.NoParams, self._status)
        self._on("agent/roles", wire.NoParams, self._roles)
        self._on("agent/models", wire.NoParams, self._models)
        self._on("agent/guidance", wire.NoParams, self._guidance)
        self._on("agent/prompts", wire.NoParams, self._prompts)
        self._on("agent/settings", SettingsParams, self._own_settings)
        SessionMethods(self._library).register(self._on)
        self._on("workspace/executeCommand", standard.ExecuteCommand, self._command)
        self._on("textDocument/codeAction", standard.CodeAction, self._code_actions)
        self._on("textDocument/codeLens", standard.CodeLens, self._code_lenses)
        self._on("textDocument/completion", standard.Completion, self._completion)
        self._on("textDocument/foldingRange", standard.OfDocument, self._folding_ranges)
        self._on("textDocument/documentSymbol", standard.OfDocument, self._document_symbols)
        self._on("textDocument/didOpen", standard.DidOpen, self._did_open)
        self._on("textDocument/didChange", standard.DidChange, self._did_change)
        self._on("textDocument/didClose", standard.DidClose, self._did_close)
        self._on("textDocument/didSave", standard.DidSave, self._did_save)
        self._on(
            "workspace/didChangeWorkspaceFolders", standard.DidChangeFolders, self._folders_changed
        )
        self._on(
            "workspace/didChangeConfiguration", standard.DidChangeConfiguration, self._settings
        )
        self._on(
            "workspace/didChangeWatchedFiles", standard.DidChangeWatchedFiles, self._files_changed
        )
        self._on("window/workDoneProgress/cancel", standard.ProgressCancel, self._progress_cancel)

    def _on(self, method: str, model: type[_Params], work: Callable[[_Params], object]) -> None:
        """Register `work`, which may be a coroutine function, for checked params."""
        if inspect.iscoroutinefunction(work):

            async def answer(params: object) -> object:
                return _json(await cast("Awaitable[object]", work(read(model, params))))

            self._feature(method, answer)
        else:
            self._feature(method, lambda params: _json(work(read(model, params))))

    def _feature(self, method: str, handler: Callable[[object], object]) -> None:
        # pygls marks what it registers; bound methods can't be marked.
        self._pygls.feature(method)(partial(handler))

    # ---- the connection

    def _initialize(self, params: object) -> JsonObject:
        given = params if is_object(params) else dict[str, object]()
        self.edge.client = convert.client_info(given)
        try:
            self._host = self._make_host(self.edge)
        except Exception:
            self._on_failure("the application can't start")
            raise
        self.edge.state = "open"
        self._on_editor(self.edge.client.process_id)
        return initialize_result(given)

    async def _initialized(self, _: wire.Anything) -> None:
        if not self._begun:
            self._begun = True
            await self._app.initialized(self.edge.client)

    async def _shutdown(self, _: wire.Anything) -> None:
        await self.close()

    @property
    def _app(self) -> Host:
        if self._host is None:
            raise RuntimeError("no method but `initialize` is called before there is a Host")
        return self._host

    async def _ready(self) -> Host:
        """The Host, once it takes runs; a client that forgot `initialized` is forgiven."""
        if not self._begun:
            self.edge.handle_message({"jsonrpc": "2.0", "method": "initialized"})
        await self._app.ready()
        return self._app

    async def _library(self) -> Library:
        return (await self._ready()).library

    # ---- agent/*

    async def _run(self, params: wire.RunParams) -> Told:
        host = await self._ready()
        request = convert.run_request(params, host.in_code_points)
        return convert.run_answer(await host.run(request))

    async def _stop(self, params: wire.StopParams) -> Told:
        host = await self._ready()
        return convert_session.stop_answer(await host.stop(params.run_id, params.session_id))

    async def _steer(self, params: wire.SteerParams) -> Told:
        host = await self._ready()
        said = convert.prompt(params.prompt, host.in_code_points)
        return convert_session.steer_answer(await host.steer(params.session_id, said, params.when))

    async def _pending(self, params: wire.PendingParams) -> Told:
        host = await self._ready()
        pending = [convert_session.waiting(each) for each in host.waiting(params.session_id)]
        return wire.PendingAnswer(pending=pending)

    async def _unsteer(self, params: wire.UnsteerParams) -> Told:
        host = await self._ready()
        return wire.UnsteerAnswer(removed=host.take_back(params.session_id, params.id))

    async def _status(self, _: wire.NoParams) -> Told:
        # Which runtimes there are is known once the settings are.
        host = await self._ready()
        return status_answer(await host.status(), __version__)

    async def _roles(self, _: wire.NoParams) -> Told:
        host = await self._ready()
        return convert.roles_answer(await host.roles())

    async def _models(self, _: wire.NoParams) -> Told:
        host = await self._ready()
        return convert.models_answer(await host.models())

    async def _guidance(self, _: wire.NoParams) -> Told:
        return convert_guidance.guidance_answer(await (await self._ready()).guidance())

    async def _prompts(self, _: wire.NoParams) -> Told:
        return convert_guidance.prompts_answer(await (await self._ready()).guidance())

    async def _own_settings(self, params: SettingsParams) -> Told:
        host = await self._ready()
        return SettingsAnswer(problems=list(host.own_settings_changed(params.settings)))

    # ---- commands, actions and lenses

    async def _command(self, params: standard.ExecuteCommand) -> object:
        name, arguments = params.command, params.arguments
        if name == "agentHost.run":
            return await self._run(read(wire.RunParams, _only(arguments, text_is="prompt")))
        if name == "agentHost.stop":
            return await self._stop(read(wire.StopParams, _only(arguments, text_is="runId")))
        if name not in COMMANDS:
            raise InvalidRequest(f"command: Known are {', '.join(COMMANDS)}.", field="command")
        host = await self._ready()
        return await host.command(name, arguments)

    def _code_actions(self, params: standard.CodeAction) -> object:
        uri, range_ = params.text_document.uri, convert.range_of(params.range)
        return list(self._app.code_actions(uri, range_, params.context))

    def _code_lenses(self, params: standard.CodeLens) -> object:
        return list(self._app.code_lenses(params.text_document.uri))

    async def _completion(self, params: standard.Completion) -> object:
        host = await self._ready()
        position = convert.position_of(params.position)
        return await host.completion(params.text_document.uri, position)

    def _folding_ranges(self, params: standard.OfDocument) -> object:
        return self._app.folding_ranges(params.text_document.uri)

    def _document_symbols(self, params: standard.OfDocument) -> object:
        return self._app.document_symbols(params.text_document.uri)

    # ---- documents and the workspace

    def _did_open(self, params: standard.DidOpen) -> None:
        document = params.text_document
        self._app.did_open(document.uri, document.language_id, document.version, document.text)

    def _did_change(self, params: standard.DidChange) -> None:
        document = params.text_document
        changes = [convert.content_change(change) for change in params.content_changes]
        self._app.did_change(document.uri, document.version, changes)

    def _did_close(self, params: standard.DidClose) -> None:
        self._app.did_close(params.text_document.uri)

    def _did_save(self, params: standard.DidSave) -> None:
        self._app.did_save(params.text_document.uri, params.text)

    def _folders_changed(self, params: standard.DidChangeFolders) -> None:
        event = params.event
        self._app.folders_changed(_folders(event.added), _folders(event.removed))

    def _settings(self, params: standard.DidChangeConfiguration) -> None:
        settings: object = params.settings
        self._app.settings_changed(settings if is_object(settings) else {})

    def _files_changed(self, params: standard.DidChangeWatchedFiles) -> None:
        self._app.files_changed([change.uri for change in params.changes])

    def _progress_cancel(self, params: standard.ProgressCancel) -> None:
        self._app.progress_cancelled(params.token)


class _PyglsServer(LanguageServer):
    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ANN401, ARG002
        """Tell the log, never the client: an error while telling it would be told again."""
        log.error("pygls reports %s", type(error).__name__)


def _json(result: object) -> object:
    return result.json_object() if isinstance(result, Told) else result


def _only(arguments: Sequence[object], *, text_is: str) -> object:
    """The params in a command's arguments: one object, one string, or nothing."""
    match arguments:
        case []:
            return {}
        case [str() as text]:
            return {text_is: text}
        case [params] if is_object(params):
            return params
        case _:
            text = "arguments: Input should be one string or one object."
            raise InvalidRequest(text, field="arguments")


def _folders(named: Sequence[standard.FolderName]) -> list[Folder]:
    return [Folder(folder.uri, folder.name or folder.uri) for folder in named]
