"""What a person may set, as frozen data, and where the program keeps its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import platformdirs

from agent_host.core.external import ServerConfig
from agent_host.core.model import Effort, Limits, RuntimeOptions
from agent_host.core.permission import Rule

APPLICATION = "agent-host"
HOME_VARIABLE = "AGENT_HOST_HOME"
CONFIG_NAME = "config.yaml"

Trust = Literal["ask", "always", "never"]
Save = Literal["clean", "never"]

NO_TITLES = "none"
"""In place of `title_model`: titles are made of prompts only."""

DEFAULT_LIMITS = Limits(max_turns=100, inactivity_seconds=600.0)

NO_TEXTS: Mapping[str, str] = MappingProxyType({})
NO_RUNTIMES: Mapping[str, RuntimeOptions] = MappingProxyType({})
NO_SERVERS: Mapping[str, ServerConfig] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StateDirs:
    """Where the program keeps its files; none of them need exist yet."""

    config: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / CONFIG_NAME

    @property
    def roles(self) -> Path:
        """The user's own roles."""
        return self.config / "roles"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. `model` None: the first vendor that has a key.

    `env` is added to the environment of commands. `trust` says what an unknown workspace is;
    `save` whether a buffer that was clean is saved after an edit. `store` is where sessions are
    kept (a URL may hold a password), `logs` the folder of the runs' logs: see the two functions
    below. `runtimes` says by name how a runtime that is a program of its own is started,
    `context_windows` how many tokens a model holds of which that is not known. `title_model` makes
    the titles of sessions: None is their own model, `none` is no model. `mcp_servers` are the
    user's own, by name.
    """

    model: str | None = None
    role: str = "coder"
    runtime: str | None = None
    limits: Limits = DEFAULT_LIMITS
    effort: Effort | None = None
    rules: tuple[Rule, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: NO_TEXTS)
    trust: Trust = "ask"
    save: Save = "clean"
    store: str | None = field(default=None, repr=False)
    logs: bool | str = False
    runtimes: Mapping[str, RuntimeOptions] = field(default_factory=lambda: NO_RUNTIMES)
    context_windows: Mapping[str, int] = field(default_factory=dict[str, int])
    title_model: str | None = None
    mcp_servers: Mapping[str, ServerConfig] = field(default_factory=lambda: NO_SERVERS)


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A setting that was left out: its name, where it stands, and what is allowed."""

    name: str
    where: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.where}: " + (f"`{self.name}` {self.reason}" if self.name else self.reason)


def state_dirs(environ: Mapping[str, str]) -> StateDirs:
    """The platform's user directories, or all of them below AGENT_HOST_HOME."""
    home = environ.get(HOME_VARIABLE, "").strip()
    if home:
        base = Path(home).expanduser().absolute()
        return StateDirs(base / "config", base / "state", base / "cache")
    dirs = platformdirs.PlatformDirs(APPLICATION, appauthor=False)
    return StateDirs(dirs.user_config_path, dirs.user_state_path, dirs.user_cache_path)


def session_store(settings: Settings, dirs: StateDirs) -> str | Path:
    """Where sessions are kept: the URL of a database, or an SQLite file."""
    if settings.store is None:
        return dirs.state / "sessions.sqlite"
    return settings.store if "://" in settings.store else Path(settings.store)


def log_folder(settings: Settings, dirs: StateDirs) -> Path | None:
    """Where each run has a log of its own; None: none is wanted."""
    if isinstance(settings.logs, str):
        return Path(settings.logs)
    return dirs.state / "logs" if settings.logs else None
