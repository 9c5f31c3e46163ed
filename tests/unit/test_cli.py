"""The command line: what each command prints, where, and with which exit code."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from agent_host import __version__
from agent_host.cli import COMMANDS, main
from agent_host.client import Answer, Delta, Option, Question, RunResult
from agent_host.commands.asking import Asking
from agent_host.commands.following import EXIT_CODES, exit_code
from agent_host.commands.terminal import Keyboard, Screen, printable
from agent_host.commands.view import View, used
from agent_host.doctor import local_servers, names


def call(*argv: str) -> int:
    """The exit code of `agent-host`, as the shell sees it."""
    try:
        return main(argv)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else -1


def program(*argv: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "AGENT_HOST_HOME": str(cwd / "home"), **environ}
    command = [sys.executable, "-m", "agent_host", *argv]
    return subprocess.run(command, cwd=cwd, env=base, capture_output=True, text=True, check=False)


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"agent-host {__version__}\n"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_everywhere(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert call(*([command] if command else []), "--help") == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: agent-host")
    if command:
        assert COMMANDS[command][1:].split(";")[0] in " ".join(out.split())


@pytest.mark.parametrize(
    "argv",
    [
        ["nonsense"],
        ["run"],
        ["run", "hi", "--cwd", "no/such/folder"],
        ["run", "hi", "--yes", "--ask"],
        ["doctor", "--nonsense"],
        ["serve", "--stdio", "--tcp", "127.0.0.1:1"],
    ],
)
def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str], argv: Sequence[str]) -> None:
    assert call(*argv) == 2
    assert capsys.readouterr().err


# ---- the commands that only look


def test_roles_are_listed_and_broken_ones_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("roles", "--cwd", str(tmp_path), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"coder", "planner", "reviewer"} <= {role["name"] for role in found["roles"]}
    folder = tmp_path / ".agent" / "rules" / "roles"
    folder.mkdir(parents=True)
    (folder / "coder.md").write_text("---\ndescription: a: b\n---\nP")
    assert call("trust", "--add", str(tmp_path)) == 0
    assert call("roles", "--cwd", str(tmp_path)) == 1
    out = capsys.readouterr().out
    assert f"{folder / 'coder.md'}:2: Not valid YAML" in out
    assert "\ncoder\n" not in f"\n{out}"


def test_a_key_is_named_by_its_source_and_never_shown(tmp_path: Path) -> None:
    keys = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://user:secret@127.0.0.1:9/v1"}
    for argv in (["models"], ["models", "--json"], ["doctor"], ["doctor", "--json"]):
        done = program(*argv, cwd=tmp_path, **keys)
        assert done.returncode == 0, done.stderr
        assert "OPENAI_API_KEY" in done.stdout
        assert "secret" not in done.stdout + done.stderr
    assert json.loads(done.stdout)["model"].startswith("openai/")


def test_without_a_key_it_is_said_what_to_set(tmp_path: Path) -> None:
    found = json.loads(program("models", "--json", cwd=tmp_path).stdout)
    assert found["default"] is None
    assert "Set one of" in found["reason"]
    assert not any(model["usable"] for model in found["models"])


def test_doctor_tells_wrong_settings_and_what_it_searched(tmp_path: Path) -> None:
    config = tmp_path / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("modle: x/y\n")
    done = program("doctor", cwd=tmp_path, PATH="/nowhere")
    assert done.returncode == 1
    assert "config.yaml:1: `modle` is no known key. Did you mean `model`?" in done.stdout
    assert "(searched /nowhere)" in done.stdout
    assert str(config) in done.stdout
    assert "\nSandbox for commands\n" in done.stdout
    for agent in ("claude-code", "acp:claude", "acp:codex", "acp:gemini", "acp:opencode"):
        assert f"  {agent}: The runtime `{agent}` needs the program" in done.stdout


def test_nothing_of_an_untrusted_folder_is_used_and_all_of_it_is_told(tmp_path: Path) -> None:
    role = tmp_path / ".agent/rules/roles/coder.md"
    role.parent.mkdir(parents=True)
    role.write_text("---\nname: coder\ndescription: Theirs.\n---\nx\n")
    done = program("doctor", cwd=tmp_path)
    assert done.returncode == 0
    assert "not trusted, so agents only read in it" in done.stdout
    assert "    .agent/rules/roles/coder.md\n" in done.stdout
    assert "Theirs." not in done.stdout
    listed = program("roles", cwd=tmp_path)
    assert (listed.returncode, "Theirs." in listed.stdout) == (0, False)
    assert "coder.md:1: The workspace is not trusted yet" in listed.stdout
    assert program("trust", "--add", str(tmp_path), cwd=tmp_path).returncode == 0
    assert f"{tmp_path.resolve()}: trusted" in program("doctor", cwd=tmp_path).stdout
    assert "Theirs." in program("roles", cwd=tmp_path).stdout


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schema") == 0
    assert "agent/run" in json.loads(capsys.readouterr().out)["methods"]


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    command = f"{sys.executable} -m agent_host schema | true"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


async def test_local_servers_are_found_by_their_list_of_models() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        good = asked.startswith(b"GET /v1/models ")
        body = json.dumps({"data": [{"id": "one"}, {"id": "two"}, 3]}).encode() if good else b"{}"
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found = await local_servers({"good": f"{base}/v1/", "bad": f"{base}/other"})
    assert [(each.name, each.models) for each in found] == [("good", ("one", "two"))]
    assert await local_servers({"gone": f"{base}/v1", "odd": "nonsense"}) == ()


def test_many_names_are_counted() -> None:
    assert names(["a", "b"]) == "a, b"
    assert names(["a", "b", "c", "d"], 2) == "a, b and 2 more"


# ---- the screen


def test_nothing_written_by_a_model_moves_the_cursor() -> None:
    assert printable("a\tb\nc\r\nd") == "a\tb\nc\nd"
    assert printable("\x1b[2J\x9b\u202e\r\x00") == "<U+001B>[2J<U+009B><U+202E><U+000D><U+0000>"
    assert printable("né 👩‍👩‍👧 ع") == "né 👩‍👩‍👧 ع"


def delta(kind: str, **data: object) -> Delta:
    return Delta("s", "r", 1, kind, {}, {"kind": kind, **data}, {})


def ended(status: str, **more: object) -> RunResult:
    return RunResult.of({"status": status, "usage": {"requests": 1}, **more})


def test_a_run_is_drawn_in_order() -> None:
    out = StringIO()
    screen = Screen(out, color=False)
    view = View(screen, screen)
    for each in (
        delta("started", role="coder", model="a/b"),
        delta("text", text="I "),
        delta("text", text="look."),
        delta("reasoning", text="hm"),
        delta("toolCall", title="Read a.py", name="fs_read"),
        delta("edit", state="proposed", diff="-a\n+b\n"),
        delta("edit", state="applied", diff="-a\n+b\n"),
        delta("toolOutput", text="1\n2\n"),
        delta("toolResult", status="ok", summary="2 lines"),
        delta("toolResult", status="denied", summary="no"),
        delta("plan", entries=[{"text": "first", "status": "completed"}, {"text": "then"}]),
        delta("log", source="permissions", text="why"),
        delta("retry", reason="busy"),
        delta("omitted", what="output", size=1234),
        delta("usage", usage={}),
        delta("made-up"),
    ):
        view.show(each)
    view.end(ended("limit", limit="maxTurns"))
    assert out.getvalue().splitlines() == [
        "coder · a/b",
        "I look.",
        "• Read a.py",
        "  -a",
        "  +b",
        "  │ 1",
        "  │ 2",
        "  ✓ 2 lines",
        "  ✗ denied: no",
        "[x] first",
        "[ ] then",
        "asked again (busy); the answer begins anew",
        "(1,234 bytes of output left out)",
        "limit: maxTurns (1 request, 0 tokens in, 0 out, price unknown)",
    ]


def test_what_a_called_agent_says_is_no_part_of_the_answer() -> None:
    answer, side = StringIO(), StringIO()
    view = View(Screen(answer, color=False), Screen(side, color=True))
    origin = {"kind": "agent", "path": ["coder", "reviewer"]}
    for each in (delta("text", text="Mine."), delta("toolCall", name="fs_list", title="List .")):
        view.show(replace(each, origin=origin))
    view.show(delta("text", text="Yours."))
    assert answer.getvalue() == "Yours."
    assert "Mine." in side.getvalue()
    assert "coder/reviewer: List ." in side.getvalue()


def test_the_answer_is_kept_apart_from_the_rest() -> None:
    answer, side = StringIO(), StringIO()
    view = View(Screen(answer, color=False), Screen(side, color=True))
    view.show(delta("text", text="One."))
    view.show(delta("toolCall", name="fs_list"))
    view.show(delta("text", text="Two."))
    view.end(ended("failed", error={"error": "Set a key.", "code": "no_api_key"}))
    assert answer.getvalue() == "One.\nTwo.\n"
    assert "fs_list" in side.getvalue()
    assert "failed: Set a key." in side.getvalue()
    assert "\x1b[31m" in side.getvalue()


def test_an_unknown_price_is_not_nothing() -> None:
    usage: dict[str, object] = {"requests": 2, "inputTokens": 1200, "outputTokens": 3}
    assert used(usage) == "2 requests, 1,200 tokens in, 3 out, price unknown"
    usage |= {"cachedTokens": 900, "costUsd": 0.5, "estimated": True}
    assert used(usage) == "2 requests, 1,200 tokens in (900 cached), 3 out, about $0.5000"
    assert used({**usage, "costUsd": 0.5}).endswith("$0.5000")


@pytest.mark.parametrize(("status", "code"), [*EXIT_CODES.items(), ("odd", 1)])
def test_exit_codes(status: str, code: int) -> None:
    assert exit_code(ended(status)) == code


# ---- questions


OPTIONS = (
    Option("0", "Deny", "deny"),
    Option("1", "Allow once", "allowOnce"),
    Option("2", "Allow for this session", "allowSession"),
    Option("3", "Stop", "stop"),
)
QUESTION = Question("Run `make`?", OPTIONS, detail="**make**", diff="+x", allows_reason=True)


async def ask(
    typed: str, *, always: str | None = None, from_pipe: bool = True, question: Question = QUESTION
) -> tuple[Answer, str]:
    out = StringIO()
    source, sink = os.pipe()
    os.write(sink, typed.encode())
    os.close(sink)
    with os.fdopen(source) as stream:
        screen = Screen(out, color=False)
        asking = Asking(screen, Keyboard(stream), always=always, from_pipe=from_pipe)
        return await asking(question), out.getvalue()


@pytest.mark.parametrize(
    ("typed", "option", "reason"),
    [
        ("y\n", "Allow once", None),
        ("a\n", "Allow for this session", None),
        ("n\n", "Deny", None),
        ("n use tox instead\n", "Deny", "use tox instead"),
        ("Yes\n", "Allow once", None),
        ("\nwhat\nw\nn\n", "Deny", None),
        ("s\ny\n", "Allow once", None),
        ("q\n", "Stop", None),
        ("y", "Allow once", None),
        ("", None, "nobody is at the terminal"),
        ("x\n", None, "nobody is at the terminal"),
    ],
)
async def test_what_is_typed_is_the_answer(
    typed: str, option: str | None, reason: str | None
) -> None:
    answer, shown = await ask(typed)
    assert (answer.option.title if answer.option else None, answer.reason) == (option, reason)
    assert "? Run `make`?" in shown
    assert ("**make**" in shown) == typed.startswith("s")


async def test_a_question_without_an_allow_can_not_be_allowed() -> None:
    only_deny = Question("?", OPTIONS[:1])
    assert (await ask("y\nn\n", question=only_deny))[0].option == OPTIONS[0]
    assert (await ask("", always="allow", question=only_deny))[0].option is None


async def test_yes_allows_once() -> None:
    answer, shown = await ask("", always="allow", from_pipe=False)
    assert answer.option == OPTIONS[1]
    assert "allowed (--yes)" in shown


async def test_without_a_terminal_nobody_allows() -> None:
    answer, shown = await ask("y\n", from_pipe=False)
    assert answer.option is None
    assert "no terminal" in shown


async def test_lines_of_a_file_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("one\ntwo")
    with (tmp_path / "answers").open() as stream:
        keyboard = Keyboard(stream)
        assert [await keyboard.line() for _ in range(3)] == ["one", "two", None]
