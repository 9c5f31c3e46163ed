"""Says in a sentence which step, rule or grant decided, for logs and for people who ask why."""

from agent_host.core.permission import Decision
from agent_host.permissions.visible import line

_LENGTH = 300
_VERBS = {"allow": "Allowed", "ask": "Asked", "deny": "Denied"}
_SOURCES = {
    "input": "the action is not well-formed",
    "canonical": "what it names has no sure identity",
    "hard": "this is never allowed",
    "role": "the role does not go so far",
    "trust": "the workspace is not trusted",
    "role rule": "a rule of the role",
    "user rule": "your rule",
    "workspace rule": "a rule of the workspace",
    "protected": "protected paths are asked each time",
    "caution": "this is asked each time",
    "shell": "only plain commands can be judged",
    "sandbox": "commands need a sandbox",
    "network": "the network is asked each time",
    "wrapper": "programs that run others are asked each time",
    "grant": "your earlier answer",
    "repeat": "a call that is repeated is asked",
    "safe table": "the table of commands that only read",
    "secret": "secret-looking files are asked",
    "outside": "places outside the workspace are asked",
    "default": "the default",
    "answer": "your answer",
    "unanswered": "nobody answered",
    "engine": "the judgement could not be made",
}


def explain(decision: Decision) -> str:
    """One sentence, such as "Denied by your rule `deny terminal.run curl` (policy.yaml:3): ..."."""
    verb = _VERBS[decision.verdict]
    source = _SOURCES.get(decision.source, decision.source)
    rule = f" `{line(decision.rule, _LENGTH)}`" if decision.rule else ""
    where = f" ({line(decision.where, _LENGTH)})" if decision.where else ""
    return f"{verb}: {source}{rule}{where}; {line(decision.reason.rstrip('.'), _LENGTH)}."
