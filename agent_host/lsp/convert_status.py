"""wire <-> core for `agent/status`, pure."""

from agent_host.lsp import wire_status
from agent_host.lsp.host import HostStatus


def status_answer(status: HostStatus, version: str) -> wire_status.StatusAnswer:
    server = status.action_server
    return wire_status.StatusAnswer(
        version=version,
        sessions=[
            wire_status.SessionStatusWire(
                session_id=of.session_id, status=of.state, run_id=of.run_id
            )
            for of in status.sessions
        ],
        action_server=wire_status.ActionServerWire(
            pid=server.pid, restarts=server.restarts, sandbox=server.sandbox
        ),
        runtimes=list(status.runtimes),
        workspaces=[
            wire_status.WorkspaceWire(path=of.path, trusted=of.trusted, ignored=list(of.ignored))
            for of in status.workspaces
        ],
        mcp_servers=[
            wire_status.McpServerWire(
                name=each.name,
                state=each.state,
                how=each.how,
                where=each.where,
                tools=list(each.tools),
                reason=each.reason,
                remedy=each.remedy,
                notes=list(each.notes),
                pid=each.pid,
                restarts=each.restarts,
            )
            for each in status.mcp_servers
        ],
    )
