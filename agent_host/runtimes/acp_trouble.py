"""What goes wrong with an ACP agent, in sentences that say what to do and hold no key."""

from collections.abc import Sequence

from agent_host.core.errors import AuthFailed, RuntimeFailed
from agent_host.core.model import JsonObject
from agent_host.core.ports import RuntimeResult
from agent_host.runtimes.program_trouble import clean, cut_short

AUTH_REQUIRED = -32000
MAX_BUDGET = "max_budget"
"""A reason to stop that the protocol has no word for."""


def outcome_of(name: str, reason: str, answer: str, *, denied: bool) -> RuntimeResult:
    """How the agent says that its turn ended; `denied`: something that it asked for was."""
    match reason:
        case "end_turn":
            return RuntimeResult("completed", answer)
        case "cancelled" if denied:
            return RuntimeResult("completed", answer)  # some go no further then
        case "refusal":
            return RuntimeResult("refused", answer, reason="The agent refused.")
        case "max_turn_requests":
            return RuntimeResult("limit", answer, limit="maxTurns", reason="it took all its turns")
        case _ if reason == MAX_BUDGET:
            return RuntimeResult("limit", answer, limit="maxCostUsd", reason="it spent its money")
        case "max_tokens":
            return RuntimeResult("failed", answer, error=cut_short(name))
        case _:
            told = f"{name} ended its turn early ({clean(reason)}): run it again."
            return RuntimeResult("failed", answer, error=RuntimeFailed(told))


def not_logged_in(name: str, methods: Sequence[JsonObject]) -> AuthFailed:
    """It wants a login; `methods` are its ways."""
    ways = ", ".join(clean(str(each.get("name") or each.get("id"))) for each in methods)
    offered = f" It offers: {ways}." if ways else ""
    return AuthFailed(
        f"{name} is not logged in.{offered} Run it once in a terminal and log in, or let it use a "
        f'key of your environment by `runtimes: {{"{name}": {{inherit: [NAME_OF_THE_KEY]}}}}` in '
        "the settings."
    )


def other_version(name: str, version: object) -> RuntimeFailed:
    """It speaks another version of the protocol."""
    return RuntimeFailed(
        f"{name} speaks version {version} of the Agent Client Protocol, and version 1 is needed: "
        "install a version of it that speaks that."
    )


def no_session(name: str) -> RuntimeFailed:
    """Its new session has no id."""
    return RuntimeFailed(f"{name} has begun a session without an id: update it.")


def ungated(name: str, what: str) -> RuntimeFailed:
    """It does things without asking."""
    return RuntimeFailed(
        f"{name} {what}; it was ended. Have it ask by its own settings, or allow it to act by "
        f'itself by `runtimes: {{"{name}": {{tools: native}}}}` in the settings.'
    )
