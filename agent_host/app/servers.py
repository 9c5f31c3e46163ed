"""Which MCP servers there are for a workspace, which of them may be used, and who misnames one.

Nothing of an untrusted folder is started, nor anything in one. Not here: how servers are reached.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_host.core.external import ServerConfig, ServerState, ServerStatus
from agent_host.core.model import Role, RoleProblem
from agent_host.core.permission import Rule
from agent_host.permissions.servers import PREFIX, unknown_names
from agent_host.settings import SettingProblem

TRUST = "trust the workspace: answer the question of an agent, or use `agent-host trust`"


@dataclass(frozen=True, slots=True)
class ServerList:
    """The servers that may be used, and those that are known but are not."""

    usable: tuple[ServerConfig, ...] = ()
    unused: tuple[ServerStatus, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of them."""
        return (*(each.name for each in self.usable), *(each.name for each in self.unused))


@dataclass(frozen=True, slots=True)
class FolderServers:
    """What one workspace folder brings."""

    root: str
    trusted: bool
    servers: Mapping[str, ServerConfig]


def server_list(own: Mapping[str, ServerConfig], folders: Sequence[FolderServers]) -> ServerList:
    """The user's own servers and those of the folders; the first of a name is the one."""
    usable: dict[str, ServerConfig] = {}
    unused: list[ServerStatus] = []
    trusted = bool(folders) and folders[0].trusted
    asked = [(each, trusted) for each in own.values()]
    asked += [(each, of.trusted) for of in folders for each in of.servers.values()]
    for server, may_be in asked:
        if server.name in usable:
            other = usable[server.name].where
            unused.append(_unused(server, "ignored", f"{other} has a server of this name", None))
        elif not server.enabled:
            remedy = "leave out `enabled: false`"
            unused.append(_unused(server, "disabled", "it is switched off", remedy))
        elif not may_be:
            why = "the workspace is not trusted yet" if folders else "no folder is open"
            unused.append(_unused(server, "ignored", why, TRUST if folders else "open a folder"))
        else:
            usable[server.name] = server
    return ServerList(tuple(usable.values()), tuple(unused))


Tools = Mapping[str, Collection[str] | None]
"""The tools of each server by its name; None: they are not known yet."""


def misnamed_in_settings(rules: Iterable[Rule], tools: Tools) -> tuple[SettingProblem, ...]:
    """The user's rules that name a server or a tool that there is not."""
    return tuple(
        SettingProblem("", rule.where, f"`{rule.effect} {rule.action}`: {reason}.")
        for rule, reason in unknown_names(rules, tools)
    )


def misnamed(roles: Iterable[Role], rules: Iterable[Rule], tools: Tools) -> Iterator[RoleProblem]:
    """Roles, and rules of roles or workspaces, that name a server or a tool that there is not."""
    known = ", ".join(sorted(tools)) or "none"
    for role in roles:
        for rule, reason in unknown_names(role.rules, tools):
            yield _problem(role.name, rule, reason)
        for skill in sorted(role.skills):
            server = skill.removeprefix(PREFIX)
            if skill.startswith(PREFIX) and server not in tools:
                reason = f"`{skill}`: there is no MCP server `{server}` (known: {known})."
                line = _line_of(role.source, skill)
                yield RoleProblem(role.name, role.source, line, reason, "warning")
    for rule, reason in unknown_names(rules, tools):
        yield _problem(Path(rule.where).name, rule, reason)


def _unused(
    server: ServerConfig, state: ServerState, reason: str, remedy: str | None
) -> ServerStatus:
    return ServerStatus(server.name, state, server.how, server.where, reason=reason, remedy=remedy)


def _problem(name: str, rule: Rule, reason: str) -> RoleProblem:
    source, _, line = rule.where.rpartition(":")
    said = f"`{rule.effect} {rule.action}`: {reason}."
    number = int(line) if line.isdecimal() else 1
    return RoleProblem(name, source or rule.where, number, said, "warning")


def _line_of(source: str, word: str) -> int:
    """The first line of a file that holds a word."""
    try:
        lines = Path(source).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return 1
    return next((number for number, line in enumerate(lines, 1) if word in line), 1)
