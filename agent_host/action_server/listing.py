"""What is in a directory: an own walk for the names, ripgrep for what `.gitignore` leaves out."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from agent_host.action_server.failure import Failure, from_os_error
from agent_host.action_server.files import visible_name
from agent_host.action_server.ripgrep import Job, Ripgrep, leaving_out
from agent_host.action_server.roots import Roots, check_file_system, true_name
from agent_host.action_wire import Entries, ListDirectory

_SECONDS = 3.0
_SEEN = 50_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _Entry:
    """`name` is relative, with "/" at a directory's end; `plain`: a regular file."""

    name: str
    plain: bool


def list_directory(roots: Roots, query: ListDirectory, rg: str | None, job: Job) -> Entries:
    """Entries down to `depth` levels, sorted; `.git` never shows, ignored ones don't either."""
    with roots.opened(query.path, os.O_RDONLY | os.O_DIRECTORY) as folder:
        try:
            found = list(islice(_walk(folder, "", max(1, query.depth)), _SEEN))
        except OSError as error:
            raise from_os_error(error, query.path) from None
        found.sort(key=lambda entry: entry.name)
        out = leaving_out(roots.of_the_kernel(true_name(folder, query.path)))
        kept = found if rg is None else _not_ignored(found, folder, rg, job, out)
    shown = tuple(visible_name(entry.name) for entry in kept[: query.limit])
    return Entries(shown, len(kept) - len(shown))


def _walk(folder: int, prefix: str, depth: int) -> Iterator[_Entry]:
    for name in os.listdir(folder):
        if name == ".git":
            continue
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except OSError:
            continue
        if not stat.S_ISDIR(mode):
            yield _Entry(prefix + name, stat.S_ISREG(mode))
            continue
        yield _Entry(f"{prefix}{name}/", plain=False)
        if depth > 1:
            yield from _walk_below(folder, name, f"{prefix}{name}/", depth - 1)


def _walk_below(folder: int, name: str, prefix: str, depth: int) -> Iterator[_Entry]:
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return
    try:
        check_file_system(below, name)
        yield from _walk(below, prefix, depth)
    except Failure:
        return
    finally:
        os.close(below)


def _not_ignored(
    found: list[_Entry], folder: int, rg: str, job: Job, out: Sequence[str]
) -> list[_Entry]:
    # Ripgrep tells regular files only. A directory is ignored if it holds some, none of them told.
    program = Ripgrep(rg, job, time.monotonic() + _SECONDS)
    told: set[str] = set()
    for line in program.lines(["--files", "--glob=!.git", *out, "--", "."], folder):
        name = os.fsdecode(line).removeprefix("./")
        told.add(name)
        while (name := name.rpartition("/")[0]) and f"{name}/" not in told:
            told.add(f"{name}/")
    if program.timed_out:
        return found
    kept: list[_Entry] = []
    hidden: tuple[str, ...] = ()
    for entry in found:
        if entry.name.startswith(hidden) and hidden:
            continue
        if entry.name in told:
            kept.append(entry)
        elif entry.name.endswith("/"):
            if _holds_file(folder, entry.name):
                hidden = (*hidden, entry.name)
            else:
                kept.append(entry)
        elif not entry.plain:
            kept.append(entry)
    return kept


def _holds_file(folder: int, name: str) -> bool:
    try:
        below = os.open(name.rstrip("/"), _FOLDER, dir_fd=folder)
    except OSError:
        return False
    try:
        levels = islice(os.fwalk(".", dir_fd=below), _SEEN)
        return any(files for _, _, files, _ in levels)
    except OSError:
        return False
    finally:
        os.close(below)
