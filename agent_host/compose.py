"""The wiring diagram: the only place where concrete classes meet.

Everything that lives longer than a call is started in the edge's TaskGroup and ended by the
application's `close`.
"""

import asyncio
import datetime
import logging
import os
import sys
import time
import uuid
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from agent_host import usage
from agent_host.actions.client import ActionClient
from agent_host.actions.policy import ActionPolicy
from agent_host.app.application import Application, Parts
from agent_host.app.diagnostics import RoleDiagnostics
from agent_host.app.workspace import Workspace
from agent_host.core.actions import Command, RunCommand
from agent_host.core.errors import AgentHostError, RuntimeMissing
from agent_host.core.ports import Runtime
from agent_host.core.records import SessionStore, StoreProblem
from agent_host.credentials import Credentials
from agent_host.lsp.documents import Documents
from agent_host.lsp.early import Opening
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import Edge, Host
from agent_host.lsp.loop import serve as serve_connection
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.rules import read_rules
from agent_host.permissions.shell import Plain, parse
from agent_host.permissions.trust import TrustBook
from agent_host.runtimes import ProviderConfig, RuntimeSettings
from agent_host.runtimes.sdk import SdkRuntime
from agent_host.session.asker import Asker
from agent_host.session.changes import Changes
from agent_host.session.commands import Commands
from agent_host.session.hands import Hands
from agent_host.session.judge import Judge
from agent_host.session.library import Library
from agent_host.session.manager import SessionManager, Staff
from agent_host.session.planner import SDK, Planner
from agent_host.session.revert import Reverter
from agent_host.settings import state_dirs
from agent_host.store import SqlStore

RUNTIMES = (SDK,)
_WARNING = 2

log = logging.getLogger(__name__)


def serve(opening: Opening) -> NoReturn:
    """Serve one editor until it is gone, then leave the process."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    serve_connection(make_host, opening)


def make_host(edge: Edge) -> Host:
    """The application for one connection."""
    environment = dict(os.environ)
    dirs = state_dirs(environment)
    grants = GrantBook(dirs.state, time.time, _new_id)
    trust = TrustBook(dirs.state, time.time)
    actions = ActionClient(
        state_dir=dirs.state,
        policy=ActionPolicy(),
        environment=environment,
        log=partial(log.info, "action server: %s"),
    )
    edge.tasks.create_task(actions.supervise())
    workspace = Workspace(
        dirs,
        environment,
        grants,
        trust,
        parse_rules=read_rules,
        narrow_rules=partial(read_rules, narrow_only=True),
        sandbox=lambda: actions.status().sandbox,
    )
    documents = Documents(encoding=edge.client.position_encoding, true_path=os.path.realpath)
    editor = LspEditor(
        edge,
        documents,
        state_dir=dirs.state,
        on_cancel=lambda run_id: manager.stop_soon(run_id),  # noqa: PLW0108 - made below
    )
    store = SqlStore(
        dirs.state / "sessions.sqlite",
        new_id=_new_id,
        on_problem=partial(_tell_problem, edge),
    )
    runtimes = _Runtimes(workspace.credentials)
    manager = SessionManager(
        _staff(workspace, editor, actions, store, grants, trust, runtimes), edge.tasks
    )
    return Application(
        Parts(
            edge=edge,
            workspace=workspace,
            documents=documents,
            editor=editor,
            actions=actions,
            store=store,
            manager=manager,
            library=Library(
                store,
                manager,
                Reverter(editor, actions, store, clock=_SystemClock(), new_id=_new_id),
                _new_id,
                lambda: workspace.key,
            ),
            diagnostics=RoleDiagnostics(edge.notify, read_rules),
            runtimes=RUNTIMES,
            action_server=actions.status,
            start_actions=actions.start,
            warm=lambda: runtimes.warm(workspace),
            close_runtimes=runtimes.close,
        )
    )


def _staff(
    workspace: Workspace,
    editor: LspEditor,
    actions: ActionClient,
    store: SessionStore,
    grants: GrantBook,
    trust: TrustBook,
    runtimes: "_Runtimes",
) -> Staff:
    def shown(path: str) -> str:
        return _short(path, workspace.roots)

    commands = Commands(
        editor,
        actions,
        overlays=lambda: actions.status().sandbox == "bubblewrap",
        prepare=_command,
    )
    return Staff(
        editor=editor,
        store=store,
        judge=Judge(editor, actions, roots=lambda: workspace.roots, policy=workspace.policy),
        changes=Changes(
            editor, actions, show=shown, saves=lambda: workspace.settings.save == "clean"
        ),
        hands=Hands(editor, actions, commands, show=shown),
        planner=Planner(
            settings=lambda: workspace.settings,
            roles=workspace.roles,
            credentials=lambda: workspace.credentials,
            roots=lambda: workspace.roots,
            runtimes=RUNTIMES,
            today=lambda: datetime.datetime.now().astimezone().date().isoformat(),
        ),
        asker=lambda session_id: Asker(
            session_id, editor, store, grants, trust, ignored=workspace.brings
        ),
        runtime=runtimes.get,
        clock=_SystemClock(),
        new_id=_new_id,
        workspace=lambda: workspace.key,
    )


class _SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class _Runtimes:
    """The runtimes by name, each made on first use."""

    def __init__(self, credentials: Credentials) -> None:
        self._sdk = SdkRuntime(_runtime_settings(credentials), price=usage.price)

    async def get(self, name: str) -> Runtime:
        """The runtime of that name. Raises RuntimeMissing."""
        if name == SDK:
            return self._sdk
        raise RuntimeMissing(f"There is no runtime {name!r}. Known: {', '.join(RUNTIMES)}.")

    async def warm(self, workspace: Workspace) -> None:
        """Import what the configured model needs, in a thread; what can't be used waits."""
        try:
            model = workspace.settings.model or workspace.credentials.default_model()
            await asyncio.to_thread(self._sdk.warm, model)
        except AgentHostError:
            return  # whoever runs it is told; nobody has asked for it yet

    async def close(self) -> None:
        """Release what is shared between runs."""
        await self._sdk.close()


def _runtime_settings(credentials: Credentials) -> RuntimeSettings:
    providers = {
        each.vendor.name: ProviderConfig(each.key, each.key_source, each.base_url)
        for each in credentials.all
    }
    return RuntimeSettings(providers)


def _command(action: RunCommand) -> Command:
    """What is executed: the argv that was parsed where it is one plain command, else the script."""
    parsed = parse(action.command)
    script = action.command
    if isinstance(parsed, Plain):
        if len(parsed.parts) == 1:
            return Command(
                action.cwd, argv=parsed.parts[0], timeout=action.timeout, network=action.network
            )
        script = parsed.script
    return Command(action.cwd, script=script, timeout=action.timeout, network=action.network)


def _tell_problem(edge: Edge, problem: StoreProblem) -> None:
    log.error("store: %s", problem.message)
    edge.notify("window/showMessage", {"type": _WARNING, "message": problem.message})


def _short(path: str, roots: Sequence[str]) -> str:
    """A path relative to the root that it is in, to be shown."""
    for root in roots:
        if path.startswith(root + os.sep):
            return path[len(root) + 1 :]
    return path


def _new_id() -> str:
    return uuid.uuid4().hex
