"""What goes wrong with any program that is a runtime, in sentences without anything like a key."""

import re
from collections.abc import Callable

from agent_host.core.errors import (
    AgentHostError,
    AuthFailed,
    ModelNotFound,
    Overloaded,
    RateLimited,
    RuntimeFailed,
)
from agent_host.process import ChildExit
from agent_host.runtimes.masking import masked
from agent_host.runtimes.trouble import refuses_hidden

_LOGIN = re.compile(
    r"not logged in|/login|invalid api key|invalid x-api-key|authenticat|oauth token|"
    r"credit balance|api[ _]key|unauthori[sz]ed",
    re.IGNORECASE,
)
_FOREIGN = "Exec format error"
_MOST = 1000
_FEW = 200


def silent(name: str, seconds: float, stderr: str) -> RuntimeFailed:
    """It was started and never answered."""
    return RuntimeFailed(
        f"{name} did not answer within {seconds:g} s of its start and was ended. Run it once in a "
        f"terminal to see why.{tail(stderr)}"
    )


def gone(name: str, ended: ChildExit, stderr: str, remark: str) -> RuntimeFailed:
    """It ended, or broke the protocol, before its answer was whole."""
    how = f"was ended by {ended.signal}" if ended.signal else f"ended with code {ended.code}"
    because = f" ({clean(remark)})" if remark else ""
    return RuntimeFailed(f"{name} {how} before it had finished{because}.{tail(stderr)}")


def reported(
    name: str, said: str, status: int | None, refused: Callable[[str], AuthFailed]
) -> AgentHostError:
    """An error that it reports; `status` is that of its vendor's answer.

    `refused` makes the error for a login or key that does not work.
    """
    quoted = f" ({clean(said)})" if said else ""
    if refuses_hidden(said):
        return RuntimeFailed(
            f"The vendor of {name} does not take back the conversation as {name} has kept "
            f"it{quoted}: start a new session, or go on in this one with another runtime."
        )
    if status in (401, 403) or (status in (None, 400) and _LOGIN.search(said)):
        return refused(said)
    match status:
        case 404:
            return ModelNotFound(f"{name} does not know this model{quoted}: name another one.")
        case 429:
            return RateLimited(f"{name}'s rate limit is reached{quoted}: wait a little.")
        case 503 | 529:
            return Overloaded(f"{name}'s model is overloaded{quoted}: try again later.")
        case _:
            return RuntimeFailed(f"{name} failed{quoted or ' without a reason'}: try again.")


def cut_short(name: str) -> RuntimeFailed:
    """Its answer has no end."""
    return RuntimeFailed(
        f"{name} came to the end of its tokens: ask it to go on, or for less at once."
    )


def printed(line: str) -> str:
    """A line of its output that is no message, as a remark for `gone`."""
    return f"it printed: {line[:_FEW]}"


def clean(text: str) -> str:
    """A text of others in one short line, without anything that looks like a key."""
    line = masked(" ".join(text.split()).rstrip("."))
    return line if len(line) <= _MOST else line[:_MOST] + "..."


def tail(stderr: str) -> str:
    """The last words of a program, as a sentence."""
    last = "\n".join(stderr.strip().splitlines()[-10:])
    if _FOREIGN in last:
        return (
            f" It is made for another kind of machine, or broken ({clean(last)}): install it anew."
        )
    return f" It said: {clean(last)}" if last else " It said nothing."
