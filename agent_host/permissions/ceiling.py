"""What a role may do at most: its skills and programs, and those of a child agent.

A skill that is missing is refused before anything is asked, and the tool is not even offered.
"""

from dataclasses import replace

from agent_host.core.model import Role
from agent_host.core.permission import Rule
from agent_host.permissions.matching import ACTIONS
from agent_host.permissions.shell import Plain
from agent_host.permissions.subject import Subject

SKILLS: dict[str, str] = {
    "fs.read": "fs.read",
    "fs.list": "fs.read",
    "fs.search": "fs.read",
    "fs.createDirectory": "fs.write",
    "fs.write": "fs.write",
    "fs.delete": "fs.delete",
    "terminal.run": "terminal",
    "editor.open": "editor.open",
}
"""The skill that an action needs. Tools of MCP servers need `mcp` or `mcp:<server>`, and what
only reads from the host itself needs none. The role itself names the agents that it may call."""

HARMLESS = frozenset({"fs.read", "editor.open"})
"""Skills that a child keeps even if its parent lacks them: they change nothing."""


def offered(role: Role) -> frozenset[str]:
    """The actions whose tools a model with this role is shown."""
    actions = {action for action in ACTIONS if SKILLS.get(action) in role.skills}
    if role.programs:
        actions.add("terminal.run")
    if role.may_call:
        actions.add("agent.call")
    return frozenset(actions)


def lacking(subject: Subject, role: Role) -> str | None:
    """Why the role can't do this at all; None if it can."""
    if subject.external is not None:
        server = f"mcp:{subject.external.split('/', 1)[0]}"
        if {"mcp", server} & role.skills:
            return None
        return f"the role {role.name} has neither the skill mcp nor {server}"
    if subject.called is not None:
        if any(callee.role == subject.called for callee in role.may_call):
            return None
        return f"the role {role.name} may not call {subject.called}"
    skill = SKILLS[subject.action]
    if skill in role.skills:
        return None
    if subject.action == "terminal.run" and role.programs:
        return _not_among(subject, role)
    return f"the role {role.name} does not have the skill {skill}"


def _not_among(subject: Subject, role: Role) -> str | None:
    listed = ", ".join(sorted(role.programs))
    if not isinstance(subject.command, Plain):
        return f"the role {role.name} may run only plain commands of: {listed}"
    for part in subject.command.parts:
        if part[0] not in role.programs:
            return f"the role {role.name} may run only: {listed}"
    return None


def narrowed(child: Role, parent: Role, *, keeps: frozenset[str] = frozenset()) -> Role:
    """The child role under its parent: no write, command or tool that the parent may not do.

    Reading is the child's own, unless the parent is denied a path. Deny and ask rules are
    inherited; allow rules are not. `keeps`: skills that the parent's file leaves to the child.
    """
    skills = {skill for skill in child.skills if skill in keeps or _keeps(skill, parent)}
    if "mcp" in child.skills and "mcp" not in skills:
        skills |= {skill for skill in parent.skills if skill.startswith("mcp:")}
    programs = child.programs
    if "terminal" not in parent.skills | keeps:
        wanted = parent.programs if "terminal" in child.skills else child.programs
        skills.discard("terminal")
        programs = wanted & parent.programs
    inherited = tuple(rule for rule in parent.rules if _inherits(rule))
    return replace(
        child,
        skills=frozenset(skills),
        programs=programs,
        limits=child.limits.narrowed(parent.limits),
        rules=inherited + child.rules,
    )


def _keeps(skill: str, parent: Role) -> bool:
    if skill in HARMLESS or skill in parent.skills:
        return True
    if skill.startswith("mcp:"):
        return "mcp" in parent.skills
    return skill == "terminal"


def _inherits(rule: Rule) -> bool:
    if rule.effect == "allow":
        return False
    return rule.path is not None or rule.action not in {"fs.read", "fs.list", "fs.search"}
