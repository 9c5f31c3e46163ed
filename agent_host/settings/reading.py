"""Reads the layers of settings into one: each on top of those below.

A wrong key or value is reported and left out; the rest counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

from agent_host.core.model import JsonObject, Limits, RuntimeOptions
from agent_host.credentials import VENDORS
from agent_host.fields.reader import Fields, ParseRules, Problem, effort_of, limits_of, rules_of
from agent_host.settings.layers import SECTION, Layer, layers_of
from agent_host.settings.model import (
    NO_TEXTS,
    NO_TITLES,
    Save,
    SettingProblem,
    Settings,
    Trust,
    state_dirs,
)
from agent_host.settings.narrowing import narrowed
from agent_host.settings.servers import servers_of
from agent_host.settings.values import environment_of, words_of

KEYS = "keys"

_TRUST: tuple[Trust, ...] = ("ask", "always", "never")
_SAVE: tuple[Save, ...] = ("clean", "never")
_DATABASES = ("postgresql://", "postgres://")
_TOOLS = ("gated", "native")


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
    settings = Settings()
    for layer in layers_of(state_dirs(environ).config_file, environ, editor, problems):
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
        return NO_TEXTS, options
    given = cast("JsonObject", options[KEYS])
    names = {vendor.name for vendor in VENDORS}
    found = {name: key for name, key in given.items() if name in names and isinstance(key, str)}
    odd = {name: None for name in given if name not in found}
    rest = {name: value for name, value in options.items() if name != KEYS}
    return found, rest | ({KEYS: odd} if odd else {})


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
        env=MappingProxyType({**below.env, **environment_of(source.mapping("env"))}),
        trust=_trust(source) or below.trust,
        save=cast("Save | None", source.choice("save", _SAVE)) or below.save,
        store=_store(source) or below.store,
        logs=below.logs if (logs := _logs(source)) is None else logs,
        runtimes=_runtimes(source) or below.runtimes,
        title_model=_model(source, "titleModel", NO_TITLES) or below.title_model,
        mcp_servers=MappingProxyType({**below.mcp_servers, **servers_of(source, layer.where)}),
        context_windows={**below.context_windows, **source.wholes("contextWindows", 1)},
    )
    for name in source.mapping(KEYS).rest():
        source.report(KEYS, _no_key_here(name))
    source.finish()
    over = over if over.model else replace(over, model=below.model)
    if not layer.own:
        over = narrowed(below, over, source.report)
    for problem in found:
        where = f"{layer.where}:{problem.line}" if problem.line else layer.where
        problems.append(SettingProblem(problem.name, where, problem.reason))
    return over


def _model(source: Fields, key: str = "model", *words: str) -> str | None:
    model = source.text(key)
    if model is not None and model not in words and not all(model.partition("/")):
        return source.report(key, "must be `vendor/name`, such as `openai/...`.")
    return model


def _runtimes(source: Fields) -> Mapping[str, RuntimeOptions]:
    block = source.mapping("runtimes")
    return MappingProxyType({name: _options(block.mapping(name)) for name in block.rest()})


def _options(source: Fields) -> RuntimeOptions:
    options = RuntimeOptions(
        command=words_of(source, "command"),
        args=words_of(source, "args"),
        env=MappingProxyType(environment_of(source.mapping("env"))),
        inherit=words_of(source, "inherit"),
        tools=cast("Literal['gated', 'native'] | None", source.choice("tools", _TOOLS)) or "gated",
        pty=source.flag("pty") or False,
    )
    source.finish()
    return options


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


def _store(source: Fields) -> str | None:
    given = source.text("store")
    if given is None:
        return None
    if given.startswith(_DATABASES):
        return given
    path = Path(given).expanduser()
    if "://" not in given and path.is_absolute():
        return str(path)
    return source.report("store", "must be `postgresql://...` or the full path of a file.")


def _logs(source: Fields) -> bool | str | None:
    found = source.get("logs")
    if found is None:
        return None
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
