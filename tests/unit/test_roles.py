"""Role files: what is read, what is refused, and that a broken role never runs as a looser one."""

from pathlib import Path

import pytest

from agent_host.core.errors import RoleBroken, RoleNotFound
from agent_host.core.model import Callee, Limits
from agent_host.permissions.rules import read_rules
from agent_host.roles import (
    MAX_BYTES,
    RoleFolder,
    RoleShelf,
    packaged_roles,
    read_roles,
    role_problems,
)

WHOLE = """\
---
name: helper
description: "Helps: with everything"
model: anthropic/claude-x
runtime: sdk
capabilities:
  skills: [fs.read, terminal, "mcp:files"]
  tools: {git: supported, make: unsupported}
limits: {maxTurns: 7, maxCostUsd: 0.5, wallSeconds: 60, inactivitySeconds: 30.5}
rules:
  - deny terminal.run curl
  - allow fs.write docs/**
agents: [reviewer, planner]
---
You help.

Always.
"""


def shelf(tmp_path: Path, **files: str | bytes) -> RoleShelf:
    for name, text in files.items():
        (tmp_path / f"{name}.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_roles([RoleFolder(tmp_path, read_rules)])


def folders(*paths: Path) -> RoleShelf:
    return read_roles([RoleFolder(path, read_rules) for path in paths])


def role(text: str = "", body: str = "Prompt.") -> str:
    return f"---\n{text}\n---\n{body}\n"


def test_a_whole_role_is_read(tmp_path: Path) -> None:
    found = shelf(tmp_path, helper=WHOLE)
    assert found.problems == ()
    helper = found.get("helper")
    assert helper.description == "Helps: with everything"
    assert helper.prompt == "You help.\n\nAlways."
    assert (helper.model, helper.runtime) == ("anthropic/claude-x", "sdk")
    assert helper.skills == {"fs.read", "terminal", "mcp:files"}
    assert helper.programs == {"git"}
    assert helper.limits == Limits(7, 0.5, 60.0, 30.5)
    assert helper.may_call == (Callee("reviewer"), Callee("planner"))
    source = str(tmp_path / "helper.md")
    assert helper.source == source
    assert [(rule.effect, rule.where) for rule in helper.rules] == [
        ("deny", f"{source}:11"),
        ("allow", f"{source}:12"),
    ]


def test_the_hash_is_of_the_bytes(tmp_path: Path) -> None:
    one = shelf(tmp_path, a=role()).get("a").sha256
    two = shelf(tmp_path, a=role(body="Prompt. ")).get("a").sha256
    assert one != two
    assert len(one) == 64


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("---\n---\nPrompt.", "Prompt."),
        ("\ufeff---\r\nname: r\r\n---\r\nOne\r\ntwo\r\n", "One\ntwo"),
        ("---\nname: r\n---\n\nAbove\n\n---\n\nbelow\n", "Above\n\n---\n\nbelow"),
        ("---\nlimits: &l {maxTurns: 1}\n---\nP", "P"),
    ],
)
def test_forms_that_are_fine(tmp_path: Path, text: str, prompt: str) -> None:
    assert shelf(tmp_path, r=text).get("r").prompt == prompt


@pytest.mark.parametrize("skills", ["{skills: []}", "{}"])
def test_a_list_without_anything_grants_nothing(tmp_path: Path, skills: str) -> None:
    role = shelf(tmp_path, r=f"---\ncapabilities: {skills}\n---\nP").get("r")
    assert (role.skills, role.programs) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("no front matter", 1, "must begin with a line `---`"),
        ("", 1, "must begin with a line `---`"),
        ("---\nname: r\n", 1, "no end"),
        ("---\nname: r\ndescription: a: b\n---\nP", 3, "in quotes"),
        ("---\nname: r\n\tmodel: x\n---\nP", 3, "Not valid YAML"),
        ("---\nname: r\nlimits: {maxTurns: 3\n---\nP", 3, "Not valid YAML"),
        ("---\n- a\n---\nP", 2, "must be a mapping"),
        ("---\nlimit: {maxTurns: 3}\n---\nP", 2, "`limit` is no known key. Did you mean `limits`?"),
        ("---\nlimits:\n  maxturns: 3\n---\nP", 3, "Did you mean `maxTurns`?"),
        (
            "---\nlimits: {maxTurns: many}\n---\nP",
            2,
            "`limits.maxTurns` must be a whole number, 1 or more; it is 'many'.",
        ),
        ("---\nlimits: {maxTurns: true}\n---\nP", 2, "must be a whole number"),
        ("---\nlimits: {maxCostUsd: .inf}\n---\nP", 2, "must be a number above 0"),
        ("---\nlimits: {wallSeconds: 0}\n---\nP", 2, "must be a number above 0"),
        ("---\nlimits: 5\n---\nP", 2, "`limits` must be a mapping"),
        ("---\nname: r\nname: s\n---\nP", 3, "`name` is there twice"),
        ("---\nname: two words\n---\nP", 2, "letters, digits"),
        ("---\nname: 7\n---\nP", 2, "must be text, not a number"),
        ("---\ndescription: [a]\n---\nP", 2, "must be text, not a list"),
        ("---\nmodel: gpt\n---\nP", 2, "must be `vendor/name`"),
        (
            "---\ncapabilities:\n  skills:\n    - fs.read\n    - fs.wrote\n---\nP",
            5,
            "Did you mean `fs.write`?",
        ),
        ("---\ncapabilities: {skills: fs.read}\n---\nP", 2, "must be a list, not text"),
        ("---\ncapabilities: {skills: [1]}\n---\nP", 2, "must hold texts only"),
        ("---\ncapabilities: {skill: [fs.read]}\n---\nP", 2, "Did you mean `skills`?"),
        (
            "---\ncapabilities: {tools: {git: yes}}\n---\nP",
            2,
            "`capabilities.tools.git` must be `supported`",
        ),
        ("---\nagents: ['a b']\n---\nP", 2, "can't be a role's name"),
        ("---\nrules:\n  - deny fs.*\n  - alow fs.*\n---\nP", 4, "a rule is `allow`"),
        ("---\ntrue: x\n---\nP", 2, "not text"),
        ("---\nname: r\n---\n", 4, "no prompt"),
        ("---\na: &a [*a]\n---\nP", 2, "endless"),
        ("---\nname: !!python/name:os.system\n---\nP", 2, "Not valid YAML"),
        (b"---\nname: r\n---\nP\xff", 4, "not UTF-8"),
        (b"---\nname: \x01\n---\nP", 2, "not allowed in YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_never_runs(
    tmp_path: Path, text: str | bytes, line: int, said: str
) -> None:
    found = shelf(tmp_path, r=text)
    problem = next(each for each in found.problems if said in each.reason)
    assert (problem.line, problem.name, problem.source) == (line, "r", str(tmp_path / "r.md"))
    assert found.roles == {}
    with pytest.raises(RoleBroken, match=r"r\.md:\d+"):
        found.get("r")


def test_aliases_can_not_blow_a_file_up(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    found = shelf(tmp_path, r=role("\n".join(lines)))
    assert "too large" in found.problems[0].reason


def test_a_huge_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    found = shelf(tmp_path, big=role(body="x" * MAX_BYTES))
    assert [(each.name, each.line) for each in found.problems] == [("big", 1), ("folder", 1)]


def test_later_folders_win_and_a_broken_role_hides_the_one_below(tmp_path: Path) -> None:
    below, above = tmp_path / "below", tmp_path / "above"
    for folder in (below, above):
        folder.mkdir()
    for name in ("coder", "reviewer", "planner"):
        (below / f"{name}.md").write_text(role(body=f"packaged {name}"))
    (above / "coder.md").write_text(role(body="own coder"))
    (above / "reviewer.md").write_text(role("limits: [", body="own reviewer"))
    (above / "other.md").write_text("---\nname: planner\nlimits: [\n---\nP")
    found = folders(below, above, tmp_path / "missing")
    assert found.get("coder").prompt == "own coder"
    assert list(found.roles) == ["coder"]
    for name in ("reviewer", "planner"):
        with pytest.raises(RoleBroken):
            found.get(name)


def test_a_good_role_heals_a_broken_one_below(tmp_path: Path) -> None:
    below, above = tmp_path / "below", tmp_path / "above"
    for folder, text in ((below, role("limits: [")), (above, role())):
        folder.mkdir()
        (folder / "coder.md").write_text(text)
    found = folders(below, above)
    assert (list(found.roles), found.problems) == (["coder"], ())


def test_two_files_of_one_name_are_both_refused(tmp_path: Path) -> None:
    found = shelf(tmp_path, a=role("name: same"), b=role("name: same"), c=role())
    assert list(found.roles) == ["c"]
    assert [Path(each.source).name for each in found.problems] == ["b.md"]
    with pytest.raises(RoleBroken, match="too"):
        found.get("same")


def test_an_unknown_role_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(RoleNotFound, match=r"`codr`\. Known: a, b\."):
        shelf(tmp_path, a=role(), b=role()).get("codr")


def test_rules_without_a_reader_make_a_role_unusable(tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text(WHOLE)
    assert read_roles([RoleFolder(tmp_path)]).roles == {}


def test_the_text_of_an_open_buffer(tmp_path: Path) -> None:
    path = str(tmp_path / "r.md")
    assert role_problems(path, role()) == ()
    wrong = role_problems(path, role("limits: {maxTurn: 1}"))
    assert [(each.line, each.severity) for each in wrong] == [(2, "error")]


def test_the_shipped_roles_are_whole() -> None:
    found = read_roles([RoleFolder(packaged_roles())])
    assert found.problems == ()
    assert {"coder", "reviewer", "planner"} <= set(found.roles)
    for each in found.roles.values():
        assert each.description
        assert {callee.role for callee in each.may_call} <= set(found.roles)
    assert {"fs.write", "terminal"} <= found.get("coder").skills
    assert found.get("reviewer").skills == {"fs.read", "editor.open"}


def test_a_rule_that_names_nothing_known_is_a_warning_or_an_error_with_its_line(
    tmp_path: Path,
) -> None:
    found = shelf(tmp_path, r=role("rules:\n  - deny fs.*\n  - deny fs.wirte x"))
    assert [(each.line, each.name) for each in found.problems] == [(4, "r")]
    assert "fs.wirte" in found.problems[0].reason
