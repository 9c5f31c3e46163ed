"""Every point at which a judgement or a question can break ends in a denial, and nothing is done.

The points are found, not only listed: a step of the engine that no fault has reached, or a member
of a port that is in neither table, fails a test here.
"""

import ast
import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import NoReturn, Protocol

import pytest

from agent_host.core.actions import PathFacts, RunCommand
from agent_host.core.errors import AgentHostError
from agent_host.core.model import Role, ToolCall
from agent_host.core.permission import Answer, Option, Question, Rule
from agent_host.core.ports import Actions, Editor
from agent_host.core.records import SessionStore
from agent_host.permissions import commands, engine
from agent_host.permissions.rules import read_rules
from agent_host.permissions.subject import Policy, Subject, command_subject
from agent_host.settings import Settings
from tests.fakes import FakeActions, FakeEditor, answering
from tests.session.stage import Stage, asked, stage, tool

# ---- the engine: a fault at the first, second, third ... use of whatever it is given


class Fault(Exception):
    pass


@dataclass
class Fuse:
    """Lets so many uses pass; the next one raises."""

    left: int

    def use(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Fault


class Fragile:
    """Looks like a value, all that it holds included; each look burns on the fuse."""

    def __init__(self, value: object, fuse: Fuse) -> None:
        object.__setattr__(self, "_inside", (value, fuse))

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(object.__getattribute__(self, "_inside")[0])

    def __getattribute__(self, name: str) -> object:
        value, fuse = object.__getattribute__(self, "_inside")
        if name == "__class__":
            return type(value)
        fuse.use()
        return fragile(getattr(value, name), fuse)


def fragile(value: object, fuse: Fuse) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return Fragile(value, fuse)
    if isinstance(value, tuple):
        return tuple(fragile(each, fuse) for each in value)
    return value


def rules(*items: str) -> tuple[Rule, ...]:
    return read_rules(list(items), "config.yaml", lines=range(1, 9)).rules


POLICY = Policy(
    Role(
        "coder", "", "", "/r/coder.md", "0", skills=frozenset({"fs.read", "fs.write", "terminal"})
    ),
    ("/w",),
    trusted=True,
    user_rules=rules("deny fs.delete", "ask fs.write x/**", "allow fs.write", "allow terminal.run"),
    sandbox="bubblewrap",
    shell_auto_allow=True,
    home="/home/u",
)


def file(action: str, path: str) -> Subject:
    return Subject(action, path, PathFacts(path, path, "file", sha256="0"))


def command(text: str, *, network: bool = False) -> Subject:
    return command_subject(RunCommand(text, "/w", network=network), cwd="/w")


SUBJECTS = (
    file("fs.read", "/w/a"),
    file("fs.read", "/w/.env"),
    file("fs.write", "/w/a"),
    file("fs.write", "/w/.git/config"),
    Subject("skill.use", uri="the skill x"),
    command("ls a"),
    command("make it | tee b"),
    command("echo $(id)"),
    command("curl x", network=True),
)


def steps() -> set[str]:
    """The names of all steps, as the two judges of files and of commands go through them."""
    found: set[str] = set()
    for judge in (engine.decide, commands.judge_command):
        for node in ast.walk(ast.parse(inspect.getsource(judge))):
            if isinstance(node, ast.Tuple):
                found |= {each.id for each in node.elts if isinstance(each, ast.Name)}
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
                found |= {node.value.func.id} if isinstance(node.value.func, ast.Name) else set()
    return {name for name in found if name.startswith("_")}


def reached(subject: Subject, policy: Policy, number: int) -> set[str] | None:
    """The functions in which the use of that number raised; None: there are not so many."""
    fuse = Fuse(number)
    try:
        engine.decide(fragile(subject, fuse), fragile(policy, fuse))  # type: ignore[arg-type]
    except Fault as fault:
        return {frame.name for frame in traceback.extract_tb(fault.__traceback__)}
    return None


def test_a_fault_at_any_use_of_any_fact_or_rule_denies() -> None:
    seen: set[str] = set()
    for subject in SUBJECTS:
        for policy in (POLICY, replace(POLICY, user_rules=())):
            number = 0
            while (frames := reached(subject, policy, number)) is not None:
                seen |= frames
                fuse = Fuse(number)
                decision = engine.judge(
                    fragile(subject, fuse),  # type: ignore[arg-type]
                    fragile(policy, fuse),  # type: ignore[arg-type]
                )
                assert (decision.verdict, decision.source) == ("deny", "engine"), (subject, number)
                assert decision.remember == ()
                number += 1
            assert number > 3
    assert steps() - seen == set()


def test_the_steps_are_found() -> None:
    assert {"_input", "_hard", "_trust", "_granted", "_default", "_plain", "_covered"} <= steps()


# ---- the ports: each member is on the way to a decision, or behind it

WRITE = tool("fs_write", path="a.txt", text="new\n")
COMMAND = tool("terminal_run", command="make it")
DELETE = tool("fs_delete", path="a.txt")
CALLS = (WRITE, COMMAND, DELETE)

BEFORE: dict[type, frozenset[str]] = {
    Editor: frozenset({"can_ask", "document", "previews", "ask", "send", "begin_progress"}),
    Actions: frozenset({"inspect"}),
    SessionStore: frozenset(
        {
            *("is_stored", "open_session", "update_session", "start_run", "append", "flush"),
            *("ask", "settle", "record_edit"),
        }
    ),
}
"""A fault here comes before anything was decided: none of the calls may be carried out."""

NOT_ON_THE_WAY = {
    (f"Editor.{name}", call)
    for name in ("document", "previews")
    for call in ("terminal_run", "fs_delete")
} | {("SessionStore.record_edit", "terminal_run")}
"""What is not looked at for such a call."""

BEHIND: dict[type, frozenset[str]] = {
    Editor: frozenset(
        {
            *("apply", "show", "show_text", "moves", "move", "save", "diagnostics", "documents"),
            *("files_changed", "backlog", "on_drained", "report_progress", "end_progress"),
        }
    ),
    Actions: frozenset(
        {
            *("read", "list", "search", "write", "create_directory", "delete", "restore", "move"),
            *("run", "set_roots", "close"),
        }
    ),
    SessionStore: frozenset(
        {
            *("remember", "grant", "update_edit", "end_run", "release", "contents", "edits"),
            # Of what was before, and of what others do with it.
            *("opened", "session", "sessions", "run", "runs", "load", "place", "history"),
            *("questions", "grants", "rename", "delete", "fork", "export", "import_session"),
            *("acquire", "renew", "watch", "close"),
        }
    ),
}
"""Acting itself, or telling: reached only by what was allowed, or by no call at all."""


def members(port: type) -> set[str]:
    return {name for name in vars(port) if not name.startswith("_")}


@pytest.mark.parametrize("port", [Editor, Actions, SessionStore])
def test_every_member_of_a_port_is_in_one_of_the_tables(port: type) -> None:
    assert issubclass(port, Protocol)  # type: ignore[arg-type]
    assert BEFORE[port] | BEHIND[port] == members(port)
    assert not BEFORE[port] & BEHIND[port]


def breaks(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("a bug")


class CannotSay(FakeEditor):
    """An editor of which it can't be told whether it asks."""

    can_ask = property(breaks, lambda _self, _value: None)  # type: ignore[assignment]


class CannotShow(FakeEditor):
    """An editor with an open file, of which it can't be told whether it previews edits."""

    previews = property(breaks, lambda _self, _value: None)  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.open("/w/a.txt", "old\n")


NOT_BEGUN = frozenset(
    {
        *("Editor.send", "Editor.begin_progress"),
        *(
            f"SessionStore.{name}"
            for name in (
                *("is_stored", "open_session", "update_session"),
                *("start_run", "append", "flush"),
            )
        ),
    }
)
"""What can't be told, or kept, is not begun at all: the run itself fails."""

PROPERTIES = {"Editor.can_ask": CannotSay, "Editor.previews": CannotShow}


async def nothing_done(host: Stage, call: ToolCall) -> str:
    """Have a model make the call; returns how it ended."""
    host.actions.files["/w/a.txt"] = b"old\n"
    _, statuses = await host.run(call)
    assert host.actions.files == {"/w/a.txt": b"old\n"}
    assert host.actions.commands == []
    assert host.actions.trash == {}
    assert all(each.text == "old\n" for each in host.editor.documents())
    return " ".join(statuses)


def points() -> Iterator[str]:
    for port, names in BEFORE.items():
        yield from (f"{port.__name__}.{name}" for name in sorted(names))
    yield from ("grants.view", "trust.trusted", "rules", "policy")


def break_at(host: Stage, point: str) -> None:
    owner, _, name = point.partition(".")
    match owner:
        case "rules":
            host.settings = Settings(model="scripted/x", rules=(object(),))  # type: ignore[arg-type]
        case "policy":
            host.settings = Settings(model="scripted/x", rules=None)  # type: ignore[arg-type]
        case "trust":
            host.trusted = False
            setattr(host.trust, name, breaks)
        case _:
            if point == "SessionStore.flush":
                host.editor.choose = never  # the question must not even be put
            owners = {"Editor": host.editor, "Actions": host.actions, "SessionStore": host.store}
            setattr(owners.get(owner) or getattr(host, owner), name, breaks)


@pytest.mark.parametrize(
    ("point", "call"),
    [
        (point, call)
        for point in points()
        for call in CALLS
        if (point, call.name) not in NOT_ON_THE_WAY
    ],
)
async def test_a_fault_before_the_decision_lets_nothing_through(
    tmp_path: Path, point: str, call: ToolCall
) -> None:
    editor = PROPERTIES.get(point, FakeEditor)()
    if point in NOT_BEGUN:
        async with asyncio.TaskGroup() as tasks:
            host = Stage(tasks, tmp_path, editor=editor)
            break_at(host, point)
            with pytest.raises(RuntimeError):
                await host.run(call)
            assert host.actions.commands == []
            await host.manager.close()
        return
    async with stage(tmp_path, editor=editor) as host:
        if point not in PROPERTIES:
            break_at(host, point)
        assert await nothing_done(host, call) in ("denied", "failed", "")


# ---- the channel to the person

OTHER = Option("allowOnce", "Allow once", "allowOnce")


async def never(question: Question) -> Answer:
    del question
    await asyncio.Event().wait()
    raise AssertionError


def closed(question: Question) -> Answer:
    raise AgentHostError(f"the editor is gone: {question.call_id}")


def lost(question: Question) -> Answer:
    raise ConnectionResetError(question.call_id)


CHANNEL: dict[str, Callable[[Question], Answer | Awaitable[Answer]]] = {
    "closed": closed,
    "lost": lost,
    "null": lambda _: Answer(None),
    "dismissed": lambda _: Answer(None, "dismissed"),
    "unknown kind": lambda _: Answer(replace(OTHER, kind="yes")),  # type: ignore[arg-type]
    "nonsense": lambda _: None,  # type: ignore[dict-item, return-value]
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
@pytest.mark.parametrize("way", CHANNEL)
async def test_a_channel_that_breaks_is_no_yes(tmp_path: Path, way: str, call: ToolCall) -> None:
    async with stage(tmp_path) as host:
        host.editor.choose = CHANNEL[way]
        assert await nothing_done(host, call) == "denied"
        assert len(host.editor.questions) == 1


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
@pytest.mark.parametrize("late", [False, True])
async def test_no_answer_or_a_late_one_is_no_yes(
    tmp_path: Path, call: ToolCall, *, late: bool
) -> None:
    async with stage(tmp_path) as host:
        answered: list[str] = []
        asking = asyncio.Event()

        async def slow(question: Question) -> Answer:
            asking.set()
            try:
                return await never(question)
            except asyncio.CancelledError:
                if not late:
                    raise
                answered.append("too late")
                return Answer(question.options[1])

        host.actions.files["/w/a.txt"] = b"old\n"
        host.editor.choose = slow
        host.plays(answering("Done.", call)[0])
        run = host.tasks.create_task(host.manager.run(asked()))
        await asking.wait()
        await host.manager.stop(run_id=None, session_id=None)
        assert (await run).status == "stopped"
        assert answered == (["too late"] if late else [])
        assert host.actions.files == {"/w/a.txt": b"old\n"}
        assert host.actions.commands == []


# ---- the probe


@pytest.mark.parametrize("sandbox", ["none", "landlock-only", "unknown", "", "bwrap", "Bubblewrap"])
@pytest.mark.parametrize("text", ["ls a", "make it"])
def test_a_sandbox_that_was_not_found_lets_nothing_run_unasked(sandbox: str, text: str) -> None:
    decision = engine.judge(command(text), replace(POLICY, sandbox=sandbox))
    assert decision.verdict == "ask"


async def test_a_sandbox_that_can_t_be_told_is_none(tmp_path: Path) -> None:
    class NoStatus(FakeActions):
        async def inspect(self, path: str) -> PathFacts:
            raise RuntimeError("the probe died")

    async with stage(tmp_path, actions=NoStatus()) as host:
        assert await nothing_done(host, COMMAND) == "denied"
