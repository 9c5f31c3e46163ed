"""The life of a tool call as a table of (state, event) pairs.

A pair that is not in the table is impossible: meeting one is a bug of ours. The end states have
no way out, so each call ends exactly once.
"""

from typing import Literal, get_args

CallState = Literal[
    "requested", "deciding", "asking", "running", "finished", "denied", "stopped", "failed"
]
CallEvent = Literal["judge", "ask", "allow", "deny", "fail", "finish", "stop"]

STATES: tuple[CallState, ...] = get_args(CallState)
EVENTS: tuple[CallEvent, ...] = get_args(CallEvent)
END_STATES: frozenset[CallState] = frozenset(("finished", "denied", "stopped", "failed"))

TRANSITIONS: dict[tuple[CallState, CallEvent], CallState] = {
    ("requested", "judge"): "deciding",
    ("requested", "fail"): "failed",  # the arguments make no sense
    ("requested", "stop"): "stopped",
    ("deciding", "ask"): "asking",
    ("deciding", "allow"): "running",
    ("deciding", "deny"): "denied",
    ("deciding", "fail"): "failed",  # such as an edit whose old text is not there
    ("deciding", "stop"): "stopped",
    ("asking", "judge"): "deciding",  # what was shown is not what is there any more
    ("asking", "allow"): "running",
    ("asking", "deny"): "denied",
    ("asking", "fail"): "failed",
    ("asking", "stop"): "stopped",
    ("running", "judge"): "deciding",  # the text changed between the answer and the edit
    ("running", "deny"): "denied",  # in the editor's preview of an edit
    ("running", "finish"): "finished",
    ("running", "fail"): "failed",
    ("running", "stop"): "stopped",
}

IMPOSSIBLE: frozenset[tuple[CallState, CallEvent]] = frozenset(
    (
        *((state, event) for state in END_STATES for event in EVENTS),
        ("requested", "ask"),  # nothing is asked or done before it was judged
        ("requested", "allow"),
        ("requested", "deny"),
        ("requested", "finish"),
        ("deciding", "judge"),
        ("deciding", "finish"),
        ("asking", "ask"),
        ("asking", "finish"),
        ("running", "ask"),
        ("running", "allow"),
    )
)


def after(state: CallState, event: CallEvent) -> CallState:
    """The next state; raises AssertionError for a pair that can't happen."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise AssertionError(f"a tool call that is {state} can't {event}") from None
