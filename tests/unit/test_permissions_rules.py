"""Rules as people write them: how they read, what they match, what is wrong with them."""

import pytest

from agent_host.core.permission import Rule
from agent_host.permissions.matching import Target, glob_matches, knows_action, matches
from agent_host.permissions.rules import read_rules
from agent_host.permissions.shell import Plain, parse

ROOTS = ("/w/app",)


def rule(item: object, **options: bool) -> Rule:
    found = read_rules([item], "policy.yaml", lines=[7], **options)
    assert not [problem for problem in found.problems if problem.severity == "error"]
    (only,) = found.rules
    return only


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            "allow terminal.run git status",
            Rule("allow", "terminal.run", argv=("git", "status"), where="policy.yaml:7"),
        ),
        (
            "deny terminal.run curl",
            Rule("deny", "terminal.run", argv=("curl",), where="policy.yaml:7"),
        ),
        (
            "allow terminal.run git commit -m 'a b'",
            Rule(
                "allow", "terminal.run", argv=("git", "commit", "-m", "a b"), where="policy.yaml:7"
            ),
        ),
        ("ask fs.write src/a b.py", Rule("ask", "fs.write", "src/a b.py", where="policy.yaml:7")),
        ("deny fs.delete", Rule("deny", "fs.delete", where="policy.yaml:7")),
        ("deny mcp:github/*", Rule("deny", "mcp:github/*", where="policy.yaml:7")),
        (
            {"deny": "terminal.run curl"},
            Rule("deny", "terminal.run", argv=("curl",), where="policy.yaml:7"),
        ),
        (
            {"deny": "terminal.run curl", "reason": "No."},
            Rule("deny", "terminal.run", argv=("curl",), where="policy.yaml:7", reason="No."),
        ),
        ({"deny": {"path": "s/**"}}, Rule("deny", "fs.*", "s/**", where="policy.yaml:7")),
        (
            {"allow": {"command": "pytest ...", "network": True}},
            Rule(
                "allow",
                "terminal.run",
                argv=("pytest", "..."),
                where="policy.yaml:7",
                network=True,
            ),
        ),
        (
            {"allow": {"argv": ["make", "test"]}},
            Rule("allow", "terminal.run", argv=("make", "test"), where="policy.yaml:7"),
        ),
        (
            {"ask": {"action": "fs.write", "path": "*.sql", "reason": "Look."}},
            Rule("ask", "fs.write", "*.sql", where="policy.yaml:7", reason="Look."),
        ),
    ],
)
def test_forms(item: object, expected: Rule) -> None:
    assert rule(item) == expected


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("permit fs.read", "`allow`, `ask` or `deny`"),
        ("allow", "says nothing"),
        ("allow ", "says nothing"),
        (7, "`allow`, `ask` or `deny`"),
        (None, "`allow`, `ask` or `deny`"),
        ({}, "`allow`, `ask` or `deny`"),
        ({"allow": "fs.read", "deny": "fs.read"}, "`allow`, `ask` or `deny`"),
        ({"allow": None}, "says nothing"),
        ({"allow": {}}, "names no action"),
        ({"allow": {"reason": "x"}}, "names no action"),
        ("deny fs.erase", "no action `fs.erase`"),
        ("deny bash rm", "no action `bash`"),
        ("deny Terminal.run rm", "no action `Terminal.run`"),
        ({"deny": {"action": "fs.read", "command": "x"}}, "has no command"),
        ({"deny": {"action": "terminal.run", "path": "x"}}, "has no path"),
        ("deny mcp:x/y path", "has no path"),
        ({"deny": {"path": "x", "command": "y"}}, "not both"),
        ({"deny": {"argv": ["x"], "command": "y"}}, "not both"),
        ({"deny": {"path": "../x"}}, "go up"),
        ({"deny": {"path": ""}}, "glob"),
        ({"deny": {"path": 5}}, "glob"),
        ({"deny": {"path": "~/x"}}, "~"),
        ({"deny": {"path": "a\u202eb"}}, "hidden"),
        ({"deny": {"command": "a 'b"}}, "text or a list"),
        ({"deny": {"command": ""}}, "text or a list"),
        ({"deny": {"argv": []}}, "text or a list"),
        ({"deny": {"argv": ["x", 5]}}, "in quotes"),
        ("allow terminal.run a ... b", "only at the end"),
        ("allow terminal.run a && b", "joins several"),
        ({"allow": {"command": "a", "network": "yes"}}, "true or false"),
        ({"deny": {"command": "a", "reason": 5}}, "a text"),
        ({"deny": {"command": "a", "paht": "x"}}, "no `paht`"),
        ({"deny": {"command": "a"}, "raeson": "x"}, "no `raeson`"),
        ({"allow": {"command": "a", "match": ["b"]}}, "does not match 'b'"),
        ({"allow": {"command": "a", "noMatch": ["a"]}}, "matches 'a'"),
        ({"allow": {"command": "a", "match": "a"}}, "list of examples"),
        ({"allow": {"command": "a", "match": [1]}}, "not a text"),
    ],
)
def test_problems_name_file_and_line(item: object, reason: str) -> None:
    found = read_rules([item], "policy.yaml", lines=[7])
    assert found.rules == ()
    (problem,) = found.problems
    assert reason in problem.reason
    assert (problem.source, problem.line, problem.severity) == ("policy.yaml", 7, "error")


def test_a_broken_rule_does_not_take_the_others_with_it() -> None:
    found = read_rules(["deny fs.delete", "deny x", "ask fs.write"], "p", lines=[3, 4, 9])
    assert [each.where for each in found.rules] == ["p:3", "p:9"]
    assert [each.line for each in found.problems] == [4]


def test_without_lines_rules_are_counted() -> None:
    found = read_rules(["deny fs.delete", "deny x"], "settings")
    assert found.rules[0].where == "settings, rule 1"
    assert found.problems[0].line == 2


def test_what_is_no_list() -> None:
    assert read_rules(None, "p").rules == ()
    assert read_rules({"deny": "x"}, "p").problems[0].reason == "rules are a list"


def test_a_workspace_only_narrows() -> None:
    items = ["allow fs.write", "deny fs.delete", "ask fs.write"]
    found = read_rules(items, "p", lines=[1, 2, 3], narrow_only=True)
    assert [each.effect for each in found.rules] == ["deny", "ask"]
    assert [(each.line, each.severity) for each in found.problems] == [(1, "warning")]


@pytest.mark.parametrize("command", ["sudo ...", "env ...", "npx ...", "bash ...", "..."])
def test_an_allow_rule_that_allows_everything_is_warned_about(command: str) -> None:
    found = read_rules([{"allow": {"command": command}}], "p", lines=[1])
    assert [each.severity for each in found.problems] == ["warning"]
    assert "can run any" in found.problems[0].reason or "every command" in found.problems[0].reason


@pytest.mark.parametrize("command", ["pytest ...", "git status", "npm run test", "make test"])
def test_ordinary_allow_rules_are_not(command: str) -> None:
    assert read_rules([{"allow": {"command": command}}], "p", lines=[1]).problems == ()


@pytest.mark.parametrize(
    ("fields", "good", "bad"),
    [
        (
            {"command": "git status"},
            ["git status", "git  'status'", "git status; git status"],
            ["git status -s", "git", "git status && id", "git status > x", "git status $(id)"],
        ),
        ({"path": "src/**"}, ["src/a", "src/a/b", "./src/x"], ["a/src/x", "srcx/a", "../src/a"]),
        ({"action": "fs.*"}, ["fs.read", "fs.delete"], ["terminal.run"]),
    ],
)
def test_examples_are_checked(fields: dict[str, object], good: list[str], bad: list[str]) -> None:
    rule({"allow": {**fields, "match": good, "noMatch": bad}})


def test_examples_of_a_ban_see_every_part() -> None:
    commands = ["curl", "a; curl x | sh", "sudo curl x", "echo $(curl x)", "bash -c 'curl x'"]
    rule({"deny": {"command": "curl", "match": commands, "noMatch": ["curlie", "echo curl"]}})


# ---- matching


@pytest.mark.parametrize(
    ("pattern", "path", "strict", "loose"),
    [
        ("src/**", "src/a.py", True, True),
        ("src/**", "src/a/b.py", True, True),
        ("src/**", "SRC/a.py", False, True),
        ("src/**", "xsrc/a.py", False, False),
        ("src/*", "src/a.py", True, True),
        ("src/*", "src/a/b.py", False, True),
        ("**/*.sql", "a.sql", True, True),
        ("**/*.sql", "x/y/a.sql", True, True),
        ("*.sql", "x/y/a.sql", True, True),
        ("*.sql", "x/a.sqlx", False, False),
        ("vendor", "vendor", True, True),
        ("vendor", "vendor/x", False, True),
        ("vendor/", "a/vendor/x", False, True),
        ("/abs/x", "/abs/x", True, True),
        ("/abs", "/abs/x", False, True),
        ("/abs", "/y/abs", False, False),
        ("a/**/b", "a/b", True, True),
        ("a/**/b", "a/x/y/b", True, True),
        ("**", "anything/x", True, True),
        (".", ".", True, True),
        ("a?c", "abc", True, True),
        ("a?c", "a/c", False, False),
        ("./top", "top", True, True),
        ("./top", "x/top", False, False),
        (".env", "x/.ENV", False, True),
        ("secret.txt", "\uff53ecret.txt", False, True),
    ],
)
def test_globs(pattern: str, path: str, strict: bool, loose: bool) -> None:
    assert glob_matches(pattern, path, strict=True) is strict
    assert glob_matches(pattern, path, strict=False) is loose


@pytest.mark.parametrize(
    ("pattern", "argv", "allows", "bans"),
    [
        ("git status", "git status", True, True),
        ("git status", "git status -s", False, True),
        ("git status", "git", False, False),
        ("git status", "git stash", False, False),
        ("git status ...", "git status", True, True),
        ("git status ...", "git status -s", True, True),
        ("git st*", "git status", True, True),
        ("git", "/usr/bin/git push", False, True),
        ("git", "./git push", False, True),
        ("/usr/bin/git ...", "git push", False, False),
        ("git push", "git  push origin main", False, True),
        ("* --version", "git --version", True, True),
        ("...", "anything at all", True, True),
    ],
)
def test_commands(pattern: str, argv: str, allows: bool, bans: bool) -> None:
    for effect, expected in (("allow", allows), ("deny", bans), ("ask", bans)):
        found = rule(f"{effect} terminal.run {pattern}")
        assert matches(found, Target("terminal.run", argv=tuple(argv.split())), ()) is expected


def test_path_rules_hold_below_any_root() -> None:
    found = rule("deny fs.write src/**")
    assert matches(found, Target("fs.write", "/x/src/a"), ("/w/app", "/x"))
    assert not matches(found, Target("fs.write", "/y/src/a"), ("/w/app", "/x"))
    assert not matches(found, Target("fs.read", "/x/src/a"), ("/x",))


def test_absolute_path_rules_need_no_root() -> None:
    assert matches(rule("deny fs.read /etc/**"), Target("fs.read", "/etc/passwd"), ROOTS)
    assert not matches(rule("deny fs.read /etc/**"), Target("fs.read", "/w/app/etc/x"), ROOTS)


def test_the_network_must_be_allowed_by_name() -> None:
    target = Target("terminal.run", argv=("npm", "ci"), network=True)
    assert not matches(rule("allow terminal.run npm ci"), target, ())
    assert matches(rule({"allow": {"command": "npm ci", "network": True}}), target, ())
    assert matches(rule("deny terminal.run npm ci"), target, ())


@pytest.mark.parametrize("name", ["fs.read", "fs.*", "*", "terminal.*", "mcp:x/y", "mcp:*"])
def test_known_actions(name: str) -> None:
    assert knows_action(name)


ONE_COMMAND = r"""
git status
git status -s
git status && ls
git status; ls
git status | cat
git status || ls
git status & ls
git status &
git status\nls
git status > x
git status >> x
git status < x
git status 2>&1
git status $(ls)
git status `ls`
git status <(ls)
git status "$(ls)"
git status $X
git status *
git status ~
git status # x
X=1 git status
X=1; git status
(git status; ls)
{ git status; ls; }
! git status
if git status; then ls; fi
for x in 1; do git status; done
while git status; do ls; done
f() { git status; }; f
time git status
exec git status
eval git status
command git status
sudo git status
env git status
bash -c 'git status'
./git status
/usr/bin/git status
GIT status
git\ status
git 'status'
"""


def test_a_rule_for_one_command_lets_no_other_through() -> None:
    found = rule("allow terminal.run git status")
    lines = [line.replace("\\n", "\n") for line in ONE_COMMAND.strip().splitlines()]
    assert len(lines) == 42
    through = []
    for line in lines:
        parsed = parse(line)
        if isinstance(parsed, Plain) and all(
            matches(found, Target("terminal.run", argv=part), ()) for part in parsed.parts
        ):
            through.append(line)
    assert through == ["git status", "git 'status'"]
