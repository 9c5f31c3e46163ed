"""Answers the editor: the Host behind the edge, put together by compose.

Nothing is decided here; each request goes to the part whose business it is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import cast

from agent_host.app.commands import Commands
from agent_host.app.conversation_parts import ConversationParts
from agent_host.app.diagnostics import FileDiagnostics
from agent_host.app.recovery import Recovery
from agent_host.app.workspace import Workspace
from agent_host.core.actions import ActionServerStatus
from agent_host.core.document import Position, Range
from agent_host.core.errors import ActionFailed, AgentHostError, StoreFailed
from agent_host.core.guidance import Guidance, GuidanceSource
from agent_host.core.model import JsonObject, ModelInfo, PromptPart, RunRequest, RunResult
from agent_host.core.ports import Actions
from agent_host.core.records import SessionStore
from agent_host.lsp.documents import Documents
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import (
    ClientInfo,
    ContentChange,
    Edge,
    EditorError,
    Folder,
    HostStatus,
    RoleList,
)
from agent_host.lsp.json_values import is_object
from agent_host.mcp.servers import McpServers
from agent_host.session.library import Library
from agent_host.session.manager import SessionManager, Stopped
from agent_host.session.pending import Steered, Waiting, When

CONFIGURATION_SECONDS = 2.0
_WARNING = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is made of. `warm` prepares a model's runtime and may take seconds."""

    edge: Edge
    workspace: Workspace
    documents: Documents
    recovery: Recovery
    editor: LspEditor
    actions: Actions
    store: SessionStore
    manager: SessionManager
    library: Library
    commands: Commands
    conversation: ConversationParts
    diagnostics: FileDiagnostics
    guidance: GuidanceSource
    embedded: Callable[[], ModelInfo]
    programs: Callable[[], Sequence[ModelInfo]]
    runtimes: Callable[[], tuple[str, ...]]
    action_server: Callable[[], ActionServerStatus]
    start_actions: Callable[[], Coroutine[object, object, None]]
    warm: Callable[[], Coroutine[object, object, None]]
    servers: McpServers
    close_runtimes: Callable[[], Awaitable[None]]


class Application:
    """See lsp.host.Host."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._told_wide: set[str] = set()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # ---- beginning and end

    async def initialized(self, client: ClientInfo) -> None:
        """Take over the workspace and the settings, then warm up behind the user's back."""
        parts = self._parts
        try:
            parts.workspace.set_folders(client.folders)
            for document in parts.documents.all():  # opened before the folders were known
                self._diagnose(document.uri)
            parts.workspace.set_own_settings(client.options)
            await self._load_settings({})
            await parts.actions.set_roots(parts.workspace.roots)
            self._tell_of_wide_folder()
        except Exception as error:
            self._ready.set_exception(error)
            self._ready.exception()  # requests that wait for it are told; nobody else need be
            raise
        self._ready.set_result(None)
        parts.edge.tasks.create_task(self._warm_up())

    async def ready(self) -> None:
        """Return once runs can be taken."""
        await asyncio.shield(self._ready)

    async def close(self) -> None:
        """End all runs and everything that they started."""
        parts = self._parts
        parts.manager.stop_soon(reason="the host was shut down")
        parts.library.follows.close()
        # The action server first: it ends its commands at once, while a stop leaves them seconds.
        await parts.actions.close()
        await parts.manager.close()
        await parts.servers.close()
        parts.conversation.conversations.close()
        await parts.store.close()
        await parts.close_runtimes()

    async def _warm_up(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._start_actions())
            tasks.create_task(self._parts.warm())
            tasks.create_task(self._open_store())

    async def _open_store(self) -> None:
        """Open it before the first run needs it; what is wrong with it is told right away."""
        try:
            await self._parts.store.opened()
        except StoreFailed as failure:
            message = f"{failure.message} Runs go on, but what they do is not kept."
            log.warning("%s", message)
            self._parts.edge.notify("window/showMessage", {"type": _WARNING, "message": message})

    async def _start_actions(self) -> None:
        try:
            await self._parts.start_actions()
        except ActionFailed as failure:
            # Nobody has asked for an action yet; whoever does is told.
            log.warning("The action server is not ready: %s", failure.reason)

    # ---- requests

    async def run(self, request: RunRequest) -> RunResult:
        """Run one prompt to its end."""
        return await self._parts.manager.run(request)

    async def stop(self, run_id: str | None, session_id: str | None) -> Stopped:
        """Stop runs; returns once they are gone."""
        return await self._parts.manager.stop(run_id=run_id, session_id=session_id)

    async def steer(self, session_id: str, prompt: tuple[PromptPart, ...], when: When) -> Steered:
        """Say something to a session while it works."""
        return await self._parts.manager.steer(session_id, prompt, when)

    def waiting(self, session_id: str) -> tuple[Waiting, ...]:
        """What was said to a session and waits."""
        return self._parts.manager.waiting(session_id)

    def take_back(self, session_id: str, waiting_id: str) -> bool:
        """Take back what waits."""
        return self._parts.manager.take_back(session_id, waiting_id)

    async def status(self) -> HostStatus:
        """What goes on right now."""
        parts = self._parts
        workspaces = await asyncio.to_thread(parts.workspace.status)
        sessions = parts.manager.status()
        servers = parts.servers.status()
        return HostStatus(sessions, parts.action_server(), parts.runtimes(), workspaces, servers)

    async def roles(self) -> RoleList:
        """The roles that can be used, and the broken ones."""
        workspace = self._parts.workspace
        shelf = await workspace.roles()
        rights = {name: workspace.rights_of(role) for name, role in shelf.roles.items()}
        return RoleList(tuple(shelf.roles.values()), shelf.problems, rights)

    async def guidance(self) -> Guidance:
        """Instructions, skills and prompt files, and what is wrong with broken ones."""
        roots = self._parts.workspace.roots
        return await self._parts.guidance.read(roots[0] if roots else "/")

    async def models(self) -> Sequence[ModelInfo]:
        """The vendors' models, and why some can't be used."""
        parts = self._parts
        programs = await asyncio.to_thread(parts.programs)
        return (*parts.workspace.credentials.models(), parts.embedded(), *programs)

    @property
    def library(self) -> Library:
        """The sessions that are kept."""
        return self._parts.library

    async def command(self, name: str, arguments: Sequence[object]) -> object:
        """Do an `agentHost.*` command other than run and stop."""
        if self._parts.conversation.commands.knows(name):
            return await self._parts.conversation.commands.execute(name, arguments)
        return await self._parts.commands.execute(name, arguments)

    def code_actions(
        self,
        uri: str,
        range: Range,  # noqa: A002 - the name that the port gives it
        context: JsonObject,
    ) -> Sequence[JsonObject]:
        """What can be done here, so that an editor without a plug-in can do everything."""
        return self._parts.conversation.conversing.code_actions(uri, range, context)

    def code_lenses(self, uri: str) -> Sequence[JsonObject]:
        """What can be done in a conversation document."""
        return self._parts.conversation.conversing.code_lenses(uri)

    async def completion(self, uri: str, position: Position) -> JsonObject | None:
        """Files and commands in a conversation document."""
        return await self._parts.conversation.conversing.completion(uri, position)

    def folding_ranges(self, uri: str) -> Sequence[JsonObject] | None:
        """The parts of a conversation document."""
        return self._parts.conversation.conversing.folding_ranges(uri)

    def document_symbols(self, uri: str) -> Sequence[JsonObject] | None:
        """Who says what in a conversation document."""
        return self._parts.conversation.conversing.document_symbols(uri)

    def in_code_points(self, uri: str, range: Range) -> Range:  # noqa: A002
        """A range in the editor's units as the core counts."""
        document = self._parts.documents.find(uri)
        if document is None:
            return range
        encoding = self._parts.documents.encoding
        start = document.buffer.from_wire(range.start, encoding)
        return Range(start, document.buffer.from_wire(range.end, encoding))

    # ---- documents

    def did_open(self, uri: str, language_id: str, version: int, text: str) -> None:
        self._parts.documents.did_open(uri, language_id, version, text)
        self._parts.conversation.conversations.opened(uri)
        self._diagnose(uri)

    def did_change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> None:
        self._parts.documents.did_change(uri, version, changes)
        self._parts.recovery.changed(uri)
        self._parts.conversation.conversations.changed(uri)
        self._diagnose(uri)

    def did_close(self, uri: str) -> None:
        document = self._parts.documents.find(uri)
        self._parts.documents.did_close(uri)
        self._parts.conversation.conversations.closed(uri)
        self._parts.diagnostics.clear(document.uri if document else uri)

    def did_save(self, uri: str, text: str | None) -> None:
        self._parts.documents.did_save(uri, text)
        self._parts.recovery.changed(uri)
        if text is None:
            self._parts.edge.tasks.create_task(self._parts.recovery.saved(uri))

    def _diagnose(self, uri: str) -> None:
        document = self._parts.documents.find(uri)
        if document and document.path and document.path.endswith(".md"):
            self._parts.diagnostics.show(document.uri, document.path, document.text)

    # ---- the workspace

    def folders_changed(self, added: Sequence[Folder], removed: Sequence[Folder]) -> None:
        """The workspace has other folders now."""
        parts = self._parts
        parts.workspace.change_folders(added, removed)
        parts.servers.follow()
        parts.edge.tasks.create_task(parts.actions.set_roots(parts.workspace.roots))
        self._tell_of_wide_folder()

    def _tell_of_wide_folder(self) -> None:
        """Editors that find no project take the home folder; the person is told, once for each."""
        folder = self._parts.workspace.wide()
        if folder is None or folder in self._told_wide:
            return
        self._told_wide.add(folder)
        message = (
            f"The agent's workspace is {folder}, with all that is below it: it can read there and "
            "ask to change anything. Better open your project's own folder in the editor; one that "
            "looks for a project by itself finds it by a .git in it."
        )
        self._parts.edge.notify("window/showMessage", {"type": _WARNING, "message": message})

    def settings_changed(self, settings: JsonObject) -> None:
        """The editor has other settings; {} means that it wants to be asked."""
        self._parts.edge.tasks.create_task(self._load_settings(settings))

    def own_settings_changed(self, settings: JsonObject) -> Sequence[str]:
        """A plug-in tells the person's settings, in place of initializationOptions."""
        workspace = self._parts.workspace
        workspace.set_own_settings(settings)
        self._parts.servers.follow()
        return [problem.sentence for problem in workspace.setting_problems]

    def files_changed(self, uris: Sequence[str]) -> None:
        """Nothing is cached of files."""
        del uris

    def progress_cancelled(self, token: str | int) -> None:
        """The user pressed Cancel on a run's progress."""
        self._parts.editor.progress_cancelled(token)

    def editor_stuck(self) -> None:
        """The editor has stopped reading: end all runs."""
        self._parts.manager.stop_soon(reason="the editor has stopped reading")

    async def _load_settings(self, given: JsonObject) -> None:
        parts = self._parts
        configuration = given or await self._configuration()
        parts.workspace.set_configuration(configuration)
        parts.servers.follow()
        for problem in parts.workspace.setting_problems:
            parts.edge.notify(
                "window/showMessage",
                {"type": _WARNING, "message": f"agent-host settings: {problem.sentence}"},
            )

    async def _configuration(self) -> JsonObject:
        client = self._parts.edge.client
        workspace = client.capabilities.get("workspace")
        if not is_object(workspace) or workspace.get("configuration") is not True:
            return {}
        try:
            answer = await self._parts.edge.ask(
                "workspace/configuration",
                {"items": [{"section": "agentHost"}]},
                CONFIGURATION_SECONDS,
            )
        except (EditorError, TimeoutError, AgentHostError) as error:
            log.warning("The editor did not tell its settings (%s).", type(error).__name__)
            return {}
        sections = cast("list[object]", answer) if isinstance(answer, list) else []
        return sections[0] if sections and is_object(sections[0]) else {}
