"""What goes wrong with the claude CLI, in sentences that say what to do and hold no key."""

import re

from agent_host.core.errors import (
    AgentHostError,
    AuthFailed,
    ModelNotFound,
    Overloaded,
    RateLimited,
    RuntimeFailed,
)
from agent_host.core.ports import RuntimeResult
from agent_host.process import ChildExit
from agent_host.runtimes.claude_events import Finished

_LOGIN = re.compile(
    r"not logged in|/login|invalid api key|invalid x-api-key|authenticat|oauth token|"
    r"credit balance|api key",
    re.IGNORECASE,
)
_LOST = re.compile(r"no conversation found", re.IGNORECASE)
_SECRET = re.compile(r"\b(sk|AIza)[-_A-Za-z0-9*]{8,}")
_FOREIGN = "Exec format error"
_MOST = 1000


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
            return RuntimeResult("completed", finished.text)
        case _:
            return RuntimeResult("failed", "", error=failure(said, finished.status))


def is_lost_session(finished: Finished | None, stderr: str) -> bool:
    """Whether the CLI no longer has the session that it was to go on with."""
    errors = finished.errors if finished is not None else ()
    return bool(_LOST.search(" ".join((*errors, stderr))))


def failure(said: str, status: int | None) -> AgentHostError:
    """An error that the CLI reports; `status` is that of the vendor's answer."""
    quoted = f" ({clean(said)})" if said else ""
    if status in (401, 403) or (status is None and _LOGIN.search(said)):
        return not_logged_in(said)
    match status:
        case 404:
            return ModelNotFound(f"claude does not know this model{quoted}: name another one.")
        case 429:
            return RateLimited(f"claude's rate limit is reached{quoted}: wait a little.")
        case 503 | 529:
            return Overloaded(f"Anthropic is overloaded{quoted}: try again later.")
        case _:
            return RuntimeFailed(f"claude failed{quoted or ' without a reason'}: try again.")


def not_logged_in(said: str) -> AuthFailed:
    """Its login or key does not work."""
    quoted = f" ({clean(said)})" if said else ""
    return AuthFailed(
        f"claude is not logged in, or its key was refused{quoted}: run `claude` once in a terminal "
        "and log in, or let it use a key of your environment by `runtimes: {claude-code: "
        "{inherit: [ANTHROPIC_API_KEY]}}` in the settings."
    )


def silent(seconds: float, stderr: str) -> RuntimeFailed:
    """It was started and never answered."""
    return RuntimeFailed(
        f"claude did not answer within {seconds:g} s of its start and was ended. Run it once in a "
        f"terminal to see why.{tail(stderr)}"
    )


def gone(ended: ChildExit, stderr: str, remark: str = "") -> RuntimeFailed:
    """It ended, or broke the protocol, before its answer was whole."""
    how = f"was ended by {ended.signal}" if ended.signal else f"ended with code {ended.code}"
    because = f" ({remark})" if remark else ""
    return RuntimeFailed(f"claude {how} before it had finished{because}.{tail(stderr)}")


def ungated(what: str) -> RuntimeFailed:
    """It does, or could do, things without asking."""
    return RuntimeFailed(
        f"claude {what}, so that it can't be gated; it was ended. Update it "
        "(`npm install -g @anthropic-ai/claude-code`), or use another runtime."
    )


def clean(text: str) -> str:
    """A text of others in one short line, without anything that looks like a key."""
    line = _SECRET.sub("***", " ".join(text.split()).rstrip("."))
    return line if len(line) <= _MOST else line[:_MOST] + "..."


def tail(stderr: str) -> str:
    """The last words of a program, as a sentence."""
    last = "\n".join(stderr.strip().splitlines()[-10:])
    if _FOREIGN in last:
        return (
            f" It is made for another kind of machine, or broken ({clean(last)}): install it anew."
        )
    return f" It said: {clean(last)}" if last else " It said nothing."
