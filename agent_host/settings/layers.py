"""Where settings come from: the file, the environment, what the editor gives.

A layer is decoded JSON or YAML and says where it stands. Not here: what is in it (reading.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agent_host.fields.reader import Located, hint, located
from agent_host.fields.yaml_source import YamlError, read_yaml
from agent_host.settings.model import HOME_VARIABLE, SettingProblem

SECTION = "agentHost"


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings: decoded JSON or YAML, and how to name the source to a person."""

    where: str
    source: Located
    own: bool = True
    """Whether it is the person's own; else it may come with a folder, and only narrows."""


def layers_of(
    file: Path, environ: Mapping[str, str], editor: Iterable[object], problems: list[SettingProblem]
) -> list[Layer]:
    """All layers, the weakest first; what can't be read of them is added to `problems`."""
    layers = [_file_layer(file, problems), _environment(environ, problems)]
    names = (("initializationOptions", True), (f"editor settings `{SECTION}`", False))
    layers += [
        Layer(where, _section(located(data)), own)
        for (where, own), data in zip(names, editor, strict=False)
    ]
    return layers


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
