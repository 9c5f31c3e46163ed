"""What would hold in a folder, asked from the command line: no editor, and no pygls to import."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_host.app.servers import ServerList
from agent_host.compose.base import Base
from agent_host.core.actions import CallExternal, SingleAction
from agent_host.core.errors import InvalidRequest
from agent_host.core.guidance import Guidance
from agent_host.lsp.host import Folder
from agent_host.permissions import engine
from agent_host.permissions.subject import Grant
from agent_host.session.judge import Judge, Judged


def guidance_of(folder: Path) -> Guidance:
    """What holds for a run in a folder. Raises AgentHostError for settings that can't be read."""
    base = _base_in(folder)
    return base.guidance.read_now(str(folder))


async def explained(action: SingleAction, role: str | None, folder: Path) -> Judged:
    """How an action would be judged in a folder right now. Raises AgentHostError, ActionFailed."""
    base = _base_in(folder)
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
        judged = await judge.judge(action, chosen, "")
        grants = base.grants.view("", base.workspace.roots).grants
        return _as_remembered(judged, grants) if isinstance(action, CallExternal) else judged


def _as_remembered(judged: Judged, grants: Sequence[Grant]) -> Judged:
    """What holds if a tool is still what it was when it was allowed: its server is not asked."""
    for grant in grants:
        subject = replace(judged.subject, content=grant.key.content)
        decision = engine.judge(subject, judged.policy)
        if decision.source == "grant":
            reason = f"{decision.reason}, as long as its server says the same of it as then"
            return replace(judged, decision=replace(decision, reason=reason))
    return judged


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


def _base_in(folder: Path) -> Base:
    base = Base(dict(os.environ))
    base.workspace.set_folders([Folder(folder.as_uri(), folder.name)])
    base.workspace.reload()
    return base


class _NothingOpen:
    """The documents of nobody's editor."""

    def document(self, uri_or_path: str) -> None:
        """None is open."""
        del uri_or_path
