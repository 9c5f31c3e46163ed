"""What is judged (Subject) and by what (Policy), as frozen facts.

Everything that the engine may know is in these two; it looks nothing up. Whoever fills them in
has asked the action server what a path really is and the shell reader what a command is.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, assert_never

from agent_host.core.actions import (
    CallAgent,
    CallExternal,
    CreateDirectory,
    DeletePath,
    EditFile,
    ListDirectory,
    MovePath,
    OpenInEditor,
    PathFacts,
    ReadDiagnostics,
    ReadFile,
    RunCommand,
    SearchFiles,
    SingleAction,
    UseSkill,
    WriteFile,
)
from agent_host.core.model import Role
from agent_host.core.permission import Rule
from agent_host.permissions.programs import is_indirect
from agent_host.permissions.shell import (
    NotPlain,
    Parsed,
    Plain,
    names_in,
    parse,
    read_command,
)

_ATTACHED = re.compile(r"^-[A-Za-z](?=..)")
_JOINED = re.compile(r"[=:@,]")

STRONG_SANDBOXES = frozenset({"bubblewrap", "seatbelt"})


@dataclass(frozen=True, slots=True)
class Subject:
    """One action, with the facts about it.

    `path`: the absolute path as asked; `facts`: what it really is; `outside`: the action server
    said that it leaves the roots (then there are no facts). `command`, `command_text`: a command,
    read and as written; `cwd`: the true path that it runs in; `operands` maps words of it to the
    true paths that they name there (a word that is missing was not looked up), and `folders` are
    the words that name directories. `network`: it wishes for the network. `hidden`: the text to be
    written holds hidden characters. `overwrites_unsaved`: the write replaces text that is not
    saved in the editor. `uri`: what it is about, where that is no file; `opened`: the editor has
    it open. `external`: a tool of an MCP server, `<server>/<tool>`, and then `command_text` are its
    arguments, `content` stands for the server's configuration and all that it says of the tool,
    which is `said`, and `provider` is how the server is reached. `called`: the role of an agent
    that is called, and then `command_text` is what it is told. `moved_to`: the true path that it is
    moved to. `by_runtime`: a runtime does it by its own means, so that a search leaves no file out
    and a command has no sandbox.
    """

    action: str
    path: str | None = None
    facts: PathFacts | None = None
    outside: bool = False
    command: Parsed | None = None
    command_text: str | None = None
    cwd: str | None = None
    operands: Mapping[str, str] = field(default_factory=dict[str, str])
    folders: frozenset[str] = frozenset()
    network: bool = False
    hidden: bool = False
    overwrites_unsaved: bool = False
    uri: str | None = None
    opened: bool = False
    external: str | None = None
    called: str | None = None
    moved_to: str | None = None
    content: str | None = None
    provider: str | None = None
    said: str | None = None
    by_runtime: bool = False

    @property
    def true_path(self) -> str | None:
        """What the path really is, or the path as asked where nothing is known of it."""
        return self.facts.true_path if self.facts else self.path


@dataclass(frozen=True, slots=True)
class GrantKey:
    """What exactly was allowed. `target`: a true path, a directory with its end `/` (and all
    below it), a rebuilt command line, or `<server>/<tool>`; `cwd` and `sandbox` of commands only,
    `content` of tools of MCP servers: what is run, and what was said of the tool.
    """

    action: str
    target: str
    role_sha256: str
    cwd: str | None = None
    sandbox: str | None = None
    content: str | None = None


Scope = Literal["session", "workspace"]


@dataclass(frozen=True, slots=True)
class Grant:
    """An answer that lasts. Times in seconds since the epoch; `expires` None: with the session."""

    id: str
    key: GrantKey
    scope: Scope
    role: str
    created: float
    expires: float | None = None


class GrantView(Protocol):
    """The grants that hold right now."""

    def find(self, key: GrantKey) -> Grant | None:
        """The grant that covers the key."""
        ...


class NoGrants:
    """A view of nothing."""

    def find(self, key: GrantKey) -> Grant | None:
        """None."""
        del key


@dataclass(frozen=True, slots=True)
class Policy:
    """By what an action is judged.

    `roots`: the workspace roots as true paths. `own`: the host's roles, settings, installation;
    `state`: its grants, trust, sessions and logs. `role_may_allow`: the role file is the user's
    own, so that its allow rules count. `workspace_rules` may only narrow. `secrets_masked`: the
    sandbox hides secret-looking files from commands. `shell_auto_allow`: commands of the safe
    table run without a question.
    """

    role: Role
    roots: tuple[str, ...]
    trusted: bool = False
    user_rules: tuple[Rule, ...] = ()
    workspace_rules: tuple[Rule, ...] = ()
    role_may_allow: bool = False
    grants: GrantView = field(default_factory=NoGrants)
    sandbox: str = "none"
    sandbox_required: bool = False
    outside_read: Literal["deny", "ask"] = "deny"
    shell_auto_allow: bool = False
    secrets_masked: bool = False
    own: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    home: str | None = None

    @property
    def confined(self) -> bool:
        """Whether commands run in a sandbox that is one."""
        return self.sandbox in STRONG_SANDBOXES


def action_name(action: SingleAction) -> str:  # noqa: C901, PLR0911, PLR0912
    """The name by which rules, roles and people call an action."""
    match action:
        case ReadFile() | ReadDiagnostics():
            return "fs.read"
        case ListDirectory():
            return "fs.list"
        case SearchFiles():
            return "fs.search"
        case WriteFile() | EditFile():
            return "fs.write"
        case CreateDirectory():
            return "fs.createDirectory"
        case DeletePath() | MovePath():
            return "fs.delete"
        case RunCommand():
            return "terminal.run"
        case OpenInEditor():
            return "editor.open"
        case UseSkill():
            return "skill.use"
        case CallAgent():
            return "agent.call"
        case CallExternal(tool):
            return f"mcp:{tool.server}/{tool.name}"
        case _:
            assert_never(action)


def command_subject(
    action: RunCommand,
    *,
    cwd: str,
    operands: Mapping[str, str] | None = None,
    folders: frozenset[str] = frozenset(),
) -> Subject:
    """The subject of a command; `cwd` is the true path of its directory. Never raises."""
    return Subject(
        "terminal.run",
        command=read_command(action.command, parse),
        command_text=action.command,
        cwd=cwd,
        operands=operands or {},
        folders=folders,
        network=action.network,
    )


def sandbox_of(subject: Subject, policy: Policy) -> str:
    """What confines the command: ours has no hold of what a runtime runs itself."""
    return "none" if subject.by_runtime else policy.sandbox


def command_key(subject: Subject, policy: Policy, script: str | None = None) -> GrantKey | None:
    """The key under which a command, or a part of it, is remembered; None if it never is."""
    if not isinstance(subject.command, Plain) or subject.cwd is None:
        return None
    return GrantKey(
        "terminal.run",
        script or subject.command.script,
        policy.role.sha256,
        subject.cwd,
        sandbox_of(subject, policy),
    )


def command_words(command: Plain | NotPlain) -> tuple[str, ...]:
    """The words of a command that may name files: all but the programs, and what is in a word.

    As in `--file=x`, `-fx`, `-d@x`, `HEAD:x`, and in the text that a shell or an interpreter runs.
    """
    parts = command.parts if isinstance(command, Plain) else command.seen
    found: dict[str, None] = {}
    for part in parts:
        runs = is_indirect(part)
        for word in part[1:]:
            found.update(dict.fromkeys(_names_in_word(word)))
            found.update(dict.fromkeys(names_in(word) if runs else ()))
    if isinstance(command, NotPlain):
        found.update(dict.fromkeys(command.names))
    return tuple(word for word in found if word and not word.startswith("-"))


def _names_in_word(word: str) -> Iterator[str]:
    yield word
    value = _ATTACHED.sub("", word)
    yield value
    yield word.split("=", 1)[-1]
    yield from _JOINED.split(value)
