"""One tool call on its way through the gate: its state, and what the editor is told of it.

Every call that was told as requested is told as ended, exactly once. Not here: the judgement
(judge.py) and the doing (hands.py).
"""

from collections.abc import Callable

from agent_host.core.actions import Action, CallExternal, OutputStream, Risk
from agent_host.core.events import Delta, Omitted, ToolFinished, ToolOutput, ToolRequested
from agent_host.core.model import ToolCall, ToolResult, ToolStatus
from agent_host.session.lifecycle import END_STATES, CallEvent, CallState, after
from agent_host.tools import find, title

_ENDING: dict[ToolStatus, CallEvent] = {
    "ok": "finish",
    "denied": "deny",
    "failed": "fail",
    "stopped": "stop",
}


class CallLife:
    """The life of one tool call; `tell` sends a delta of the tool's origin."""

    def __init__(self, call: ToolCall, tell: Callable[[Delta], None]) -> None:
        self.call = call
        self.tell = tell
        self.state: CallState = "requested"

    def requested(self, action: Action | None) -> None:
        """Tell that the model wishes this; `action` None: the wish makes no sense."""
        tool = find(self.call.name)
        self.tell(
            ToolRequested(
                self.call.call_id,
                self.call.name,
                self.call.arguments,
                self.call.name if action is None else title(action),
                tool.risk if tool else _risk(action),
            )
        )

    def move(self, event: CallEvent) -> None:
        """Go on to the next state."""
        self.state = after(self.state, event)

    def output(self, stream: OutputStream, text: str) -> None:
        """Tell what a command prints."""
        self.tell(ToolOutput(self.call.call_id, stream, text))

    def omitted(self, what: str, size: int) -> None:
        """Tell that so many bytes were not told."""
        self.tell(Omitted(what, size))

    def end(self, result: ToolResult) -> ToolResult:
        """Tell how the call ended; returns the result."""
        if self.state not in END_STATES:
            self.move(_ENDING[result.status])
            self.tell(ToolFinished(self.call.call_id, result.status, result.summary))
        return result


def _risk(action: Action | None) -> Risk:
    return "medium" if isinstance(action, CallExternal) else "high"


def denied(reason: str, *, by_user: bool = False) -> ToolResult:
    """What the model hears of a call that was not allowed: that nothing has happened, and why."""
    who = "The user said no" if by_user else "It is not allowed"
    return ToolResult(
        "denied",
        f"{who}: this call did not run and changed nothing. Reason: {reason}",
        f"Denied: {reason}",
    )


def failed(reason: str, code: str | None = None) -> ToolResult:
    """What the model hears of a call that could not be done; `code` is an ActionFailed's."""
    return ToolResult("failed", f"This call failed: {reason}", reason, code=code)


def stopped() -> ToolResult:
    """What the model would hear of a call that was stopped."""
    return ToolResult("stopped", "The run was stopped; this call did not finish.", "Stopped")
