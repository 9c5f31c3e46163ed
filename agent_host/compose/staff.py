"""What the sessions share, put together: judge, hands, planner, asker."""

import datetime
import os
from collections.abc import Mapping, Sequence

from agent_host.app.system_clock import SystemClock
from agent_host.app.workspace import MOUNTING
from agent_host.compose.base import Base, new_id
from agent_host.compose.runtimes import Runtimes
from agent_host.core.actions import Command, RunCommand
from agent_host.core.ports import Editor, ToolServers
from agent_host.core.records import SessionStore
from agent_host.permissions.shell import execution, parse
from agent_host.session.asker import Asker
from agent_host.session.changes import Changes
from agent_host.session.command_runner import CommandRunner
from agent_host.session.hands import Hands
from agent_host.session.judge import Judge
from agent_host.session.long_results import LongResults
from agent_host.session.planner import Planner
from agent_host.session.present import Present
from agent_host.session.settling import Settler
from agent_host.session.staff import Staff
from agent_host.tools import DIAGNOSTICS


def make_staff(
    base: Base,
    editor: Editor,
    store: SessionStore,
    runtimes: Runtimes,
    servers: ToolServers,
    *,
    can_diagnose: bool,
) -> Staff:
    """`editor` is the port that the sessions work with."""
    workspace, actions = base.workspace, base.actions

    def shown(path: str) -> str:
        return _short(path, workspace.roots)

    return Staff(
        editor=editor,
        store=store,
        judge=Judge(editor, actions, roots=lambda: workspace.roots, policy=workspace.policy),
        changes=Changes(
            editor, actions, show=shown, saves=lambda: workspace.settings.save == "clean"
        ),
        hands=Hands(editor, actions, _commands(base, editor), show=shown),
        long_results=LongResults(base.results),
        planner=_planner(base, runtimes, missing=frozenset(() if can_diagnose else (DIAGNOSTICS,))),
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


def _commands(base: Base, editor: Editor) -> CommandRunner:
    return CommandRunner(
        editor,
        base.actions,
        overlays=lambda: base.actions.status().sandbox == MOUNTING,
        prepare=lambda action: _command(action, base.workspace.settings.env),
        new_id=new_id,
    )


def _planner(base: Base, runtimes: Runtimes, *, missing: frozenset[str]) -> Planner:
    workspace = base.workspace
    return Planner(
        settings=lambda: workspace.settings,
        roles=workspace.roles,
        credentials=lambda: workspace.credentials,
        roots=lambda: workspace.roots,
        runtimes=runtimes.names,
        today=lambda: datetime.datetime.now().astimezone().date().isoformat(),
        guidance=base.guidance,
        missing_tools=lambda: missing,
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


def _short(path: str, roots: Sequence[str]) -> str:
    """A path relative to the root that it is in, to be shown."""
    for root in roots:
        if path.startswith(root + os.sep):
            return path[len(root) + 1 :]
    return path
