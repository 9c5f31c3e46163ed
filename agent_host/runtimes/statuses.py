"""What a runtime does for each session, as the port `Runtime.status` tells it."""

from collections.abc import Awaitable

from agent_host.core.ports import RuntimeResult, RuntimeStatus

MAX_KEPT = 1000
"""Of how many sessions the last end is known."""


class Statuses:
    """The statuses of one runtime's sessions."""

    def __init__(self) -> None:
        self._by_session: dict[str, RuntimeStatus] = {}

    def of(self, session_id: str) -> RuntimeStatus:
        """The session's status; idle if nothing was ever run for it."""
        return self._by_session.get(session_id, "idle")

    async def follow(self, session_id: str, work: Awaitable[RuntimeResult]) -> RuntimeResult:
        """Do the work of one run of a session, and keep how it goes. A stop is no failure."""
        self._by_session.pop(session_id, None)
        self._by_session[session_id] = "running"
        ended: RuntimeStatus = "completed"
        try:
            result = await work
            if result.status == "failed":
                ended = "failed"
        except Exception:
            ended = "failed"
            raise
        finally:
            self._by_session[session_id] = ended
            while len(self._by_session) > MAX_KEPT:
                del self._by_session[next(iter(self._by_session))]
        return result
