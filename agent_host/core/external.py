"""MCP servers and the tools that they offer, as frozen data.

What a server says of itself is never trusted: names are checked, texts are shown as its own words.
Times are seconds. Not here: how a server is reached (mcp/).
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

START_SECONDS = 30.0
CALL_SECONDS = 120.0

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""Stands for a variable of the host's environment."""


def _no_texts() -> Mapping[str, str]:
    return MappingProxyType(dict[str, str]())


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How an MCP server is reached: `command` is started and spoken to by lines, or `url` by HTTP.

    `inherit` names variables of the host's environment that it may see, `env` are added. In `env`
    and `headers` `${NAME}` stands for a variable of the host's if `root` is None, else it is text.
    `timeout` is without a result or progress; `where` is the file and line that name the server,
    `root` the workspace folder that brings it (None: the user's own).
    """

    name: str
    where: str = "settings"
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=_no_texts, repr=False)
    inherit: tuple[str, ...] = ()
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_no_texts, repr=False)
    timeout: float = CALL_SECONDS
    start_timeout: float = START_SECONDS
    enabled: bool = True
    root: str | None = None

    @property
    def digest(self) -> str:
        """Stands for all that decides which program answers, and with what rights."""
        what = {
            "name": self.name,
            "command": self.command,
            "env": dict(self.env),
            "inherit": self.inherit,
            "cwd": self.cwd,
            "url": self.url,
            "headers": dict(self.headers),
            "root": self.root,
        }
        return digest_of(what)

    @property
    def how(self) -> str:
        """How it is reached, for people: its command line or its address, without secrets."""
        if self.url is None:
            return shlex.join(self.command)
        parts = urlsplit(self.url)
        # A query or a name before the host may be a key.
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def digest_of(value: object) -> str:
    """The SHA-256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


ServerState = Literal["idle", "starting", "ready", "failed", "stopped", "disabled", "ignored"]
"""idle: not needed yet. stopped: it was ready and was ended. ignored: its folder isn't trusted."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is doing. `reason` and `remedy` say why it is failed, disabled or ignored.

    `tools` are names as the server gives them; `notes` say what of it can't be used.
    """

    name: str
    state: ServerState
    how: str
    where: str
    tools: tuple[str, ...] = ()
    reason: str | None = None
    remedy: str | None = None
    notes: tuple[str, ...] = ()
    pid: int | None = None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class ExternalTool:
    """A tool of a server. `shown_as` is its name for models, `parameters` a JSON Schema object.

    `digest` stands for the server's configuration and all that it says of the tool: what was
    allowed holds for that only. `how` is how its server is reached.
    """

    server: str
    name: str
    shown_as: str
    description: str
    parameters: Mapping[str, object]
    digest: str
    how: str

    @property
    def title(self) -> str:
        """Its name for people."""
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that an agent gets, and what it and its people should know of missing ones."""

    tools: tuple[ExternalTool, ...] = ()
    notes: tuple[str, ...] = ()
