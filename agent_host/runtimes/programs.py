"""Finds the program of a runtime, and says what was searched when there is none.

Looks beyond PATH, because an editor that was started from a desktop has a shorter one than a
shell. Paths are shown with `~` for the home folder.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_host.core.errors import RuntimeFailed, RuntimeMissing

USUAL_FOLDERS = (
    "~/.local/bin",
    "~/.npm-global/bin",
    "~/.bun/bin",
    "~/.volta/bin",
    "~/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A runtime's program: how people call it, its default argv, where else it may be."""

    runtime: str
    command: tuple[str, ...]
    remedy: str
    places: tuple[str, ...] = ()


def find_program(
    wanted: Wanted, configured: Sequence[str], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The argv to start it with; `configured` takes the place of the default one.

    Raises RuntimeMissing with what was searched.
    """
    command = tuple(configured) or wanted.command
    home = environment.get("HOME", "")
    name = _expanded(command[0], home)
    if os.sep in name:
        if found := shutil.which(name):
            return (found, *command[1:])
        raise RuntimeMissing(
            f"The runtime `{wanted.runtime}` can't be used: {shown(name, home)} is no program. "
            f"Correct `runtimes.{wanted.runtime}.command` in the settings."
        )
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    folders += [_expanded(place, home) for place in (*wanted.places, *USUAL_FOLDERS)]
    folders = [each for each in dict.fromkeys(folders) if os.path.isabs(each)]  # noqa: PTH117
    if found := shutil.which(name, path=os.pathsep.join(folders)):
        return (found, *command[1:])
    searched = ", ".join(shown(folder, home) for folder in folders)
    raise RuntimeMissing(
        f"The runtime `{wanted.runtime}` needs the program `{name}`, which is not there. "
        f"{wanted.remedy} Searched: {searched}.",
        searched=[shown(folder, home) for folder in folders],
    )


def not_started(name: str, cwd: str, home: str, error: OSError) -> RuntimeFailed:
    """A program that is there could not be started."""
    if not os.path.isdir(cwd):  # noqa: PTH112 - a text that may be no path at all
        gone = f"The folder {shown(cwd, home)} is not there: open another one."
        return RuntimeFailed(f"{name} can't be started. {gone}")
    return RuntimeFailed(f"{name} can't be started: {error.strerror or error}.")


def shown(path: str, home: str) -> str:
    """A path for people, without the home folder's own."""
    inside = bool(home) and (path == home or path.startswith(home + os.sep))
    return "~" + path[len(home) :] if inside else path


def _expanded(path: str, home: str) -> str:
    return str(Path(home, path[2:])) if path.startswith("~/") and home else path
