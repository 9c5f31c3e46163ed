"""The wiring diagram: the only place where concrete classes meet.

Everything that lives longer than a call is started in the edge's TaskGroup and ended by the
application's `close`.
"""

import datetime
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from agent_host.app.application import Application, Parts
from agent_host.app.commands import Commands
from agent_host.app.conversation_parts import conversation_parts
from agent_host.app.diagnostics import FileDiagnostics
from agent_host.app.recovery import Recovery
from agent_host.app.servers import ServerList
from agent_host.app.system_clock import SystemClock
from agent_host.app.workspace import MOUNTING
from agent_host.compose.base import Base, new_id
from agent_host.compose.runtimes import Runtimes
from agent_host.core.actions import CallExternal, Command, RunCommand, SingleAction
from agent_host.core.errors import InvalidRequest
from agent_host.core.guidance import Guidance
from agent_host.core.model import SDK
from agent_host.core.ports import Editor, ToolServers
from agent_host.core.records import SessionStore, StoredDelta, StoreProblem
from agent_host.lsp.convert_session import stored_delta
from agent_host.lsp.documents import Documents
from agent_host.lsp.early import Opening
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import Edge, Folder, Host
from agent_host.lsp.loop import serve as serve_connection
from agent_host.permissions.shell import execution, parse
from agent_host.runtimes import CLAUDE, acp_agents
from agent_host.session.asker import Asker
from agent_host.session.changes import Changes
from agent_host.session.command_runner import CommandRunner
from agent_host.session.follows import Follows
from agent_host.session.hands import Hands
from agent_host.session.judge import Judge, Judged
from agent_host.session.library import Library
from agent_host.session.long_results import LongResults
from agent_host.session.manager import SessionManager
from agent_host.session.planner import Planner
from agent_host.session.present import Present
from agent_host.session.revert import Reverter
from agent_host.session.settling import Settler
from agent_host.session.staff import Staff
from agent_host.settings import log_folder, session_store
from agent_host.store import SqlStore
from agent_host.tools import DIAGNOSTICS

RUNTIMES = (SDK, CLAUDE, *acp_agents.names(()))
_WARNING = 2

log = logging.getLogger(__name__)


def serve(opening: Opening) -> NoReturn:
    """Serve one editor until it is gone, then leave the process."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    serve_connection(make_host, opening)


def make_host(edge: Edge) -> Host:
    """The application for one connection."""
    environment = dict(os.environ)
    base = Base(environment)
    dirs, workspace, actions = base.dirs, base.workspace, base.actions
    edge.tasks.create_task(actions.supervise())
    documents = Documents(encoding=edge.client.position_encoding, true_path=os.path.realpath)
    editor = LspEditor(
        edge,
        documents,
        state_dir=dirs.state,
        on_cancel=lambda run_id: manager.stop_soon(run_id),  # noqa: PLW0108 - made below
    )

    def tell(problem: StoreProblem) -> None:
        _tell_problem(edge, manager, problem)

    store = SqlStore(
        lambda: session_store(workspace.settings, dirs),
        new_id=new_id,
        on_problem=tell,
        log_folder=lambda: log_folder(workspace.settings, dirs),
    )
    runtimes = Runtimes(workspace, base.embedded, environment)
    conversation = conversation_parts(
        edge,
        documents,
        editor,
        actions,
        workspace,
        guidance=base.guidance,
        manager=lambda: manager,
        new_id=new_id,
    )
    servers = base.servers(edge.tasks)
    staff = _staff(
        base,
        conversation.editor,
        store,
        runtimes,
        servers,
        can_diagnose=editor.can_diagnose,
    )
    manager = SessionManager(staff, edge.tasks)
    library = Library(
        store,
        manager,
        Reverter(editor, actions, store, clock=SystemClock(), new_id=new_id),
        Settler(Present(editor, actions), store),
        new_id,
        lambda: workspace.key,
        base.results.forget,
        Follows(store, edge.tasks, _Outlet(edge, manager)),
    )
    return Application(
        Parts(
            edge=edge,
            workspace=workspace,
            documents=documents,
            recovery=Recovery(documents, actions, edge.notify),
            editor=editor,
            actions=actions,
            store=store,
            manager=manager,
            library=library,
            conversation=conversation,
            commands=Commands(library, base.grants, base.trust, lambda: workspace.roots),
            diagnostics=FileDiagnostics(edge.notify, workspace.file_problems),
            guidance=base.guidance,
            embedded=base.embedded.file.info,
            programs=runtimes.own.infos,
            runtimes=runtimes.names,
            action_server=actions.status,
            start_actions=actions.start,
            warm=lambda: runtimes.warm(workspace),
            servers=servers,
            close_runtimes=runtimes.close,
        )
    )


@dataclass(frozen=True, slots=True)
class _Outlet:
    """Where what is followed is told. See session.follows.Outlet."""

    edge: Edge
    manager: SessionManager

    def tell(self, stored: StoredDelta) -> None:
        self.edge.notify("agent/delta", stored_delta(stored).json_object())

    def left(self, session_id: str, reason: str) -> None:
        self.edge.notify("agent/session/detached", {"sessionId": session_id, "reason": reason})

    def is_told(self, run_id: str) -> bool:
        return self.manager.has_begun(run_id)

    def backlog(self) -> int:
        return self.edge.backlog()

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self.edge.on_drained(callback)


class _NothingOpen:
    """The documents of nobody's editor."""

    def document(self, uri_or_path: str) -> None:
        """None is open."""
        del uri_or_path


def guidance_of(folder: Path) -> Guidance:
    """What holds for a run in a folder. Raises AgentHostError for settings that can't be read."""
    base = Base(dict(os.environ))
    base.workspace.set_folders([Folder(folder.as_uri(), folder.name)])
    base.workspace.reload()
    return base.guidance.read_now(str(folder))


async def explained(action: SingleAction, role: str | None, folder: Path) -> Judged:
    """How an action would be judged in a folder right now. Raises AgentHostError, ActionFailed."""
    base = Base(dict(os.environ))
    base.workspace.set_folders([Folder(folder.as_uri(), folder.name)])
    base.workspace.reload()
    if isinstance(action, CallExternal):
        _check_server(action.tool.server, base.workspace.servers())
    async with base.actions.serving():
        await base.actions.set_roots(base.workspace.roots)
        await base.actions.start()
        shelf = await base.workspace.roles()
        chosen = shelf.get(role or base.workspace.settings.role)
        judge = Judge(
            _NothingOpen(),
            base.actions,
            roots=lambda: base.workspace.roots,
            policy=base.workspace.policy,
        )
        return await judge.judge(action, chosen, "")


def _check_server(name: str, servers: ServerList) -> None:
    """Raises InvalidRequest for a server that no agent can use."""
    if any(server.name == name for server in servers.usable):
        return
    for server in servers.unused:
        if server.name == name:
            remedy = f" To have it: {server.remedy}." if server.remedy else ""
            raise InvalidRequest(f"No agent gets the MCP server {name}: {server.reason}.{remedy}")
    known = ", ".join(sorted(servers.names)) or "none"
    raise InvalidRequest(f"There is no MCP server `{name}` (known: {known}).")


def _staff(
    base: Base,
    editor: Editor,
    store: SessionStore,
    runtimes: Runtimes,
    servers: ToolServers,
    *,
    can_diagnose: bool,
) -> Staff:
    workspace, actions = base.workspace, base.actions

    def shown(path: str) -> str:
        return _short(path, workspace.roots)

    commands = CommandRunner(
        editor,
        actions,
        overlays=lambda: actions.status().sandbox == MOUNTING,
        prepare=lambda action: _command(action, workspace.settings.env),
        new_id=new_id,
    )
    return Staff(
        editor=editor,
        store=store,
        judge=Judge(editor, actions, roots=lambda: workspace.roots, policy=workspace.policy),
        changes=Changes(
            editor, actions, show=shown, saves=lambda: workspace.settings.save == "clean"
        ),
        hands=Hands(editor, actions, commands, show=shown),
        long_results=LongResults(base.results),
        planner=Planner(
            settings=lambda: workspace.settings,
            roles=workspace.roles,
            credentials=lambda: workspace.credentials,
            roots=lambda: workspace.roots,
            runtimes=runtimes.names,
            today=lambda: datetime.datetime.now().astimezone().date().isoformat(),
            guidance=base.guidance,
            missing_tools=lambda: frozenset(() if can_diagnose else (DIAGNOSTICS,)),
        ),
        asker=lambda session_id: Asker(
            session_id,
            editor,
            store,
            base.grants,
            base.trust,
            ignored=workspace.brings,
            may_trust=lambda: workspace.settings.trust == "ask",
        ),
        runtime=runtimes.get,
        clock=SystemClock(),
        new_id=new_id,
        workspace=lambda: workspace.key,
        show=shown,
        settler=Settler(Present(editor, actions), store),
        servers=servers,
    )


def _command(action: RunCommand, env: Mapping[str, str]) -> Command:
    """What is executed: the argv that was parsed where it is one plain command, else the script."""
    run = execution(parse(action.command), action.command)
    return Command(
        action.cwd,
        argv=run.argv,
        script=run.script,
        timeout=action.timeout,
        network=action.network,
        env=env,
    )


def _tell_problem(edge: Edge, manager: SessionManager, problem: StoreProblem) -> None:
    manager.heed(problem)
    log.error("store: %s", problem.message)
    edge.notify("window/showMessage", {"type": _WARNING, "message": problem.message})


def _short(path: str, roots: Sequence[str]) -> str:
    """A path relative to the root that it is in, to be shown."""
    for root in roots:
        if path.startswith(root + os.sep):
            return path[len(root) + 1 :]
    return path
