"""What the server says about itself in `initialize`, as plain JSON: the one place that says it.

Used by the early answer and by the server, so it imports next to nothing.
"""

from collections.abc import Mapping

from agent_host import __version__
from agent_host.lsp.message import is_object

COMMANDS = (
    "agentHost.run",
    "agentHost.stop",
    "agentHost.revert",
    "agentHost.trust",
    "agentHost.distrust",
    "agentHost.grants",
    "agentHost.revokeGrant",
    "agentHost.send",
    "agentHost.takeBack",
    "agentHost.ask",
    "agentHost.newConversation",
    "agentHost.answer",
    "agentHost.allow",
    "agentHost.deny",
    "agentHost.show",
)
METHODS = (
    "agent/run",
    "agent/stop",
    "agent/steer",
    "agent/steer/list",
    "agent/steer/remove",
    "agent/ping",
    "agent/status",
    "agent/roles",
    "agent/models",
    "agent/guidance",
    "agent/prompts",
    "agent/settings",
    "agent/session/list",
    "agent/session/load",
    "agent/session/fork",
    "agent/session/rename",
    "agent/session/delete",
    "agent/session/compact",
    "agent/session/revert",
    "agent/session/attach",
    "agent/session/detach",
)
RUNTIMES = ("sdk", "claude-code", "acp:claude", "acp:codex", "acp:gemini", "acp:opencode")
"""Those that need no settings; `agent/status` tells all of them."""

_ENCODINGS = ("utf-8", "utf-16", "utf-32")


def initialize_result(params: Mapping[str, object]) -> dict[str, object]:
    """The answer to an `initialize` with these params, whatever is missing or odd in them."""
    return {
        "capabilities": {
            "positionEncoding": position_encoding(params),
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
            "executeCommandProvider": {"commands": list(COMMANDS)},
            "codeActionProvider": True,
            "codeLensProvider": {"resolveProvider": False},
            "completionProvider": {"triggerCharacters": ["@", "/"]},
            "foldingRangeProvider": True,
            "documentSymbolProvider": True,
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
            "experimental": {
                "agentHost": {"version": 1, "methods": list(METHODS), "runtimes": list(RUNTIMES)}
            },
        },
        "serverInfo": {"name": "agent-host", "version": __version__},
    }


def position_encoding(params: Mapping[str, object]) -> str:
    """The first encoding in the client's order that we know; UTF-16 if it names none."""
    offered = _child(_child(_child(params, "capabilities"), "general"), "positionEncodings")
    if isinstance(offered, list):
        for name in offered:  # pyright: ignore[reportUnknownVariableType]
            if name in _ENCODINGS:
                return str(name)
    return "utf-16"


def _child(value: object, key: str) -> object:
    return value.get(key) if is_object(value) else None
