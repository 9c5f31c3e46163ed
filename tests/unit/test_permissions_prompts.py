"""Questions: nothing hidden, nothing clickable, nothing cut silently, the scope named."""

import re
from dataclasses import replace
from hashlib import sha256

import pytest

from agent_host.core.actions import PathFacts, RunCommand
from agent_host.core.model import Role
from agent_host.core.permission import Decision, Question
from agent_host.permissions.engine import judge
from agent_host.permissions.explain import explain
from agent_host.permissions.prompts import Asking, question_for, scope_of
from agent_host.permissions.subject import Policy, Subject, command_subject
from agent_host.permissions.visible import fenced, hides, line, notes, visible, visible_block

ROOT = "/w/app"
SKILLS = frozenset({"fs.read", "fs.write", "fs.delete", "terminal", "editor.open", "mcp"})
POLICY = Policy(
    Role("coder", "", "", "/r", "r" * 64, skills=SKILLS),
    (ROOT,),
    trusted=True,
    sandbox="bubblewrap",
)
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-old\n+new\n"


def command(text: str, **facts: object) -> Subject:
    return replace(command_subject(RunCommand(text, ROOT), cwd=ROOT), **facts)  # type: ignore[arg-type]


def file(action: str, path: str, **facts: object) -> Subject:
    path = f"{ROOT}/{path}"
    known = PathFacts(path, path, "file")
    return Subject(action, path, replace(known, **facts))  # type: ignore[arg-type]


def ask(subject: Subject, policy: Policy = POLICY, **asking: str) -> Question:
    decision = judge(subject, policy)
    assert decision.verdict == "ask", explain(decision)
    return question_for(subject, decision, policy, Asking("s", "r", "c", **asking))


HOSTILE = [
    ("a\nb", "a⏎b"),
    ("a\tb", "a⇥b"),
    ("a\rb", "a\u2039U+000D\u203ab"),
    ("\x1b[8mhidden\x1b[0m", "\u2039U+001B\u203a[8mhidden\u2039U+001B\u203a[0m"),
    ("a\u202eb", "a\u2039U+202E\u203ab"),
    ("a\u2066b\u2069", "a\u2039U+2066\u203ab\u2039U+2069\u203a"),
    ("a\u200bb", "a\u2039U+200B\u203ab"),
    ("\U000e0072m", "\u2039U+E0072\u203am"),
    ("a\u00a0b", "a\u2039U+00A0\u203ab"),
    ("a\u3164b", "a\u2039U+3164\u203ab"),
    ("a\u2800b", "a\u2039U+2800\u203ab"),
    ("a\ufe0fb", "a\u2039U+FE0F\u203ab"),
    ("a\U000e0100b", "a\u2039U+E0100\u203ab"),
    ("a\u2028b", "a\u2039U+2028\u203ab"),
    ("a\udcffb", "a\u2039U+DCFF\u203ab"),
    ("a\ue000b", "a\u2039U+E000\u203ab"),
    ("x" + " " * 200 + "; rm", "x\u2039200 spaces\u203a; rm"),
    ("[ok](command:x)", "[ok] (command:x)"),
    ("plain text, ä 日", "plain text, ä 日"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls -la", ()),
        ("a\nb\tc", ()),
        ("a\u202eb", ("contains hidden characters",)),
        ("l\u0455", ("contains non-ASCII letters",)),
        ("a    b", ("contains long blanks",)),
        (
            "ä\u200b    ",
            ("contains hidden characters", "contains non-ASCII letters", "contains long blanks"),
        ),
    ],
)
def test_notes(text: str, expected: tuple[str, ...]) -> None:
    assert notes(text) == expected


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("def f():\n\treturn 'ä'\r\n", False),
        ("naïve\u00a0text", False),
        ("👩\u200d💻 ❤\ufe0f", False),
        ("if access\u202e:", True),
        ("x\u2067", True),
        ("a\U000e0041", True),
        ("a\x1b[1m", True),
        ("a\u200b", True),
        ("a\u3164 = 1", True),
    ],
)
def test_text_that_hides_something(text: str, hidden: bool) -> None:
    assert hides(text) is hidden


def test_a_long_line_keeps_head_and_tail_and_says_how_much_is_missing() -> None:
    text = "head " + "x" * 5000 + " tail"
    shown = line(text, 200)
    assert len(shown) <= 200
    assert shown.startswith("head ")
    assert shown.endswith(" tail")
    found = re.search(r"\u2039([\d,]+) characters left out, whole text (\w+)\u203a", shown)
    assert found is not None
    kept = len(shown) - len(found[0]) - 2
    assert kept + int(found[1].replace(",", "")) == len(text)
    assert found[2] == sha256(text.encode()).hexdigest()[:8]
    assert line("short", 200) == "short"


def test_a_code_block_can_not_be_left() -> None:
    text = "```\n[x](command:y)\n````\nend\u202e"
    block = fenced(text, "bash")
    assert block.startswith("`````bash\n")
    assert block.endswith("\n`````")
    assert "\u202e" not in block
    assert visible_block("a\n\tb    c") == "a\n\tb    c"


# ---- titles


def test_a_commands_title_has_role_place_and_text() -> None:
    question = ask(command("git push origin"))
    assert question.title == "coder wants to run in /w/app: git push origin · sandbox: bubblewrap"
    assert question.full_text is None
    assert "```bash\ngit push origin\n```" in question.detail


@pytest.mark.parametrize(
    ("question", "wish"),
    [
        (ask(command("git push origin")), "coder wants to run in /w/app"),
        (ask(file("fs.write", "x.py"), diff=DIFF), "coder wants to change /w/app/x.py"),
        (ask(file("fs.delete", "x.py")), "coder wants to delete /w/app/x.py"),
    ],
)
def test_the_detail_repeats_nothing_of_the_wish_above_it(question: Question, wish: str) -> None:
    assert question.wish == wish
    assert question.title.startswith(wish)
    assert "wants to" not in question.detail
    assert "/w/app" not in question.detail
    assert "Asked because" in question.detail


def test_a_title_tells_of_missing_sandbox_network_and_reason() -> None:
    bare = replace(POLICY, sandbox="none")
    assert "no sandbox: it can do all that you can" in ask(command("git push"), bare).title
    assert "· no sandbox" in ask(command("ls *"), bare).title
    itself = replace(command("ls *"), by_runtime=True)
    assert "· the agent runs it itself, outside our sandbox" in ask(itself).title
    assert "bubblewrap" not in ask(itself).title
    assert "wants to reach the network" in ask(command("npm2 ci", network=True)).title
    assert "with network" in ask(command("ls *", network=True)).title
    assert "protected" in ask(file("fs.write", ".git/config"), diff=DIFF).title


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (file("fs.write", "x.py"), "coder wants to change /w/app/x.py: -old"),
        (file("fs.write", "x.py", kind="missing"), "coder wants to create /w/app/x.py: -old"),
        (file("fs.delete", "x.py"), "coder wants to delete /w/app/x.py"),
        (
            file("fs.delete", "src", kind="directory", count=7, first_names=tuple("abcdef")),
            "coder wants to delete the directory /w/app/src (7 entries: a, b, c, d, e, ...)"
            " · it deletes a directory with all that is in it",
        ),
        (
            file("fs.read", ".env"),
            "coder wants to read /w/app/.env · it looks like an environment file",
        ),
        (
            Subject("mcp:gh/find", external="gh/find", command_text='{"q": 1}'),
            'coder wants to use the tool find of the MCP server gh: {"q": 1}',
        ),
        (
            file("fs.write", "conftest.py"),
            "coder wants to change /w/app/conftest.py: -old · test runners run it by itself",
        ),
    ],
)
def test_titles(subject: Subject, title: str) -> None:
    more = {"diff": DIFF} if subject.action == "fs.write" else {}
    assert ask(subject, **more).title == title


def test_the_title_of_a_link_names_what_it_leads_to() -> None:
    subject = file("fs.write", "link", true_path=f"{ROOT}/real.py", through_link=True)
    assert "/w/app/real.py" in ask(subject, diff=DIFF).title


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1100 + "; rm -rf build",
        "echo " + "y" * 3000,
        "a\u202e" * 500,
        " " * 3000 + "; rm -rf build",
        "\n" * 700 + "rm x",
    ],
)
def test_long_commands_are_never_cut_silently(text: str) -> None:
    question = ask(command(text))
    assert len(question.title) <= 600
    assert "\n" not in question.title
    if len(visible(text)) > 500:
        assert "characters left out" in question.title
        assert question.full_text == text
        assert [option.kind for option in question.options[-2:]] == ["show", "stop"]
    assert question.title.split(" · ")[0].endswith(visible(text)[-10:])


def test_a_long_path_leaves_room_for_the_command() -> None:
    deep = "/w/app/" + "d" * 200 + "/" + "e" * 200
    subject = command_subject(RunCommand("git push", deep), cwd=deep)
    question = ask(subject)
    assert len(question.title) <= 600
    assert "git push" in question.title
    assert deep in question.detail


def test_what_an_mcp_server_says_hides_nothing_and_is_no_link() -> None:
    evil = "[ok](command:x)\u202e\x1b[8m\U000e0072\n\n**Allowed** https://evil.example/$(id)"
    question = ask(
        Subject("mcp:gh/find", external="gh/find", command_text=evil, said=evil, provider="gh")
    )
    for text in (question.title, question.detail):
        assert not hides(text.replace("\n", " "))
        assert "\u202e" not in text
        assert "\x1b" not in text
    assert "](" not in question.title
    assert "\n" not in question.title
    # In the detail it stands in blocks of code, where nothing is a link.
    plain = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$|`[^`\n]*`", "", question.detail)
    assert "evil.example" not in plain
    assert "](" not in plain


def test_text_from_elsewhere_can_not_imitate_our_frame() -> None:
    question = ask(command("x\n\n**safe** [ok](command:y)\u202e"), explanation="```\n**trust me**")
    assert "\n" not in question.title
    assert "](" not in question.title
    assert "contains hidden characters" in question.title
    assert "The agent says (not checked):" in question.detail
    assert "````\n```\n**trust me**\n````" in question.detail
    assert "trust me" not in question.title


def test_the_detail_formats_nothing_from_elsewhere() -> None:
    role = replace(POLICY.role, name="*x* [y](command:z) <b>`")
    question = ask(command("ls"), replace(POLICY, role=role))
    outside = re.sub(r"```.*?```", "", question.detail, flags=re.DOTALL)
    assert "](" not in outside
    assert "<b>" not in outside.replace("\\<", "")


def test_a_rule_that_asks_is_named() -> None:
    subject, policy = command("git push"), POLICY
    decision = Decision("ask", "user rule", "Look first.", "ask terminal.run git push", "p.yaml:3")
    question = question_for(subject, decision, policy, Asking("s", "r", "c"))
    assert "Look first." in question.title
    assert "p.yaml:3" in question.detail


# ---- options


@pytest.mark.parametrize(
    ("subject", "titles"),
    [
        (
            command("git push"),
            [
                "Deny",
                "Allow once",
                "Allow this exact command for this session",
                "Allow this exact command in this workspace for 30 days",
            ],
        ),
        (command("sudo x"), ["Deny", "Allow once"]),
        (command("ls *"), ["Deny", "Allow once"]),
        (file("fs.write", ".git/config"), ["Deny", "Allow once", "Show"]),
        (
            file("fs.write", "src/x.py"),
            ["Deny", "Allow once", "Allow edits in src/ for this session", "Show"],
        ),
        (
            file("fs.write", "x.py"),
            ["Deny", "Allow once", "Allow edits in the workspace for this session", "Show"],
        ),
        (
            file("fs.delete", "x"),
            ["Deny", "Allow once", "Allow deleting this file for this session"],
        ),
        (
            file("fs.read", ".env"),
            ["Deny", "Allow once", "Allow reading this file for this session"],
        ),
        (
            Subject("mcp:gh/find", external="gh/find", content="c"),
            [
                "Deny",
                "Allow once",
                "Allow the tool find of the MCP server gh as it is now for this session",
                "Allow the tool find of the MCP server gh as it is now in this workspace"
                " for 30 days",
            ],
        ),
    ],
)
def test_options(subject: Subject, titles: list[str]) -> None:
    more = {"diff": DIFF} if subject.action == "fs.write" else {}
    question = ask(subject, **more)
    assert [option.title for option in question.options] == [*titles, "Stop"]
    assert question.options[0].kind == "deny"
    for option in question.options:
        assert option.title.startswith("Allow") == option.kind.startswith("allow")
    assert len({option.title for option in question.options}) == len(titles) + 1


def test_the_scope_of_an_option() -> None:
    options = ask(command("git push")).options
    scopes = [None, None, "session", "workspace", None]
    assert [scope_of(option) for option in options] == scopes


def test_the_diff_goes_along_whole() -> None:
    diff = DIFF + "".join(f"+line {number}\n" for number in range(5000))
    question = ask(file("fs.write", "x.py"), diff=diff)
    assert question.diff == question.full_text == diff
    assert len(question.title) <= 600


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (
            Decision("deny", "user rule", "No.", "deny terminal.run curl", "p.yaml:3"),
            "Denied: your rule `deny terminal.run curl` (p.yaml:3); No.",
        ),
        (
            Decision("allow", "grant", "you allowed it for this session", "g1"),
            "Allowed: your earlier answer `g1`; you allowed it for this session.",
        ),
        (
            Decision("ask", "protected", "it is protected (.git: x)"),
            "Asked: protected paths are asked each time; it is protected (.git: x).",
        ),
        (Decision("deny", "new source", "x\u202e"), "Denied: new source; x\u2039U+202E\u203a."),
    ],
)
def test_explanations(decision: Decision, sentence: str) -> None:
    assert explain(decision) == sentence
