"""The judgement: one Subject, one Policy, one Decision. First hit ends.

Input -> canonical form -> hard deny -> role -> trust -> deny rules -> protected -> ask rules ->
grants -> allow rules -> default. A fault in any step is a denial. Commands: commands.py.
"""

from collections.abc import Iterator
from typing import Literal

from agent_host.core.actions import PathFacts
from agent_host.core.permission import Decision, Rule
from agent_host.permissions import ceiling, paths
from agent_host.permissions.commands import judge_command
from agent_host.permissions.matching import (
    ACTIONS,
    FROM_HOST,
    Target,
    matches,
    names_exactly,
)
from agent_host.permissions.subject import GrantKey, Policy, Subject, command_key
from agent_host.permissions.verdicts import allow, ask, by_rule, deny, first_match, rules_of

_READING = frozenset({"fs.read", "fs.list", "fs.search"})
_WITHOUT_TRUST = _READING | {"editor.open", "agent.call"}
_CHANGING = frozenset({"fs.write", "fs.createDirectory", "fs.delete"})


def judge(subject: Subject, policy: Policy) -> Decision:
    """Decide; a fault of any kind is a denial with the source "engine"."""
    try:
        return decide(subject, policy)
    except Exception as error:  # noqa: BLE001 - a judge that failed must not let anything pass
        return deny("engine", f"the judgement itself failed ({type(error).__name__})")


def decide(subject: Subject, policy: Policy) -> Decision:
    """Decide; may raise on facts that are missing or faults inside. Callers use `judge`."""
    for step in (_input, _from_host, _canonical, _hard, _role, _trust, _denied):
        if found := step(subject, policy):
            return found
    if subject.action == "terminal.run":
        return judge_command(subject, policy)
    for step in (_protected, _asked, _cautious, _granted, _allowed):
        if found := step(subject, policy):
            return found
    return _default(subject, policy)


def unread_because(true_path: str, policy: Policy) -> str | None:
    """Why a file may not be read, or shown on the way, without a question; None if it may."""
    known = PathFacts(true_path, true_path, "file")
    decision = judge(Subject("fs.read", true_path, known), policy)
    return None if decision.verdict == "allow" else decision.reason


def unanswered(decision: Decision, why: str) -> Decision:
    """What an `ask` becomes where nobody can be asked, or nobody answered: a denial."""
    return deny("unanswered", f"{decision.reason}, and {why}")


# ---- the steps


def _input(subject: Subject, policy: Policy) -> Decision | None:
    del policy
    if subject.external is None and subject.action not in ACTIONS:
        return deny("input", f"there is no action {subject.action!r}")
    if subject.external is not None and subject.action != f"mcp:{subject.external}":
        return deny("input", "the tool and its action do not belong together")
    for path in (subject.path, subject.true_path, subject.cwd):
        if path is not None and (reason := paths.sane(path)):
            return deny("input", reason)
    return None


def _from_host(subject: Subject, policy: Policy) -> Decision | None:
    """What the host itself gives out touches nothing; only rules of a person are against it."""
    if subject.action not in FROM_HOST:
        return None
    for effect in ("deny", "ask"):
        if found := _by(effect, subject, policy):
            return found
    return allow("default", "the agent host has it for agents")


def _canonical(subject: Subject, policy: Policy) -> Decision | None:
    """Refuses what has no sure identity."""
    del policy
    if subject.external is not None or subject.outside or subject.called is not None:
        return None
    if subject.action == "terminal.run":
        if subject.command is None or subject.command_text is None or subject.cwd is None:
            return deny("engine", "the facts about the command are missing")
        return None
    if subject.uri is not None:
        return None
    facts = subject.facts
    if facts is None:
        return deny("engine", "the facts about the path are missing")
    if facts.kind == "other":
        return deny("canonical", "it is neither a regular file nor a directory")
    if facts.true_path.endswith(" (deleted)"):
        return deny("canonical", "it was deleted meanwhile")
    return None


def _hard(subject: Subject, policy: Policy) -> Decision | None:
    """What no rule, role or person can allow."""
    if subject.uri is not None:
        return _hard_uri(subject)
    path = subject.true_path
    if path is None or subject.external is not None or subject.action == "terminal.run":
        return None
    if any(paths.beneath(place, path) for place in policy.state):
        return deny("hard", "the agent host's own records are not for agents")
    inside = _inside(subject, policy)
    if subject.action in _CHANGING and not inside:
        return deny("hard", "it is outside the workspace")
    if subject.action in _READING and not inside and policy.outside_read == "deny":
        return deny("hard", "it is outside the workspace")
    if subject.action == "fs.createDirectory" and paths.is_git(path, policy.roots):
        return deny("hard", "git's own directory is not for agents to create")
    if subject.action == "fs.delete":
        return _hard_delete(path, policy, "moved" if subject.moved_to else "deleted")
    return None


def _hard_uri(subject: Subject) -> Decision | None:
    if subject.opened and subject.action in {"fs.read", "fs.write", "editor.open"}:
        return None
    return deny("hard", "it is neither a file nor a document that is open in the editor")


def _hard_delete(path: str, policy: Policy, does: str) -> Decision | None:
    if any(paths.beneath(path, root) for root in policy.roots):
        return deny("hard", f"a workspace root can't be {does}")
    if reason := paths.is_protected(path, policy.roots, policy.own):
        return deny("hard", f"a protected path can't be {does} ({reason})")
    return None


def _role(subject: Subject, policy: Policy) -> Decision | None:
    reason = ceiling.lacking(subject, policy.role)
    return deny("role", reason) if reason else None


def _trust(subject: Subject, policy: Policy) -> Decision | None:
    if policy.trusted or subject.action in _WITHOUT_TRUST:
        return None
    return deny("trust", "the workspace is not trusted yet: agents may only read in it")


def _denied(subject: Subject, policy: Policy) -> Decision | None:
    if subject.action == "terminal.run":
        return None
    return _by("deny", subject, policy)


def _protected(subject: Subject, policy: Policy) -> Decision | None:
    if subject.action not in _CHANGING:
        return None
    for path in _names(subject):
        if reason := paths.is_protected(path, policy.roots, policy.own):
            return ask("protected", f"it is protected ({reason})")
    return None


def _asked(subject: Subject, policy: Policy) -> Decision | None:
    return _by("ask", subject, policy)


def _cautious(subject: Subject, policy: Policy) -> Decision | None:
    """Changes that are never let through by a grant or a rule."""
    del policy
    facts = subject.facts
    if subject.action not in _CHANGING or facts is None:
        return None
    if subject.hidden:
        return ask("caution", "the text holds hidden characters")
    if subject.overwrites_unsaved:
        return ask("caution", "it replaces text that is not saved in the editor")
    if facts.through_link:
        return ask("caution", "it goes through a link")
    if facts.kind == "file" and facts.links > 1:
        return ask("caution", "the file is also known under other names")
    if subject.action == "fs.delete" and facts.kind == "directory":
        does = "deletes" if subject.moved_to is None else "moves"
        return ask("caution", f"it {does} a directory with all that is in it")
    return None


def _granted(subject: Subject, policy: Policy) -> Decision | None:
    if subject.action == "fs.write" and _secret(subject):
        return None  # a grant for a folder does not mean its secrets
    for key in grant_keys(subject, policy):
        if grant := policy.grants.find(key):
            return allow("grant", f"you allowed it for this {grant.scope}", rule=grant.id)
    return None


def _allowed(subject: Subject, policy: Policy) -> Decision | None:
    path = subject.true_path or subject.called
    target = Target(subject.action, path, network=subject.network)
    for source, rule in rules_of("allow", policy):
        if matches(rule, target, policy.roots) and _reaches(rule, target, subject, policy):
            return by_rule(source, rule)
    return None


def _reaches(rule: Rule, target: Target, subject: Subject, policy: Policy) -> bool:
    """A secret-looking file must be named, and a place outside be meant, to be allowed."""
    if _secret(subject):
        return names_exactly(rule, target)
    return _inside(subject, policy) or (rule.path or "").startswith("/")


def _default(subject: Subject, policy: Policy) -> Decision:
    if subject.called is not None:
        return allow("default", "the role may call it, and all that it does is judged")
    if subject.action in _WITHOUT_TRUST:
        return _default_reading(subject, policy)
    match subject.action:
        case "fs.createDirectory":
            return allow("default", "creating a directory in the workspace")
        case "fs.write" if subject.uri is not None:
            return ask("default", "it changes an open document")
        case "fs.write" if secret := _secret(subject):
            return ask("secret", f"it looks like {secret}")
        case "fs.write":
            return ask("default", "it changes a file", "session")
        case "fs.delete":
            return ask("default", "it deletes a file", "session")
        case _:
            return _default_external(subject)


def _default_external(subject: Subject) -> Decision:
    why = "it uses a tool of another program"
    # What is not known can't be remembered: it might be another tool by now.
    return ask("default", why, "session", "workspace") if subject.content else ask("default", why)


def _default_reading(subject: Subject, policy: Policy) -> Decision:
    if secret := _secret(subject):
        return ask("secret", f"it looks like {secret}", "session")
    if subject.by_runtime and subject.facts is not None and subject.facts.kind != "file":
        return ask("secret", "it would show files that look secret, too", "session")
    if _inside(subject, policy):
        return allow("default", "it only reads or shows what is in the workspace")
    return ask("outside", "it is outside the workspace", "session")


# ---- what the steps look at


def _names(subject: Subject) -> tuple[str, ...]:
    """The true path, and the path as asked where that is another one; or who is called."""
    names = (subject.true_path, subject.path, subject.called)
    return tuple(dict.fromkeys(filter(None, names)))


def remembered_as(subject: Subject, policy: Policy) -> GrantKey | None:
    """The key to remember an answer under; only where the Decision offers a scope."""
    if subject.action == "terminal.run":
        return command_key(subject, policy)
    return next(grant_keys(subject, policy), None)


def grant_keys(subject: Subject, policy: Policy) -> Iterator[GrantKey]:
    """The keys that would let the subject pass; the first is what a new grant is made of."""
    role = policy.role.sha256
    path = subject.true_path
    if subject.external is not None:
        if subject.content is not None:
            yield GrantKey(subject.action, subject.external, role, content=subject.content)
    elif path is not None and subject.action == "fs.write":
        yield GrantKey("fs.write", folder_of(path), role)
    elif path is not None:
        yield GrantKey(subject.action, path, role)


def folder_of(path: str) -> str:
    """The directory of a file, written with its end `/`: the target of an edits grant."""
    return path[: max(path.rfind("/"), path.rfind("\\")) + 1]


def _by(effect: Literal["deny", "ask"], subject: Subject, policy: Policy) -> Decision | None:
    # A search shows what it finds: who may not read a file may not search it.
    actions = ("fs.search", "fs.read") if subject.action == "fs.search" else (subject.action,)
    for path in _names(subject) or (None,):
        for action in actions:
            if found := first_match(effect, Target(action, path), policy):
                return by_rule(*found)
    return None


def _secret(subject: Subject) -> str | None:
    if subject.action not in {"fs.read", "fs.search", "fs.write"}:
        return None
    if subject.facts is not None and subject.facts.kind == "directory":
        return None
    return next(filter(None, map(paths.is_secret, _names(subject))), None)


def _inside(subject: Subject, policy: Policy) -> bool:
    path = subject.true_path
    if subject.external is not None or subject.uri is not None or subject.called is not None:
        return True
    if path is None or subject.outside:
        return False
    return paths.root_of(policy.roots, path) is not None
