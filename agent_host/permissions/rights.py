"""What a role can do under a policy, action by action, for people who ask before they run it.

It says what holds for an ordinary file or command of the workspace; rules about certain paths or
commands are listed as exceptions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from agent_host.core.actions import PathFacts, RunCommand
from agent_host.core.permission import Rule
from agent_host.permissions import paths
from agent_host.permissions.engine import judge
from agent_host.permissions.matching import ACTIONS, ANY_MORE
from agent_host.permissions.servers import PREFIX
from agent_host.permissions.subject import NoGrants, Policy, Subject, command_subject
from agent_host.permissions.verdicts import rules_of, spelled

_EFFECTS: tuple[Literal["allow", "ask", "deny"], ...] = ("deny", "ask", "allow")
_NAME = "a"


@dataclass(frozen=True, slots=True)
class Right:
    """What holds for an action, and why. `overrides`: rules that say otherwise but do not win.

    `exceptions`: rules about certain paths or commands only. Rules are spelled on one line.
    """

    action: str
    verdict: Literal["allow", "ask", "deny"]
    source: str
    reason: str
    where: str | None = None
    overrides: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()


def rights(policy: Policy, servers: Iterable[str] = ()) -> tuple[Right, ...]:
    """One right for each known action, and `mcp:<server>/*` for any tool of each of the servers.

    What was granted for a session is left out.
    """
    role = replace(policy.role, rules=_general(policy.role.rules))
    general = replace(
        policy,
        role=role,
        user_rules=_general(policy.user_rules),
        workspace_rules=_general(policy.workspace_rules),
        grants=NoGrants(),
    )
    actions = (*ACTIONS, *(f"{PREFIX}{server}/*" for server in servers))
    return tuple(_right(action, general, policy) for action in actions)


def _right(action: str, general: Policy, policy: Policy) -> Right:
    decision = judge(_ordinary(action, general), general)
    speaking = [
        rule
        for effect in _EFFECTS
        for _, rule in rules_of(effect, policy)
        if fnmatchcase(action, rule.action) and (rule.argv is None or action == "terminal.run")
    ]
    return Right(
        action,
        decision.verdict,
        decision.source,
        decision.reason,
        decision.where,
        tuple(
            spelled(rule)
            for rule in _general(speaking)
            if rule.effect != decision.verdict and spelled(rule) != decision.rule
        ),
        (
            *(spelled(rule) for rule in speaking if not _is_general(rule)),
            *(spelled(rule) for rule in _of_some_tools(action, policy)),
        ),
    )


def _of_some_tools(action: str, policy: Policy) -> Iterator[Rule]:
    """The rules about some of a server's tools only."""
    if not action.startswith(PREFIX):
        return
    server = action.split("/", maxsplit=1)[0]
    for effect in _EFFECTS:
        for _, rule in rules_of(effect, policy):
            named, slash, _ = rule.action.partition("/")
            if slash and fnmatchcase(server, named) and not fnmatchcase(action, rule.action):
                yield rule


def _general(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(filter(_is_general, rules))


def _is_general(rule: Rule) -> bool:
    return rule.path in {None, "**"} and rule.argv in {None, (ANY_MORE,)}


def _ordinary(action: str, policy: Policy) -> Subject:
    """An ordinary file of the workspace, or an ordinary command in it."""
    root = policy.roots[0] if policy.roots else "/"
    if action == "terminal.run":
        program = min(policy.role.programs, default=_NAME)
        command = program if "terminal" not in policy.role.skills else _NAME
        return command_subject(RunCommand(command, root), cwd=root)
    if action == "agent.call":
        return Subject(action, called=next((each.role for each in policy.role.may_call), _NAME))
    if action.startswith(PREFIX):
        # A tool that no rule names: only rules about all tools match a `*` itself.
        return Subject(action, external=action.removeprefix(PREFIX))
    path = paths.resolve(root, _NAME)
    return Subject(action, path, PathFacts(path, path, "file"))
