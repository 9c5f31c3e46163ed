"""What a role may do at most, and what of it a child agent keeps."""

from dataclasses import replace

import pytest

from agent_host.core.actions import PathFacts, RunCommand
from agent_host.core.model import Limits, Role
from agent_host.core.permission import Rule
from agent_host.permissions.ceiling import narrowed, offered
from agent_host.permissions.engine import judge
from agent_host.permissions.matching import FROM_HOST
from agent_host.permissions.rights import rights
from agent_host.permissions.rules import read_rules
from agent_host.permissions.subject import Policy, Subject, command_subject

ROOT = "/w/app"


def role(
    name: str, *skills: str, programs: tuple[str, ...] = (), rules: tuple[Rule, ...] = ()
) -> Role:
    return Role(
        name,
        "",
        "",
        "/r",
        name,
        skills=frozenset(skills),
        programs=frozenset(programs),
        rules=rules,
    )


def rules(*items: str) -> tuple[Rule, ...]:
    return read_rules(list(items), "role.md", lines=range(1, len(items) + 1)).rules


WRITER = role("writer", "fs.read", "fs.write", "fs.delete", "terminal", "editor.open", "mcp:gh")
READER = role("reader", "fs.read")


def may(child: Role, action: str, path: str = "a", command: str = "ls") -> bool:
    policy = Policy(child, (ROOT,), trusted=True, sandbox="bubblewrap")
    path = f"{ROOT}/{path}"
    if action == "terminal.run":
        subject = command_subject(RunCommand(command, ROOT), cwd=ROOT)
    else:
        subject = Subject(action, path, PathFacts(path, path, "file"))
    return judge(subject, policy).verdict != "deny"


def test_a_reader_can_not_write_by_calling_a_writer() -> None:
    child = narrowed(WRITER, READER)
    assert may(child, "fs.read")
    assert not any(may(child, action) for action in ("fs.write", "fs.delete", "terminal.run"))
    assert offered(child) == {"fs.read", "fs.list", "fs.search", "editor.open"}


def test_harmless_skills_are_the_childs_own() -> None:
    child = narrowed(WRITER, role("planner"))
    assert may(child, "fs.read")
    assert may(child, "editor.open")
    assert not may(child, "fs.write")


def test_a_child_gains_nothing() -> None:
    child = narrowed(READER, WRITER)
    assert child.skills == READER.skills
    assert child.programs == frozenset()


@pytest.mark.parametrize(
    ("parent", "child", "skills", "programs"),
    [
        (role("p", "terminal"), role("c", "terminal"), {"terminal"}, set()),
        (role("p", "terminal"), role("c", programs=("git",)), set(), {"git"}),
        (role("p", programs=("git",)), role("c", "terminal"), set(), {"git"}),
        (role("p", programs=("git",)), role("c", programs=("git", "rm")), set(), {"git"}),
        (role("p"), role("c", "terminal", programs=("git",)), set(), set()),
        (role("p", "mcp"), role("c", "mcp:gh"), {"mcp:gh"}, set()),
        (role("p", "mcp:gh"), role("c", "mcp:gh", "mcp:x"), {"mcp:gh"}, set()),
        (role("p", "mcp:gh"), role("c", "mcp"), {"mcp:gh"}, set()),
        (role("p"), role("c", "mcp", "mcp:gh"), set(), set()),
    ],
)
def test_intersections(parent: Role, child: Role, skills: set[str], programs: set[str]) -> None:
    found = narrowed(child, parent)
    assert (found.skills, found.programs) == (skills, programs)


def test_bans_are_inherited_and_permissions_are_not() -> None:
    parent = replace(
        WRITER,
        rules=rules(
            "deny fs.write gen/**",
            "ask terminal.run git push",
            "allow fs.write",
            "deny fs.read secrets/**",
            "deny fs.read",
        ),
    )
    child = narrowed(replace(WRITER, name="child", rules=rules("deny fs.delete")), parent)
    assert [(rule.effect, rule.action, rule.path) for rule in child.rules] == [
        ("deny", "fs.write", "gen/**"),
        ("ask", "terminal.run", None),
        ("deny", "fs.read", "secrets/**"),
        ("deny", "fs.delete", None),
    ]
    assert not may(child, "fs.write", "gen/x")
    assert not may(child, "fs.read", "secrets/x")
    assert may(child, "fs.read", "a")
    assert may(child, "fs.write", "a")


def test_limits_are_the_stricter_ones() -> None:
    parent = replace(WRITER, limits=Limits(max_turns=5))
    child = narrowed(replace(READER, limits=Limits(max_turns=9, wall_seconds=3)), parent)
    assert child.limits == Limits(max_turns=5, wall_seconds=3)


def test_grandchildren_are_no_wider() -> None:
    middle = narrowed(WRITER, READER)
    assert narrowed(WRITER, middle).skills == middle.skills


def test_programs_alone_offer_the_terminal() -> None:
    assert offered(role("r", programs=("git",))) == {"terminal.run"}
    assert offered(role("r")) == frozenset()


# ---- effective rights


def shown(policy: Policy) -> dict[str, tuple[str, str]]:
    return {right.action: (right.verdict, right.source) for right in rights(policy)}


def test_rights_show_what_holds_and_where_it_comes_from() -> None:
    policy = Policy(
        replace(WRITER, rules=rules("deny fs.delete")),
        (ROOT,),
        trusted=True,
        sandbox="bubblewrap",
        user_rules=rules("allow fs.write", "allow fs.delete", "deny terminal.run curl"),
    )
    found = shown(policy)
    assert found["fs.read"] == ("allow", "default")
    assert found["fs.write"] == ("allow", "user rule")
    assert found["fs.delete"] == ("deny", "role rule")
    assert found["terminal.run"] == ("ask", "default")
    (ban,) = [each for each in rights(policy) if each.action == "fs.delete"]
    assert ban.where == "role.md:1"
    assert "allow fs.delete" in ban.overrides
    limited = [each for each in rights(policy) if each.action == "terminal.run"]
    assert limited[0].exceptions == ("deny terminal.run curl",)


def test_rights_of_a_role_without_skills_or_trust() -> None:
    nothing = shown(Policy(role("r"), (ROOT,)))
    assert {action for action, (verdict, _) in nothing.items() if verdict != "deny"} == FROM_HOST
    untrusted = shown(Policy(WRITER, (ROOT,), trusted=False))
    assert untrusted["fs.read"] == ("allow", "default")
    assert untrusted["fs.write"] == ("deny", "trust")


def test_rights_say_what_holds_for_the_tools_of_each_server() -> None:
    reader = role("r", "mcp:docs")
    policy = Policy(
        reader,
        (ROOT,),
        trusted=True,
        user_rules=rules("allow mcp:docs", "deny mcp:docs/delete*", "deny mcp:other/x"),
    )
    docs, other = (each for each in rights(policy, ["docs", "other"]) if each.action[:4] == "mcp:")
    assert (docs.action, docs.verdict, docs.source) == ("mcp:docs/*", "allow", "user rule")
    assert docs.exceptions == ("deny mcp:docs/delete*",)
    assert (other.action, other.verdict) == ("mcp:other/*", "deny")
