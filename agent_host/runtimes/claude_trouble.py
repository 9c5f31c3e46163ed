"""What goes wrong with the claude CLI, in sentences that say what to do and hold no key."""

import re

from agent_host.core.errors import AgentHostError, AuthFailed, RuntimeFailed
from agent_host.core.ports import RuntimeResult
from agent_host.runtimes.claude_events import Finished
from agent_host.runtimes.program_trouble import clean, cut_short, reported
from agent_host.runtimes.trouble import refuses_hidden

_LOST = re.compile(r"no conversation found", re.IGNORECASE)


def outcome_of(finished: Finished) -> RuntimeResult:
    """How the CLI says that it ended."""
    said = " ".join([*finished.errors, finished.text]).strip()
    match finished.kind:
        case "error_max_turns":
            return RuntimeResult("limit", "", limit="maxTurns", reason="claude took all its turns")
        case "error_max_budget_usd":
            reason = "claude spent all its money"
            return RuntimeResult("limit", "", limit="maxCostUsd", reason=reason)
        case "success" if not finished.is_error:
            if finished.stop_reason == "refusal":
                return RuntimeResult("refused", finished.text, reason="The model refused.")
            if finished.stop_reason == "max_tokens":
                return RuntimeResult("failed", finished.text, error=cut_short("claude"))
            return RuntimeResult("completed", finished.text)
        case _:
            return RuntimeResult("failed", "", error=failure(said, finished.status))


def is_lost_session(finished: Finished | None, stderr: str) -> bool:
    """Whether the CLI no longer has the session that it was to go on with."""
    errors = finished.errors if finished is not None else ()
    return bool(_LOST.search(" ".join((*errors, stderr))))


def is_refused_history(finished: Finished) -> bool:
    """Whether the vendor does not take back what it had signed, as the CLI has kept it."""
    said = " ".join([*finished.errors, finished.text])
    return finished.is_error and finished.status in (400, None) and refuses_hidden(said)


def not_logged_in(said: str) -> AuthFailed:
    """Its login or key does not work."""
    quoted = f" ({clean(said)})" if said else ""
    return AuthFailed(
        f"claude is not logged in, or its key was refused{quoted}: run `claude` once in a terminal "
        "and log in, or let it use a key of your environment by `runtimes: {claude-code: "
        "{inherit: [ANTHROPIC_API_KEY]}}` in the settings."
    )


def failure(said: str, status: int | None) -> AgentHostError:
    """An error that the CLI reports; `status` is that of the vendor's answer."""
    return reported("claude", said, status, not_logged_in)


def ungated(what: str) -> RuntimeFailed:
    """It does, or could do, things without asking."""
    return RuntimeFailed(
        f"claude {what}, so that it can't be gated; it was ended. Update it "
        "(`npm install -g @anthropic-ai/claude-code`), or use another runtime."
    )
