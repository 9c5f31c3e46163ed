"""What goes on in a host right now, as it is on the wire."""

from typing import Literal

from agent_host.lsp.wire_base import Told


class SessionStatusWire(Told):
    session_id: str
    status: Literal["idle", "running", "needsInput", "stopping"]
    run_id: str | None = None


class ActionServerWire(Told):
    pid: int | None = None
    restarts: int
    sandbox: str


class WorkspaceWire(Told):
    """A folder of the workspace; `ignored` is what it brings that is not used until it is trusted:
    roles, rules, MCP servers, instructions, skills, prompts.
    """

    path: str
    trusted: bool
    ignored: list[str]


class McpServerWire(Told):
    """An MCP server: idle until an agent needs it. `how` is its command line or address.

    `reason` and `remedy` say why one is failed, disabled or ignored; `notes` what of it can't be
    used; `tools` are the names that it gives, known once it has been ready.
    """

    name: str
    state: Literal["idle", "starting", "ready", "failed", "stopped", "disabled", "ignored"]
    how: str
    where: str
    tools: list[str]
    reason: str | None = None
    remedy: str | None = None
    notes: list[str]
    pid: int | None = None
    restarts: int


class StatusAnswer(Told):
    version: str
    sessions: list[SessionStatusWire]
    action_server: ActionServerWire
    runtimes: list[str]
    workspaces: list[WorkspaceWire]
    mcp_servers: list[McpServerWire]
