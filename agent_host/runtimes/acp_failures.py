"""What an ACP agent tells of errors: in its answers, and by an extension of the protocol.

The adapters of Codex and Claude speak the extension: without it the one ends a turn that failed as
if it had not, and neither says that it asks its model again. Pure.
"""

import re
from dataclasses import dataclass

from agent_host.core.errors import AgentHostError, AuthFailed
from agent_host.core.model import JsonObject
from agent_host.runtimes import program_trouble
from agent_host.runtimes.acp_peer import as_object
from agent_host.runtimes.acp_trouble import MAX_BUDGET
from agent_host.runtimes.program_trouble import clean

WANTED: JsonObject = {
    "jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}},
    # Else the first says nothing of what a command prints.
    "terminal_output_delta": True,
}
"""What says to the agent that these are understood."""

_LIMITS = (
    (re.compile(r"maximum number of turns", re.IGNORECASE), "max_turn_requests"),
    (re.compile(r"maximum budget", re.IGNORECASE), MAX_BUDGET),
)


@dataclass(frozen=True, slots=True)
class Told:
    """What went wrong. `over`: the turn is, else it goes on; `again`: its model is asked again."""

    title: str
    category: str
    over: bool

    @property
    def again(self) -> bool:
        return not self.over and self.category in ("connection", "service")


def told_by(message: JsonObject) -> Told | None:
    """What an answer or an update tells by the extension."""
    air = as_object(as_object(as_object(message.get("_meta")).get("jetbrains")).get("air"))
    told = as_object(air.get("sessionFailure"))
    if not isinstance(title := told.get("title"), str):
        return None
    return Told(title, str(told.get("category")), told.get("severity") == "error")


def stop_told(said: str) -> str | None:
    """The reason to stop that it means if what it calls an error is a limit that it was given."""
    return next((reason for pattern, reason in _LIMITS if pattern.search(said)), None)


def reported(
    name: str, said: str, *, status: int | None = None, login: bool = False
) -> AgentHostError:
    """An error that it reports; `status`: of its vendor's answer; `login`: that is what fails."""

    def refused(said: str) -> AuthFailed:
        return AuthFailed(
            f"{name} is not logged in, or its key was refused ({clean(said)}). Run it once in a "
            "terminal and log in, or let it use a key of your environment by "
            f'`runtimes: {{"{name}": {{inherit: [NAME_OF_THE_KEY]}}}}` in the settings.'
        )

    return refused(said) if login else program_trouble.reported(name, said, status, refused)
