"""What a workspace brings in `.agent-host/config.yaml`: rules, which only narrow, and MCP servers.

A file is read again when it has changed; one that can't be read is told with its line, and so is
one that is not used. Not here: what trusts a workspace (workspace.py).
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from agent_host.core.external import ServerConfig
from agent_host.core.model import RoleProblem
from agent_host.core.permission import Rule
from agent_host.fields.reader import Fields, ParseRules, Problem, rules_of
from agent_host.fields.yaml_source import YamlError, read_yaml
from agent_host.permissions.rules import read_rules
from agent_host.permissions.trust import TrustBook
from agent_host.settings.servers import KEY as SERVERS
from agent_host.settings.servers import servers_of

FILE = Path(".agent-host", "config.yaml")
MAX_BYTES = 256 * 1024

NOT_TRUSTED = "The workspace is not trusted yet, so its rules are not used."
NO_SERVERS_YET = "nor are its MCP servers: "
_ONLY = (
    f"A workspace's file holds `rules` and `{SERVERS}` and nothing else; what else it says is not"
    " used."
)
_NO_SERVERS: Mapping[str, ServerConfig] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Brought:
    """What one workspace folder brings."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[RoleProblem, ...] = ()
    servers: Mapping[str, ServerConfig] = field(default_factory=lambda: _NO_SERVERS)


class WorkspaceRules:
    """The files of all folders; `narrow` reads rules and leaves out those that allow."""

    def __init__(self, narrow: ParseRules) -> None:
        self._narrow = narrow
        self._read: dict[str, tuple[object, Brought]] = {}

    def of(self, root: str) -> Brought:
        """What a folder brings, as it is on disk now; used only if the folder is trusted."""
        path = Path(root, FILE)
        try:
            found = path.stat()
        except OSError:
            return Brought()
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        if root not in self._read or self._read[root][0] != state:
            self._read[root] = (state, _read(root, path, self._narrow))
        return self._read[root][1]

    def starts(self, root: str) -> frozenset[str]:
        """The digests of the programs that a folder has started once it is trusted."""
        return frozenset(each.digest for each in self.of(root).servers.values() if each.enabled)

    def unused(self, root: str) -> tuple[RoleProblem, ...]:
        """What a folder that is not trusted would bring."""
        path = Path(root, FILE)
        if not path.exists():
            return ()
        servers = ", ".join(self.of(root).servers)
        also = f" ({NO_SERVERS_YET}{servers})" if servers else ""
        return (_problem(path, 1, f"{NOT_TRUSTED[:-1]}{also}.", "warning"),)

    def names(self, root: str) -> tuple[str, ...]:
        """The file, and each server with its command, as the question for trust has them."""
        if not Path(root, FILE).exists():
            return ()
        servers = self.of(root).servers.values()
        return (str(FILE), *(f"MCP server {each.name}: {each.how}" for each in servers))


def trust_book(state_dir: Path, clock: Callable[[], float]) -> TrustBook:
    """Which folders are trusted, bound to the programs that their files start."""
    brought = WorkspaceRules(partial(read_rules, narrow_only=True))
    return TrustBook(state_dir, clock, brought.starts)


def _read(root: str, path: Path, narrow: ParseRules) -> Brought:
    try:
        if not path.is_file():
            return Brought((), (_problem(path, 1, "It is no regular file."),))
        # Not waiting, should it have become a pipe meanwhile.
        with open(path, "rb", opener=_at_once) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return Brought((), (_problem(path, 1, f"It has more than {MAX_BYTES // 1024} KiB."),))
        source = read_yaml(data.decode("utf-8-sig"))
    except OSError as error:
        return Brought((), (_problem(path, 1, f"It can't be read: {error.strerror}."),))
    except UnicodeDecodeError:
        return Brought((), (_problem(path, 1, "It is not UTF-8."),))
    except YamlError as error:
        return Brought((), (_problem(path, error.line, error.reason),))
    found: list[Problem] = []
    fields = Fields(source, found)
    rules = rules_of(fields, str(path), narrow)
    servers = servers_of(fields, str(path), root=root)
    problems = [
        _problem(
            path,
            each.line or 1,
            each.reason if each.name in ("", "rules") else f"`{each.name}` {each.reason}",
            "warning" if each.warning else "error",
        )
        for each in found
    ]
    others = {
        name: value for name, value in fields.rest().items() if name not in ("rules", SERVERS)
    }
    problems += [
        _problem(path, value.line or 1, f"`{name}`: {_ONLY}", "warning")
        for name, value in others.items()
    ]
    return Brought(rules, tuple(problems), servers)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _problem(path: Path, line: int, reason: str, severity: str = "error") -> RoleProblem:
    kind = "warning" if severity == "warning" else "error"
    return RoleProblem(str(FILE), str(path), line, reason, kind)
