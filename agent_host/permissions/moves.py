"""The judgement of a move: it reads and deletes at one place and writes at another. Pure.

The strictest of these decides, and a rule that denies a part of a directory denies its move: there
the rule would not be true any more. It is never remembered.
"""

from dataclasses import replace
from fnmatch import fnmatchcase

from agent_host.core.permission import Decision, Rule
from agent_host.permissions import paths
from agent_host.permissions.engine import judge
from agent_host.permissions.subject import Policy, Subject
from agent_host.permissions.verdicts import by_rule, deny, rules_of

_WILD = frozenset("*?[")
_TOUCHED = ("fs.read", "fs.write", "fs.delete")


def judge_move(source: Subject, target: Subject, policy: Policy) -> Decision:
    """Decide about a `fs.delete` of the source, of which `moved_to` is set, as a move."""
    decisions = [judge(source, policy), judge(target, policy)]
    is_directory = source.facts is not None and source.facts.kind == "directory"
    if is_directory:
        decisions += _denied_inside(source, policy)
    else:
        decisions.append(judge(replace(source, action="fs.read"), policy))
    for decision in decisions:
        if decision.verdict == "deny":
            return decision
    asks = [decision for decision in decisions if decision.verdict == "ask"]
    if not asks:
        return decisions[0]
    telling = [decision for decision in asks if decision.source != "default"]
    if not telling:
        return Decision("ask", "default", "it moves a file")
    first = telling[0]
    reasons = dict.fromkeys(decision.reason for decision in telling)
    return Decision("ask", first.source, "; ".join(reasons), first.rule, first.where)


def _denied_inside(source: Subject, policy: Policy) -> list[Decision]:
    try:
        return [
            by_rule(of, rule)
            for of, rule in rules_of("deny", policy)
            if _is_inside(rule, source, policy)
        ]
    except Exception as error:  # noqa: BLE001 - as in engine.judge
        return [deny("engine", f"the judgement itself failed ({type(error).__name__})")]


def _is_inside(rule: Rule, source: Subject, policy: Policy) -> bool:
    """Whether the rule names a place beneath the directory."""
    path = source.true_path
    if rule.path is None or path is None:
        return False
    if not any(fnmatchcase(action, rule.action) for action in _TOUCHED):
        return False
    place = path if rule.path.startswith("/") else paths.relative(policy.roots, path)
    if place is None:
        return False
    named, folder = _literal(rule.path), _parts(place)
    return len(named) > len(folder) and named[: len(folder)] == folder


def _literal(pattern: str) -> list[str]:
    """The parts of a path glob up to the first wildcard."""
    parts = _parts(pattern)
    wild = next((n for n, part in enumerate(parts) if _WILD & set(part)), len(parts))
    return parts[:wild]


def _parts(path: str) -> list[str]:
    return [part for part in paths.key(path).split("/") if part not in {"", "."}]
