"""The judgement: every row of the decision table, the order of the steps, and every fault."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent_host.core.actions import PathFacts, RunCommand
from agent_host.core.model import Role
from agent_host.core.permission import Decision, Rule
from agent_host.permissions.engine import decide, folder_of, judge, remembered_as, unanswered
from agent_host.permissions.explain import explain
from agent_host.permissions.grants import HeldGrants
from agent_host.permissions.paths import resolve
from agent_host.permissions.rules import read_rules
from agent_host.permissions.subject import (
    Grant,
    GrantKey,
    Policy,
    Subject,
    command_subject,
    command_words,
)

ROOT = "/w/app"
SKILLS = frozenset({"fs.read", "fs.write", "fs.delete", "terminal", "editor.open", "mcp"})
ROLE = Role("coder", "", "", "/home/u/.config/agent-host/roles/coder.md", "r" * 64, skills=SKILLS)
POLICY = Policy(
    ROLE,
    (ROOT,),
    trusted=True,
    sandbox="bubblewrap",
    shell_auto_allow=True,
    own=("/home/u/.config/agent-host", f"{ROOT}/roles-of-the-host"),
    state=("/home/u/.local/state/agent-host", f"{ROOT}/state-of-the-host"),
    home="/home/u",
)


def rules(*items: object) -> tuple[Rule, ...]:
    found = read_rules(list(items), "policy.yaml", lines=range(1, len(items) + 1))
    assert not [each for each in found.problems if each.severity == "error"], found.problems
    return found.rules


def place(path: str) -> str:
    return path if path.startswith(("/", "\\")) else f"{ROOT}/{path}"


def file(action: str, path: str, **facts: object) -> Subject:
    path = place(path)
    known = PathFacts(path, path, "file", sha256="0" * 64)
    return Subject(action, path, replace(known, **facts))  # type: ignore[arg-type]


def run(text: str, *, cwd: str = ROOT, network: bool = False) -> Subject:
    """A command whose words were looked up: each is what its text says, beneath the root."""
    action = RunCommand(text, cwd, network=network)
    subject = command_subject(action, cwd=cwd)
    assert subject.command is not None
    words = command_words(subject.command)  # type: ignore[arg-type]
    return replace(subject, operands={word: resolve(ROOT, word) for word in words})


def outcome(decision: Decision) -> str:
    return " ".join((decision.verdict, decision.source, *decision.remember))


# ---- files

FILES = [
    # reading
    ("fs.read", "a.py", {}, "allow default"),
    ("fs.list", ".", {"kind": "directory"}, "allow default"),
    ("fs.search", ".", {"kind": "directory"}, "allow default"),
    ("fs.search", ".env", {}, "ask secret session"),
    ("fs.read", ".env", {}, "ask secret session"),
    ("fs.read", ".ENV.local", {}, "ask secret session"),
    ("fs.read", ".env.example", {}, "allow default"),
    ("fs.read", "x/server.pem", {}, "ask secret session"),
    ("fs.read", "id_rsa", {}, "ask secret session"),
    ("fs.read", "link", {"true_path": f"{ROOT}/.env", "through_link": True}, "ask secret session"),
    ("fs.read", ".env", {"true_path": f"{ROOT}/plain", "through_link": True}, "ask secret session"),
    ("fs.read", "/etc/passwd", {}, "deny hard"),
    ("fs.read", "/w/app-secret/x", {}, "deny hard"),
    ("fs.read", "/w/app2/x", {}, "deny hard"),
    ("fs.list", "/", {"kind": "directory"}, "deny hard"),
    ("fs.search", "/w", {"kind": "directory"}, "deny hard"),
    ("fs.read", "link", {"true_path": "/etc/passwd", "through_link": True}, "deny hard"),
    ("fs.read", "fifo", {"kind": "other"}, "deny canonical"),
    ("fs.read", "gone (deleted)", {}, "deny canonical"),
    ("fs.read", ".git/config", {}, "allow default"),
    ("fs.read", "state-of-the-host/grants.json", {}, "deny hard"),
    # writing
    ("fs.write", "a.py", {}, "ask default session"),
    ("fs.write", "new.py", {"kind": "missing"}, "ask default session"),
    ("fs.write", "tests/conftest.py", {}, "ask default session"),
    ("fs.write", "link", {"true_path": f"{ROOT}/a.py", "through_link": True}, "ask caution"),
    ("fs.write", "a.py", {"links": 2}, "ask caution"),
    ("fs.write", "/etc/x", {}, "deny hard"),
    ("fs.write", "/w/app-secret/x", {}, "deny hard"),
    ("fs.write", "state-of-the-host/grants.json", {}, "deny hard"),
    ("fs.write", "roles-of-the-host/coder.md", {}, "ask protected"),
    ("fs.write", ".git/hooks/post-checkout", {"kind": "missing"}, "ask protected"),
    ("fs.write", ".Git/Hooks/x", {"kind": "missing"}, "ask protected"),
    ("fs.write", ".VSCODE/Settings.json", {}, "ask protected"),
    ("fs.write", ".\uff47it/config", {}, "ask protected"),
    ("fs.write", ".vscode/mcp.json", {}, "ask protected"),
    ("fs.write", ".vscode/settings.json", {}, "ask protected"),
    ("fs.write", ".cursor/mcp.json", {}, "ask protected"),
    ("fs.write", ".CURSOR/mcp.json", {}, "ask protected"),
    ("fs.write", ".claude/settings.json", {}, "ask protected"),
    ("fs.write", ".venv/bin/python", {}, "ask protected"),
    ("fs.write", "x", {"true_path": f"{ROOT}/.git/config", "through_link": True}, "ask protected"),
    ("fs.write", ".git/x", {"true_path": f"{ROOT}/y", "through_link": True}, "ask protected"),
    ("fs.write", ".env", {}, "ask secret"),
    # directories
    ("fs.createDirectory", "src/new", {"kind": "missing"}, "allow default"),
    ("fs.createDirectory", ".git", {"kind": "missing"}, "deny hard"),
    ("fs.createDirectory", "x/.GIT/hooks", {"kind": "missing"}, "deny hard"),
    ("fs.createDirectory", "bare.git/hooks", {"kind": "missing"}, "deny hard"),
    ("fs.createDirectory", ".vscode", {"kind": "missing"}, "ask protected"),
    ("fs.createDirectory", "/tmp/x", {"kind": "missing"}, "deny hard"),
    # deleting
    ("fs.delete", "a.py", {}, "ask default session"),
    ("fs.delete", "src", {"kind": "directory", "count": 3}, "ask caution"),
    ("fs.delete", ".", {"kind": "directory", "true_path": ROOT}, "deny hard"),
    ("fs.delete", "/w", {"kind": "directory"}, "deny hard"),
    ("fs.delete", ".git", {"kind": "directory"}, "deny hard"),
    ("fs.delete", ".git/index.lock", {}, "deny hard"),
    ("fs.delete", ".vscode/settings.json", {}, "deny hard"),
    ("fs.delete", "/etc/passwd", {}, "deny hard"),
    # opening
    ("editor.open", "a.py", {}, "allow default"),
    ("editor.open", "/etc/passwd", {}, "ask outside session"),
    # not sane
    ("fs.read", "a\0b", {}, "deny input"),
    ("fs.write", "a\u202eb", {}, "deny input"),
    ("fs.write", "a\nb", {}, "deny input"),
    ("fs.read", "x" * 256, {}, "deny input"),
    ("fs.read", "a", {"true_path": f"{ROOT}/a\x1b[8m"}, "deny input"),
    ("fs.erase", "a", {}, "deny input"),
    ("mcp:x/y", "a", {}, "deny input"),
]


@pytest.mark.parametrize(("action", "path", "facts", "expected"), FILES)
def test_files(action: str, path: str, facts: dict[str, object], expected: str) -> None:
    assert outcome(judge(file(action, path, **facts), POLICY)) == expected


@pytest.mark.parametrize("path", ["~/x", "\\??\\UNC\\127.0.0.1\\s\\x", "//server/x", "", "rel/x"])
def test_paths_that_are_none(path: str) -> None:
    for action in ("fs.read", "fs.write", "fs.delete"):
        subject = Subject(action, path, PathFacts(path, path, "file"))
        assert judge(subject, POLICY).verdict == "deny"


@pytest.mark.parametrize("action", ["fs.read", "fs.list", "fs.search", "fs.write", "fs.delete"])
def test_what_the_action_server_calls_outside(action: str) -> None:
    subject = Subject(action, f"{ROOT}/link", outside=True)
    assert outcome(judge(subject, POLICY)) == "deny hard"


def test_reading_outside_if_the_user_wants_to_be_asked() -> None:
    policy = replace(POLICY, outside_read="ask")
    assert outcome(judge(file("fs.read", "/etc/hosts"), policy)) == "ask outside session"
    assert outcome(judge(file("fs.read", "/etc/id_rsa"), policy)) == "ask secret session"
    assert outcome(judge(file("fs.write", "/etc/hosts"), policy)) == "deny hard"
    allowed = replace(policy, user_rules=rules("allow fs.read /etc/**", "allow fs.read"))
    assert outcome(judge(file("fs.read", "/etc/hosts"), allowed)) == "allow user rule"
    assert outcome(judge(file("fs.read", "/usr/x"), allowed)) == "ask outside session"


def test_writing_hidden_characters_or_over_unsaved_text_is_asked() -> None:
    policy = replace(POLICY, user_rules=rules("allow fs.write"))
    assert judge(file("fs.write", "a"), policy).verdict == "allow"
    hidden = replace(file("fs.write", "a"), hidden=True)
    unsaved = replace(file("fs.write", "a"), overwrites_unsaved=True)
    for subject in (hidden, unsaved, file("fs.write", "a", links=3)):
        assert outcome(judge(subject, policy)) == "ask caution"


def test_documents_without_a_file() -> None:
    def untitled(action: str, *, opened: bool = True) -> Subject:
        return Subject(action, "untitled:x", uri="untitled:x", opened=opened)

    assert outcome(judge(untitled("fs.read"), POLICY)) == "allow default"
    assert outcome(judge(untitled("fs.write"), POLICY)) == "ask default"
    assert outcome(judge(untitled("editor.open"), POLICY)) == "allow default"
    assert outcome(judge(untitled("fs.delete"), POLICY)) == "deny hard"
    for action in ("fs.read", "fs.write", "editor.open"):
        assert outcome(judge(untitled(action, opened=False), POLICY)) == "deny hard"
    web = Subject("editor.open", "https://x/", uri="https://x/")
    assert outcome(judge(web, POLICY)) == "deny hard"


# ---- commands

COMMANDS = [
    ("ls", "allow safe table"),
    ("ls -la src", "allow safe table"),
    ("cat a.py | head -n 5", "allow safe table"),
    ("pwd && whoami; echo done", "allow safe table"),
    ("find . -name '*.py'", "allow safe table"),
    ("sed -n 5p a.py", "allow safe table"),
    ("cat .vscode/settings.json", "allow safe table"),
    ("git status", "ask default session workspace"),
    ("ls && git status", "ask default session workspace"),
    ("git add .gitignore", "ask default session workspace"),
    ("cat .env", "ask secret session"),
    ("cat a.py; cat sub/.ENV", "ask secret session"),
    ("grep x server.pem", "ask secret session"),
    ("gpg --import id_rsa", "ask secret session"),
    ("cat /etc/passwd", "ask default session workspace"),
    ("cat ../other", "ask default session workspace"),
    ("grep -r x .", "ask default session workspace"),
    ("rg x", "ask default session workspace"),
    ("rm .git/index", "ask protected"),
    ("cp x .vscode/tasks.json", "ask protected"),
    ("cp x .Git/hooks/y", "ask protected"),
    ("dd of=.git/config", "ask protected"),
    ("tee .claude/settings.json", "ask protected"),
    ("touch roles-of-the-host/x", "ask protected"),
    # not plain
    ("ls *.py", "ask shell"),
    ("ls > x", "ask shell"),
    ("ls $(id)", "ask shell"),
    ("cat <(id)", "ask shell"),
    ("ls\rrm x", "ask shell"),
    ("ls \u202ea", "ask shell"),
    ("r\\m x", "ask shell"),
    ("eval ls", "ask shell"),
    ("ls &", "ask shell"),
    ('echo "\\"; id; echo \\""', "ask shell"),
    ("rg -e a$IFS--pre=sh", "ask shell"),
    ('${o="$"}${t="$o(id)"}${t@P}', "ask shell"),
    # wrappers and interpreters
    *(
        (command, "ask wrapper")
        for command in (
            "env ls",
            "sudo ls",
            "xargs -t touch",
            "timeout 9 x",
            "nohup x",
            "sh -c ls",
            "bash x.sh",
            "python -c 1",
            "python3.11 x.py",
            "/usr/bin/python x.py",
            "node -e 1",
            "perl -e 1",
            "npx x",
            "uvx x",
            "make",
            "npm run x",
            "npm test",
            "find . -exec rm x ''",
            "find . -fprintf out x",
            "awk x",
            "sed s/x/id/e",
            "sed -n 'w out'",
            "ls; sudo ls",
            "git -c core.pager=x log",
            "git log --output=x",
            "go test -exec x",
            "go test -exec=x ./...",
            "git show --output=x",
            "git diff --output=x",
            "git ls-remote '--upload-pa=touch x' y",
            "fd -X rm x",
            "timeout 9 rm x",
            "busybox sh -c ls",
            "powershell -c ls",
            "pwsh -c ls",
            "powershell.exe --% ls",
            "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/PowerShell.EXE -c ls",
            "cmd.exe /c dir",
            "wsl.exe ls",
            "python.exe x.py",
            "build.bat a",
            "./build.CMD a",
        )
    ),
    ("echo x | sed 'w .claude/x'", "ask protected"),
    # tools that read flags in their own way
    ("rg --pre=sh x", "ask default session workspace"),
    ("sort --comp=./c.sh", "ask default session workspace"),
    ("man --html=x ls", "ask default session workspace"),
    ("ping x", "ask default session workspace"),
    ("dig x", "ask default session workspace"),
    *((f"{program} x", "ask default session workspace") for program in ("nslookup", "curl", "nc")),
    ("xdg-open http://x", "ask default session workspace"),
    ("cat ../app2/x", "ask default session workspace"),
    ("cat /proc/self/environ", "ask default session workspace"),
    ("cat /dev/zero", "ask default session workspace"),
    # git beyond the workspace
    ("git add ../../x", "ask default session workspace"),
    ("git init /elsewhere", "ask default session workspace"),
    ("git -C /etc status", "ask default session workspace"),
    ("git --git-dir=/x status", "ask default session workspace"),
    ("grep x f;" + " " * 500 + "env|sh", "ask wrapper"),
    # never
    ("rm -rf /", "deny hard"),
    ("rm -rf /*", "deny hard"),
    ("rm -rf ~", "deny hard"),
    ("rm -rf ~/", "deny hard"),
    ("rm -rf .", "deny hard"),
    ("rm -rf ./", "deny hard"),
    ("rm -rf ..", "deny hard"),
    ("rm -rf ../app", "deny hard"),
    ("rm -rf /home/u", "deny hard"),
    ("rm -rf $HOME", "deny hard"),
    ('rm -rf "${HOME}/"', "deny hard"),
    ("rm -rf $HOME/.cache/x", "ask shell"),
    ("rm -rf ~/x", "ask shell"),
    ("rm -rf /w", "deny hard"),
    ("ls && rm -rf /", "deny hard"),
    ("sudo rm -rf /", "deny hard"),
    ("bash -c 'rm -rf /'", "deny hard"),
    ("echo $(rm -rf /)", "deny hard"),
    ("chmod -R 777 /", "deny hard"),
    ("dd if=x of=/dev/sda", "deny hard"),
    ("mkfs.ext4 /dev/nvme0n1", "deny hard"),
    ("bash -c 'dd if=x of=/dev/sda'", "deny hard"),
    ("cat x > /dev/sda", "deny hard"),
    ("dd if=x of=/dev/../dev/sda", "deny hard"),
    ("tool src/dev/sdk", "ask default session workspace"),
    ("ls > /dev/null", "ask shell"),
    ("chmod +x .", "ask default session workspace"),
    ("mv a .", "ask default session workspace"),
    ("rm a.py", "ask default session workspace"),
]


@pytest.mark.parametrize(("command", "expected"), COMMANDS)
def test_commands(command: str, expected: str) -> None:
    assert outcome(judge(run(command), POLICY)) == expected


@pytest.mark.parametrize("cwd", ["/", "/w", "/w/app2", "/w/app/../x", "/etc"])
def test_the_directory_of_a_command_is_checked(cwd: str) -> None:
    assert outcome(judge(run("ls", cwd=cwd), POLICY)) == "deny hard"
    left = replace(run("ls"), outside=True)
    assert outcome(judge(left, POLICY)) == "deny hard"


def test_a_safe_command_may_only_read_what_was_looked_up() -> None:
    subject = run("cat link")
    assert judge(subject, POLICY).verdict == "allow"
    to_secret = replace(subject, operands={"link": f"{ROOT}/.env"})
    assert outcome(judge(to_secret, POLICY)) == "ask secret session"
    to_outside = replace(subject, operands={"link": "/etc/passwd"})
    assert judge(to_outside, POLICY).verdict == "ask"
    assert judge(replace(subject, operands={}), POLICY).verdict == "ask"


def test_a_command_that_moves_is_not_judged_by_where_it_started() -> None:
    assert judge(run("cd sub && cat a.py"), POLICY).verdict == "ask"
    assert outcome(judge(run("cd .. && cat a.py"), POLICY)) == "ask default session workspace"
    policy = replace(POLICY, user_rules=rules("allow terminal.run cd ..."))
    assert judge(run("cd sub"), policy).verdict == "allow"
    assert judge(run("cd sub && cat a.py"), policy).verdict == "ask"


def test_nested_commands_are_judged_in_bounded_time() -> None:
    many = " ".join(["bash"] * 700)
    for command in (f"env {many}", many, f"bash -c '{many}'", "sudo " * 800 + "x"):
        started = time.monotonic()
        assert judge(run(command), POLICY).verdict in {"ask", "deny"}
        assert time.monotonic() - started < 20


def test_reading_whole_trees_needs_a_sandbox_that_hides_secrets() -> None:
    policy = replace(POLICY, secrets_masked=True)
    assert judge(run("grep -r x ."), policy).verdict == "allow"
    assert judge(run("rg x"), policy).verdict == "allow"


def test_without_the_switch_every_command_asks() -> None:
    policy = replace(POLICY, shell_auto_allow=False)
    assert outcome(judge(run("ls"), policy)) == "ask default session workspace"


@pytest.mark.parametrize("sandbox", ["none", "landlock-only", "", "bubblewrap2"])
def test_without_a_real_sandbox_nothing_runs_unasked(sandbox: str) -> None:
    policy = replace(POLICY, sandbox=sandbox, user_rules=rules("allow terminal.run ls"))
    key = GrantKey("terminal.run", "ls", ROLE.sha256, ROOT, sandbox)
    policy = replace(policy, grants=HeldGrants((Grant("g", key, "session", "coder", 0.0),)))
    assert outcome(judge(run("ls"), policy)) == "ask sandbox"
    required = replace(policy, sandbox_required=True)
    assert outcome(judge(run("ls"), required)) == "deny sandbox"


def test_what_a_runtime_runs_itself_is_judged_as_outside_the_sandbox() -> None:
    policy = replace(POLICY, secrets_masked=True)
    for command in ("ls", "grep -r x .", "cat a.py"):
        assert judge(run(command), policy).verdict == "allow"
        subject = replace(run(command), by_runtime=True)
        assert outcome(judge(subject, policy)) == "ask default session workspace"
        assert outcome(judge(subject, replace(policy, sandbox_required=True))) == "deny sandbox"
    subject = replace(run("ls"), by_runtime=True)
    for sandbox, verdict in (("bubblewrap", "ask"), ("none", "allow")):
        key = GrantKey("terminal.run", "ls", ROLE.sha256, ROOT, sandbox)
        granted = replace(policy, grants=HeldGrants((Grant("g", key, "session", "coder", 0.0),)))
        assert judge(subject, granted).verdict == verdict


def test_the_network_asks_each_time() -> None:
    subject = run("ls", network=True)
    assert outcome(judge(subject, POLICY)) == "ask network"
    plain_rule = replace(POLICY, user_rules=rules("allow terminal.run ls"))
    assert outcome(judge(subject, plain_rule)) == "ask network"
    named = replace(POLICY, user_rules=rules({"allow": {"command": "ls", "network": True}}))
    assert outcome(judge(subject, named)) == "allow user rule"
    both = run("ls && id", network=True)
    assert outcome(judge(both, named)) == "ask network"


# ---- rules

RULES: list[tuple[list[object], str, str]] = [
    (["allow terminal.run git status"], "git status", "allow user rule"),
    (["allow terminal.run git status"], "git status && ls", "allow user rule"),
    (["allow terminal.run git status"], "git status && foo x", "ask default session workspace"),
    (["allow terminal.run ls ..."], "ls; curl x | sh", "ask wrapper"),
    (["allow terminal.run ls ...", "deny terminal.run curl"], "ls; curl x | sh", "deny user rule"),
    (["deny terminal.run curl"], "sudo curl x", "deny user rule"),
    (["deny terminal.run curl"], "bash -c 'curl x | sh'", "deny user rule"),
    (["deny terminal.run curl"], "echo $(curl x)", "deny user rule"),
    (["deny terminal.run curl"], "timeout 9 env /usr/bin/curl x", "deny user rule"),
    (["deny terminal.run curl"], "X=1 curl x > y", "deny user rule"),
    (["deny terminal.run curl"], "echo curl", "allow safe table"),
    (["deny terminal.run", "allow terminal.run ls"], "ls", "deny user rule"),
    (["deny *"], "ls", "deny user rule"),
    (["deny *"], "ls *", "deny user rule"),
    (["deny *"], "A=1", "deny user rule"),
    (["ask terminal.run git push", "allow terminal.run git ..."], "git push x", "ask user rule"),
    (["ask terminal.run git push", "allow terminal.run git ..."], "git pull", "allow user rule"),
    (["deny fs.read secrets/**"], "cat secrets/x", "deny user rule"),
    (["deny fs.read secrets/**"], "grep -r x secrets", "deny user rule"),
    (["deny fs.read secrets/**"], "tool --file=SECRETS/x", "deny user rule"),
    (["deny fs.read"], "ls a.py", "allow safe table"),
    (["deny fs.write vendor/**"], "cat vendor/x", "allow safe table"),
    (["deny fs.write vendor/**"], "tool vendor/x", "ask user rule"),
    (["deny fs.*"], "tool x", "ask default session workspace"),
    (["allow terminal.run cat ..."], "cat .env", "ask secret session"),
    (["allow terminal.run cat .env"], "cat .env", "allow user rule"),
    (["allow terminal.run rm ..."], "rm .git/config", "ask protected"),
    (["allow terminal.run rm ..."], "rm -rf /", "deny hard"),
    (["allow terminal.run make test"], "make test", "allow user rule"),
    (["allow terminal.run sudo ..."], "sudo ls", "allow user rule"),
    (["allow terminal.run ls ..."], "ls *", "ask shell"),
    (["allow *"], "ls *", "ask shell"),
    (["allow *"], "git push", "allow user rule"),
]


@pytest.mark.parametrize(("items", "command", "expected"), RULES)
def test_rules_on_commands(items: list[object], command: str, expected: str) -> None:
    assert outcome(judge(run(command), replace(POLICY, user_rules=rules(*items)))) == expected


FILE_RULES: list[tuple[list[object], str, str, str]] = [
    (["allow fs.write src/**"], "fs.write", "src/a", "allow user rule"),
    (["allow fs.write src/**"], "fs.write", "SRC/a", "ask default session"),
    (["allow fs.write src/**"], "fs.write", "a", "ask default session"),
    (["allow fs.write", "deny fs.write src/**"], "fs.write", "SRC/a", "deny user rule"),
    (["allow fs.write", "ask fs.write *.sql"], "fs.write", "x/a.SQL", "ask user rule"),
    (["allow fs.write"], "fs.write", ".git/config", "ask protected"),
    (["allow fs.write .git/config"], "fs.write", ".git/config", "ask protected"),
    (["deny fs.write .git"], "fs.write", ".git/config", "deny user rule"),
    (["allow *"], "fs.write", "/etc/x", "deny hard"),
    (["allow *"], "fs.read", ".env", "ask secret session"),
    (["allow fs.read **"], "fs.read", ".env", "ask secret session"),
    (["allow fs.read .env*"], "fs.read", ".env", "ask secret session"),
    (["allow fs.read .env.test"], "fs.read", ".env.test", "allow user rule"),
    (["deny fs.read .env"], "fs.read", ".ENV", "deny user rule"),
    (["deny fs.read .env"], "fs.search", ".env", "deny user rule"),
    (["deny fs.read secrets"], "fs.read", "secrets/deep/x", "deny user rule"),
    (["allow fs.delete"], "fs.delete", "a", "allow user rule"),
    (["allow fs.delete"], "fs.delete", ".git", "deny hard"),
]


@pytest.mark.parametrize(("items", "action", "path", "expected"), FILE_RULES)
def test_rules_on_files(items: list[object], action: str, path: str, expected: str) -> None:
    policy = replace(POLICY, user_rules=rules(*items))
    assert outcome(judge(file(action, path), policy)) == expected


def test_a_ban_holds_for_the_link_and_for_what_it_leads_to() -> None:
    policy = replace(POLICY, user_rules=rules("deny fs.read secret.txt"))
    link = file("fs.read", "a", true_path=f"{ROOT}/secret.txt", through_link=True)
    named = file("fs.read", "secret.txt", true_path=f"{ROOT}/a", through_link=True)
    assert outcome(judge(link, policy)) == "deny user rule"
    assert outcome(judge(named, policy)) == "deny user rule"


def test_a_workspace_may_only_narrow() -> None:
    policy = replace(
        POLICY,
        workspace_rules=rules("allow terminal.run git push", "allow fs.write", "deny fs.write x"),
    )
    assert judge(run("git push"), policy).verdict == "ask"
    assert judge(file("fs.write", "a"), policy).verdict == "ask"
    assert outcome(judge(file("fs.write", "x"), policy)) == "deny workspace rule"


def test_a_role_bans_more_but_a_foreign_one_allows_nothing() -> None:
    role = replace(ROLE, rules=rules("allow fs.write src/**", "deny fs.write src/gen"))
    policy = replace(POLICY, role=role, user_rules=rules("allow fs.write"))
    assert outcome(judge(file("fs.write", "src/gen/a"), policy)) == "deny role rule"
    own = replace(POLICY, role=role, role_may_allow=True)
    foreign = replace(POLICY, role=role)
    assert outcome(judge(file("fs.write", "src/a"), own)) == "allow role rule"
    assert outcome(judge(file("fs.write", "src/a"), foreign)) == "ask default session"


def test_decisions_name_rule_file_and_line() -> None:
    policy = replace(POLICY, user_rules=rules("ask fs.delete", "deny terminal.run curl"))
    decision = judge(run("curl x"), policy)
    assert (decision.rule, decision.where) == ("deny terminal.run curl", "policy.yaml:2")
    assert "`deny terminal.run curl` (policy.yaml:2)" in explain(decision)


# ---- role, trust


@pytest.mark.parametrize(
    ("skills", "allowed"),
    [
        (set(), set()),
        ({"fs.read"}, {"fs.read", "fs.list", "fs.search"}),
        ({"fs.write"}, {"fs.write", "fs.createDirectory"}),
        ({"fs.delete"}, {"fs.delete"}),
        ({"editor.open"}, {"editor.open"}),
        ({"terminal"}, {"terminal.run"}),
        ({"mcp"}, {"mcp:a/x", "mcp:b/x"}),
        ({"mcp:a"}, {"mcp:a/x"}),
        ({"mcp:ab"}, set()),
    ],
)
def test_a_role_can_only_do_what_it_has_skills_for(skills: set[str], allowed: set[str]) -> None:
    role = replace(ROLE, skills=frozenset(skills))
    policy = replace(POLICY, role=role, user_rules=rules("allow *", "allow mcp:*"))
    files = ("fs.read", "fs.list", "fs.search", "fs.write", "fs.createDirectory", "fs.delete")
    subjects = [file(action, "a") for action in (*files, "editor.open")]
    subjects += [run("ls"), external("a/x"), external("b/x")]
    found = {each.action for each in subjects if judge(each, policy).verdict != "deny"}
    assert found == allowed
    sources = {judge(each, policy).source for each in subjects if each.action not in allowed}
    assert sources <= {"role"}


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("git status", "ask"),
        ("git status && git log", "ask"),
        ("git status && ls", "deny"),
        ("git log | sh", "deny"),
        ("/usr/bin/git status", "deny"),
        ("env git status", "deny"),
        ("git status > x", "deny"),
        ("git $(id)", "deny"),
    ],
)
def test_a_role_with_programs_runs_only_those(command: str, verdict: str) -> None:
    role = replace(ROLE, skills=frozenset(), programs=frozenset({"git"}))
    assert judge(run(command), replace(POLICY, role=role)).verdict == verdict


def test_an_untrusted_workspace_is_only_read() -> None:
    policy = replace(POLICY, trusted=False, user_rules=rules("allow *"))
    for action in ("fs.read", "fs.list", "fs.search", "editor.open"):
        assert judge(file(action, "a"), policy).verdict == "allow"
    for subject in (
        *(file(action, "a") for action in ("fs.write", "fs.createDirectory", "fs.delete")),
        run("ls"),
        external("a/x"),
    ):
        assert outcome(judge(subject, policy)) == "deny trust"


def external(tool: str) -> Subject:
    return Subject(f"mcp:{tool}", external=tool, content="c")


def test_tools_of_others() -> None:
    assert outcome(judge(external("github/search"), POLICY)) == "ask default session workspace"
    allowed = replace(POLICY, user_rules=rules("allow mcp:github/*", "deny mcp:github/delete*"))
    assert outcome(judge(external("github/search"), allowed)) == "allow user rule"
    assert outcome(judge(external("github/deleteAll"), allowed)) == "deny user rule"
    assert judge(Subject("fs.read", external="a/x"), POLICY).verdict == "deny"
    assert judge(Subject("mcp:a/x"), POLICY).verdict == "deny"


# ---- grants


def granted(subject: Subject, policy: Policy = POLICY) -> Policy:
    """The policy after the person chose the longest scope."""
    key = remembered_as(subject, policy)
    assert key is not None
    return replace(policy, grants=HeldGrants((Grant("g1", key, "session", "coder", 0.0),)))


def test_a_grant_covers_exactly_what_was_allowed() -> None:
    policy = granted(run("git push origin"))
    assert outcome(judge(run("git push origin"), policy)) == "allow grant"
    assert judge(run("git push origin"), policy).rule == "g1"
    for other in ("git push", "git push origin x", "git push origin && foo", "git pull origin"):
        assert judge(run(other), policy).verdict == "ask"
    assert judge(run("git push origin && ls"), policy).verdict == "allow"
    assert judge(run("git push origin", cwd=f"{ROOT}/sub"), policy).verdict == "ask"
    assert judge(run("git push origin", network=True), policy).verdict == "ask"
    assert judge(run("git push origin"), replace(policy, sandbox="seatbelt")).verdict == "ask"
    changed = replace(policy, role=replace(ROLE, sha256="x" * 64))
    assert judge(run("git push origin"), changed).verdict == "ask"


def test_a_grant_for_a_part_does_not_cover_what_is_piped_into_it() -> None:
    policy = granted(run("kubectx apply"))
    assert judge(run("kubectx apply"), policy).verdict == "allow"
    assert judge(run("cat a | kubectx apply"), policy).verdict == "ask"
    assert judge(run("cd sub && kubectx apply"), policy).verdict == "ask"
    whole = granted(run("cat a | kubectx apply"))
    assert judge(run("cat a | kubectx apply"), whole).verdict == "allow"
    assert judge(run("cat b | kubectx apply"), whole).verdict == "ask"


@pytest.mark.parametrize(
    "command", ["timeout 9 x", "sudo x", "npm run x", "python -c 1", "ls *", "rm .git/x"]
)
def test_no_grant_ever_covers_what_is_asked_each_time(command: str) -> None:
    texts = (command, command.rsplit(maxsplit=1)[-1])
    keys = [GrantKey("terminal.run", text, ROLE.sha256, ROOT, "bubblewrap") for text in texts]
    grants = HeldGrants(tuple(Grant(key.target, key, "session", "coder", 0.0) for key in keys))
    decision = judge(run(command), replace(POLICY, grants=grants))
    assert (decision.verdict, decision.remember) == ("ask", ())


def test_an_edits_grant_covers_its_folder_and_nothing_protected() -> None:
    policy = granted(file("fs.write", "src/a.py"))
    for path in ("src/a.py", "src/b.py", "src/deep/c.py"):
        assert outcome(judge(file("fs.write", path), policy)) == "allow grant"
    for path in ("b.py", "srcx/a.py", "src/.git/config", "src/.vscode/x", "src/.env"):
        assert judge(file("fs.write", path), policy).verdict == "ask"
    assert judge(file("fs.write", "src/a.py", links=2), policy).verdict == "ask"
    assert judge(replace(file("fs.write", "src/a.py"), hidden=True), policy).verdict == "ask"
    assert judge(file("fs.delete", "src/a.py"), policy).verdict == "ask"


def test_other_grants_are_exact() -> None:
    reading = granted(file("fs.read", ".env"))
    assert judge(file("fs.read", ".env"), reading).verdict == "allow"
    assert judge(file("fs.read", "sub/.env"), reading).verdict == "ask"
    deleting = granted(file("fs.delete", "a"))
    assert judge(file("fs.delete", "a"), deleting).verdict == "allow"
    assert judge(file("fs.delete", "b"), deleting).verdict == "ask"
    tool = granted(external("a/x"))
    assert judge(external("a/x"), tool).verdict == "allow"
    assert judge(external("a/y"), tool).verdict == "ask"


def test_a_ban_beats_a_grant() -> None:
    policy = replace(granted(run("git push")), user_rules=rules("deny terminal.run git push"))
    assert outcome(judge(run("git push"), policy)) == "deny user rule"
    asked = replace(granted(run("git push")), user_rules=rules("ask terminal.run git push"))
    assert outcome(judge(run("git push"), asked)) == "ask user rule"


def test_folders() -> None:
    assert folder_of("/w/app/src/a.py") == "/w/app/src/"
    assert folder_of("C:\\w\\a.py") == "C:\\w\\"


def test_nobody_to_ask_is_a_denial() -> None:
    decision = unanswered(judge(file("fs.write", "a"), POLICY), "this editor can't ask")
    assert (decision.verdict, decision.source) == ("deny", "unanswered")
    assert "can't ask" in decision.reason


# ---- faults


class Fault(Exception):
    pass


class BrokenGrants:
    def find(self, key: GrantKey) -> Grant | None:
        raise Fault(key)


class Broken:
    """Raises on any use."""

    def __getattr__(self, name: str) -> object:
        raise Fault(name)

    def __iter__(self) -> object:
        raise Fault

    def __contains__(self, item: object) -> bool:
        raise Fault(item)

    def __and__(self, other: object) -> object:
        raise Fault(other)

    def __eq__(self, other: object) -> bool:
        raise Fault(other)

    __hash__ = None  # type: ignore[assignment]


def with_policy(**broken: object) -> Callable[[Subject], Decision]:
    return lambda subject: judge(subject, replace(POLICY, **broken))  # type: ignore[arg-type]


def with_subject(**broken: object) -> Callable[[Subject], Decision]:
    return lambda subject: judge(replace(subject, **broken), POLICY)  # type: ignore[arg-type]


SUBJECTS = {
    "read": file("fs.read", "a"),
    "write": file("fs.write", "a"),
    "delete": file("fs.delete", "a"),
    "command": run("git push"),
    "safe command": run("cat a"),
    "tool": external("a/x"),
}
POLICY_FAULTS: dict[str, dict[str, object]] = {
    "the role": {"role": Broken()},
    "the role's skills": {"role": replace(ROLE, skills=Broken())},  # type: ignore[arg-type]
    "the role's rules": {"role": replace(ROLE, rules=Broken())},  # type: ignore[arg-type]
    "the user's rules": {"user_rules": Broken()},
    "a rule": {"user_rules": (Broken(),)},
    "the workspace's rules": {"workspace_rules": Broken()},
}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("fault", POLICY_FAULTS.values(), ids=POLICY_FAULTS)
def test_a_broken_policy_denies(fault: dict[str, object], subject: Subject) -> None:
    decision = with_policy(**fault)(subject)
    assert (decision.verdict, decision.source) == ("deny", "engine")
    assert decision.remember == ()


@pytest.mark.parametrize("name", ["read", "write", "delete", "command", "safe command"])
def test_broken_roots_deny(name: str) -> None:
    assert outcome(with_policy(roots=Broken())(SUBJECTS[name])) == "deny engine"


@pytest.mark.parametrize("name", ["write", "delete", "command", "tool"])
def test_broken_grants_deny(name: str) -> None:
    assert outcome(with_policy(grants=BrokenGrants())(SUBJECTS[name])) == "deny engine"


FACT_FAULTS: list[tuple[str, dict[str, object]]] = [
    ("read", {"facts": None}),
    ("write", {"facts": None}),
    ("delete", {"facts": None}),
    ("read", {"facts": Broken()}),
    ("write", {"facts": Broken()}),
    ("delete", {"facts": Broken()}),
    ("read", {"facts": PathFacts("a", "", "file")}),
    ("command", {"command": None}),
    ("command", {"command": Broken()}),
    ("command", {"command_text": None}),
    ("command", {"cwd": None}),
    ("command", {"operands": Broken()}),
    ("safe command", {"operands": Broken()}),
    ("tool", {"external": ""}),
    ("tool", {"external": None}),
]


@pytest.mark.parametrize(("name", "fault"), FACT_FAULTS)
def test_missing_or_broken_facts_deny(name: str, fault: dict[str, object]) -> None:
    assert with_subject(**fault)(SUBJECTS[name]).verdict == "deny"


def test_a_parser_that_fails_denies() -> None:
    from agent_host.permissions.shell import read_command

    def broken(text: str) -> object:
        raise Fault(text)

    subject = replace(run("ls"), command=read_command("ls", broken))  # type: ignore[arg-type]
    allowing = replace(POLICY, user_rules=rules("allow *"))
    assert outcome(judge(subject, allowing)) == "deny engine"


def test_decide_itself_raises_so_that_faults_are_seen() -> None:
    with pytest.raises(Fault):
        decide(SUBJECTS["write"], replace(POLICY, grants=BrokenGrants()))
