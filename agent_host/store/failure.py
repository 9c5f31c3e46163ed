"""Why the database could not do something, in words that can be told to anyone.

A message never holds SQL, its values or a path.
"""

from agent_host.core.errors import StoreFailed
from agent_host.core.records import ProblemCode


class DatabaseFailed(Exception):
    """The database refused. `passing`: it may well do the same a moment later."""

    def __init__(self, reason: str, *, passing: bool, code: ProblemCode = "failed") -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.code: ProblemCode = code

    def for_user(self) -> StoreFailed:
        """The error that a request is answered with."""
        return StoreFailed(f"The session store can't be used: {self.reason}.", reason=self.code)
