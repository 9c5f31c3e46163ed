"""One editor's host, put together.

Everything that lives longer than a call is started in the edge's TaskGroup and ended by the
application's `close`.
"""

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from agent_host.app.application import Application, Parts
from agent_host.app.commands import Commands
from agent_host.app.conversation_parts import conversation_parts
from agent_host.app.diagnostics import FileDiagnostics
from agent_host.app.recovery import Recovery
from agent_host.app.system_clock import SystemClock
from agent_host.compose.base import Base, new_id
from agent_host.compose.runtimes import Runtimes
from agent_host.compose.staff import make_staff
from agent_host.core.model import SDK
from agent_host.core.ports import Editor
from agent_host.core.records import StoredDelta, StoreProblem
from agent_host.lsp.convert_session import stored_delta
from agent_host.lsp.documents import Documents
from agent_host.lsp.early import Opening
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import Edge, Host
from agent_host.lsp.loop import serve as serve_connection
from agent_host.runtimes import CLAUDE, acp_agents
from agent_host.session.follows import Follows
from agent_host.session.library import Library
from agent_host.session.manager import SessionManager
from agent_host.session.present import Present
from agent_host.session.revert import Reverter
from agent_host.session.settling import Settler
from agent_host.settings import log_folder, session_store
from agent_host.store import SqlStore

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
    workspace, actions = base.workspace, base.actions
    edge.tasks.create_task(actions.supervise())
    documents = Documents(encoding=edge.client.position_encoding, true_path=os.path.realpath)
    editor = LspEditor(
        edge,
        documents,
        state_dir=base.dirs.state,
        on_cancel=lambda run_id: manager.stop_soon(run_id),  # noqa: PLW0108 - made below
    )
    store = _store(edge, base, lambda: manager)
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
    diagnoses = editor.can_diagnose
    staff = make_staff(base, conversation.editor, store, runtimes, servers, can_diagnose=diagnoses)
    manager = SessionManager(staff, edge.tasks)
    library = _library(edge, base, editor, store, manager)
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


def _store(edge: Edge, base: Base, manager: Callable[[], SessionManager]) -> SqlStore:
    def tell(problem: StoreProblem) -> None:
        manager().heed(problem)
        log.error("store: %s", problem.message)
        edge.notify("window/showMessage", {"type": _WARNING, "message": problem.message})

    return SqlStore(
        lambda: session_store(base.workspace.settings, base.dirs),
        new_id=new_id,
        on_problem=tell,
        log_folder=lambda: log_folder(base.workspace.settings, base.dirs),
    )


def _library(
    edge: Edge, base: Base, editor: Editor, store: SqlStore, manager: SessionManager
) -> Library:
    return Library(
        store,
        manager,
        Reverter(editor, base.actions, store, clock=SystemClock(), new_id=new_id),
        Settler(Present(editor, base.actions), store),
        new_id,
        lambda: base.workspace.key,
        base.results.forget,
        Follows(store, edge.tasks, _Outlet(edge, manager)),
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
