"""What a person may set, in layers, as frozen data: defaults, file, environment, editor.

A wrong key or value is reported and left out; the rest counts. Not here: where keys of
vendors come from (credentials.py), what a role or a request says (both come after these settings).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

import platformdirs

from agent_host.core.model import Effort, JsonObject, Limits, RuntimeOptions
from agent_host.core.permission import Rule
from agent_host.credentials import VENDORS
from agent_host.fields.reader import (
    Fields,
    Located,
    ParseRules,
    Problem,
    effort_of,
    hint,
    limits_of,
    located,
    rules_of,
)
from agent_host.fields.yaml_source import YamlError, read_yaml

APPLICATION = "agent-host"
SECTION = "agentHost"
HOME_VARIABLE = "AGENT_HOST_HOME"
CONFIG_NAME = "config.yaml"
KEYS = "keys"

Trust = Literal["ask", "always", "never"]
Save = Literal["clean", "never"]

DEFAULT_LIMITS = Limits(max_turns=100, inactivity_seconds=600.0)

_TRUST: tuple[Trust, ...] = ("ask", "always", "never")
_SAVE: tuple[Save, ...] = ("clean", "never")
_DATABASES = ("postgresql://", "postgres://")
_NOT_HERE = (
    f"counts in {CONFIG_NAME}, the environment and initializationOptions only: what an editor "
    "tells may come with a folder."
)
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})
_NO_RUNTIMES: Mapping[str, RuntimeOptions] = MappingProxyType({})
_TOOLS = ("gated", "native")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    the titles of sessions: None is their own model, `none` is no model.
    """

    model: str | None = None
    role: str = "coder"
    runtime: str | None = None
    limits: Limits = DEFAULT_LIMITS
    effort: Effort | None = None
    rules: tuple[Rule, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)
    trust: Trust = "ask"
    save: Save = "clean"
    store: str | None = field(default=None, repr=False)
    logs: bool | str = False
    runtimes: Mapping[str, RuntimeOptions] = field(default_factory=lambda: _NO_RUNTIMES)
    context_windows: Mapping[str, int] = field(default_factory=dict[str, int])
    title_model: str | None = None


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A setting that was left out: its name, where it stands, and what is allowed."""

    name: str
    where: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.where}: " + (f"`{self.name}` {self.reason}" if self.name else self.reason)


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings: decoded JSON or YAML, and how to name the source to a person."""

    where: str
    source: Located
    may_place: bool = True
    """Whether it may say where sessions go: an editor's settings may come with a folder."""


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


def load_settings(
    environ: Mapping[str, str],
    editor: Iterable[object] = (),
    parse_rules: ParseRules | None = None,
) -> tuple[Settings, tuple[SettingProblem, ...]]:
    """Read all layers; later ones win.

    `editor` holds what the editor gave, as decoded JSON: first `initializationOptions`, then the
    newest answer to `workspace/configuration`.
    """
    problems: list[SettingProblem] = []
    file = state_dirs(environ).config_file
    layers = [_file_layer(file, problems), _environment(environ, problems)]
    names = (("initializationOptions", True), (f"editor settings `{SECTION}`", False))
    layers += [
        Layer(where, _section(located(data)), may_place)
        for (where, may_place), data in zip(names, editor, strict=False)
    ]
    settings = Settings()
    for layer in layers:
        settings = _apply(settings, layer, problems, parse_rules)
    return settings, tuple(problems)


def split_keys(options: JsonObject) -> tuple[Mapping[str, str], JsonObject]:
    """Take the vendors' keys out of `initializationOptions`: by vendor, and what is left.

    They are `keys: {vendor: text}`. What is no vendor or no text is left, without its value, so
    that it is reported with the other settings.
    """
    section = options.get(SECTION)
    if len(options) == 1 and isinstance(section, Mapping):
        keys, inner = split_keys(cast("JsonObject", section))
        return keys, {SECTION: inner}
    if not isinstance(options.get(KEYS), Mapping):
        return _NO_TEXTS, options
    given = cast("JsonObject", options[KEYS])
    names = {vendor.name for vendor in VENDORS}
    found = {name: key for name, key in given.items() if name in names and isinstance(key, str)}
    odd = {name: None for name in given if name not in found}
    rest = {name: value for name, value in options.items() if name != KEYS}
    return found, rest | ({KEYS: odd} if odd else {})


# ---- the layers


def _file_layer(path: Path, problems: list[SettingProblem]) -> Layer:
    where = path.name
    try:
        return Layer(where, read_yaml(path.read_text("utf-8-sig")))
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        problems.append(SettingProblem("", where, "The file is not UTF-8."))
    except OSError as error:
        problems.append(SettingProblem("", where, f"It can't be read: {error.strerror}."))
    except YamlError as error:
        problems.append(SettingProblem("", f"{where}:{error.line}", error.reason))
    return Layer(where, Located(None))


VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "AGENT_HOST_MODEL": ("model",),
        "AGENT_HOST_TITLE_MODEL": ("titleModel",),
        "AGENT_HOST_ROLE": ("role",),
        "AGENT_HOST_RUNTIME": ("runtime",),
        "AGENT_HOST_EFFORT": ("effort",),
        "AGENT_HOST_TRUST": ("trust",),
        "AGENT_HOST_SAVE": ("save",),
        "AGENT_HOST_STORE": ("store",),
        "AGENT_HOST_LOGS": ("logs",),
        "AGENT_HOST_MAX_TURNS": ("limits", "maxTurns"),
        "AGENT_HOST_MAX_COST_USD": ("limits", "maxCostUsd"),
        "AGENT_HOST_WALL_SECONDS": ("limits", "wallSeconds"),
        "AGENT_HOST_INACTIVITY_SECONDS": ("limits", "inactivitySeconds"),
    }
)


def _environment(environ: Mapping[str, str], problems: list[SettingProblem]) -> Layer:
    data: dict[str, object] = {}
    limits: dict[str, object] = {}
    for variable, path in VARIABLES.items():
        value = environ.get(variable, "").strip()
        if value and path[0] == "limits":
            limits[path[1]] = _number(value)
        elif value:
            data[path[0]] = value
    if limits:
        data["limits"] = limits
    known = (*VARIABLES, HOME_VARIABLE)
    for variable in environ:
        # Other programs may own names that begin alike; only a near miss is worth a word.
        near = hint(variable, known, cutoff=0.9) if variable.startswith("AGENT_HOST_") else ""
        if variable not in known and near.startswith(" Did"):
            problems.append(SettingProblem(variable, "environment", f"is no known variable.{near}"))
    return Layer("environment", located(data))


def _number(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _section(source: Located) -> Located:
    """Editors give the section itself, or an object that holds nothing but the section."""
    inner = source.fields or {}
    return inner[SECTION] if set(inner) == {SECTION} else source


# ---- one layer on top of the others


def _apply(
    below: Settings, layer: Layer, problems: list[SettingProblem], parse_rules: ParseRules | None
) -> Settings:
    found: list[Problem] = []
    source = Fields(layer.source, found)
    over = Settings(
        model=_model(source),
        role=source.text("role") or below.role,
        runtime=source.text("runtime") or below.runtime,
        limits=_limits_over(below.limits, limits_of(source.mapping("limits"))),
        effort=effort_of(source) or below.effort,
        rules=(*below.rules, *rules_of(source, layer.where, parse_rules)),
        env=MappingProxyType({**below.env, **_env(source.mapping("env"))}),
        trust=_trust(source) or below.trust,
        save=cast("Save | None", source.choice("save", _SAVE)) or below.save,
        store=_store(source, layer) or below.store,
        logs=below.logs if (logs := _logs(source, layer)) is None else logs,
        runtimes=_runtimes(source, layer) or below.runtimes,
        title_model=_model(source, "titleModel", "none") or below.title_model,
        context_windows={**below.context_windows, **source.wholes("contextWindows", 1)},
    )
    for name in source.mapping(KEYS).rest():
        source.report(KEYS, _no_key_here(name))
    source.finish()
    for problem in found:
        where = f"{layer.where}:{problem.line}" if problem.line else layer.where
        problems.append(SettingProblem(problem.name, where, problem.reason))
    return over if over.model else replace(over, model=below.model)


def _model(source: Fields, key: str = "model", *words: str) -> str | None:
    model = source.text(key)
    if model is not None and model not in words and not all(model.partition("/")):
        return source.report(key, "must be `vendor/name`, such as `openai/...`.")
    return model


def _runtimes(source: Fields, layer: Layer) -> Mapping[str, RuntimeOptions]:
    block = source.mapping("runtimes")
    if not layer.may_place and block.rest():
        source.report("runtimes", _NOT_HERE)
        return _NO_RUNTIMES
    return MappingProxyType({name: _options(block.mapping(name)) for name in block.rest()})


def _options(source: Fields) -> RuntimeOptions:
    options = RuntimeOptions(
        command=_words(source, "command"),
        args=_words(source, "args"),
        env=MappingProxyType(_env(source.mapping("env"))),
        inherit=_words(source, "inherit"),
        tools=cast("Literal['gated', 'native'] | None", source.choice("tools", _TOOLS)) or "gated",
        pty=source.flag("pty") or False,
    )
    source.finish()
    return options


def _words(source: Fields, key: str) -> tuple[str, ...]:
    """A list of texts; a single text is a list of one."""
    given = source.get(key)
    if given is not None and isinstance(given.value, str):
        return (given.value,)
    return tuple(str(word.value) for word in source.texts(key))


def _no_key_here(name: str) -> str:
    known = ", ".join(vendor.name for vendor in VENDORS)
    return (
        f"holds {name!r}, which is not used: a vendor's key comes from the environment, from "
        "`agent-host auth set` or from the editor's secret store by `initializationOptions`, as "
        f"text, for one of {known}."
    )


def _trust(source: Fields) -> Trust | None:
    given = source.get("trust")
    if given is not None and isinstance(given.value, bool):
        return "always" if given.value else "never"
    return cast("Trust | None", source.choice("trust", _TRUST))


def _store(source: Fields, layer: Layer) -> str | None:
    given = source.text("store")
    if given is None or not layer.may_place:
        return None if given is None else source.report("store", _NOT_HERE)
    if given.startswith(_DATABASES):
        return given
    path = Path(given).expanduser()
    if "://" not in given and path.is_absolute():
        return str(path)
    return source.report("store", "must be `postgresql://...` or the full path of a file.")


def _logs(source: Fields, layer: Layer) -> bool | str | None:
    found = source.get("logs")
    if found is None or not layer.may_place:
        return None if found is None else source.report("logs", _NOT_HERE)
    given = found.value
    if isinstance(given, str):
        path = Path(given).expanduser()
        given = {"true": True, "false": False}.get(given.strip(), str(path))
        given = given if isinstance(given, bool) or path.is_absolute() else None
    if isinstance(given, bool | str):
        return given
    return source.report("logs", "must be true, false or the full path of a folder.")


def _limits_over(below: Limits, over: Limits) -> Limits:
    given = {each.name: getattr(over, each.name) for each in fields(over)}
    return replace(below, **{name: value for name, value in given.items() if value is not None})


def _env(source: Fields) -> dict[str, str]:
    env: dict[str, str] = {}
    for name, value in source.rest().items():
        text = value.value
        if not _VARIABLE_NAME.fullmatch(name):
            source.report(name, "can't be the name of a variable.")
        elif isinstance(text, str) and "\0" not in text:
            env[name] = text
        else:
            source.report(name, "must be text (put it in quotes).")
    return env
