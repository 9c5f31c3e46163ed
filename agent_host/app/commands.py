"""The `agentHost.*` commands that any editor can run without a plug-in, but for run and stop."""

from collections.abc import Callable, Sequence

from agent_host.core.errors import InvalidRequest
from agent_host.lsp.convert_session import revert_answer
from agent_host.lsp.json_values import is_object
from agent_host.permissions.grants import GrantBook, described
from agent_host.permissions.trust import TrustBook
from agent_host.session.library import Library


class Commands:
    """Arguments are a list with one object or one text, or nothing; the results are JSON."""

    def __init__(
        self,
        library: Library,
        grants: GrantBook,
        trust: TrustBook,
        roots: Callable[[], Sequence[str]],
    ) -> None:
        self._library = library
        self._grants = grants
        self._trust = trust
        self._roots = roots

    async def execute(self, name: str, arguments: Sequence[object]) -> object:
        """Do a command. Raises AgentHostError."""
        match name:
            case "agentHost.revert":
                run_id = _text(arguments, "runId")
                return revert_answer(await self._library.revert(run_id, None, None)).json_object()
            case "agentHost.trust":
                for root in self._roots():
                    self._trust.trust(root, self._trust.starts(root))
                return {"trusted": list(self._trust.list())}
            case "agentHost.distrust":
                for root in self._roots():
                    self._trust.forget(root)
                return {"trusted": list(self._trust.list())}
            case "agentHost.grants":
                return {
                    "grants": [
                        {"id": grant.id, "scope": grant.scope, "what": described(grant)}
                        for grant in self._grants.list()
                    ]
                }
            case "agentHost.revokeGrant":
                return {"revoked": described(self._grants.revoke(_text(arguments, "id")))}
            case _:
                raise InvalidRequest(f"There is no command {name}.", field="command")


def _text(arguments: Sequence[object], name: str) -> str:
    """The one argument, given alone or by its name."""
    first = arguments[0] if arguments else None
    value = first.get(name) if is_object(first) else first
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"`arguments` must be [{{{name}: text}}].", field="arguments")
    return value
