"""Finding what commands must not change, and telling whether they did.

Looks for protected names in the whole of each root, breadth first and for a bounded time. Knows
git's own layout; all other names come as patterns from the host.
"""

import hashlib
import os
import stat
import time
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent_host.action_server.failure import Failure
from agent_host.action_server.names import any_of, glob, is_secret
from agent_host.action_server.ripgrep import Job
from agent_host.action_server.roots import Roots
from agent_host.action_wire import Watch, Watched, Watchlist

_SECONDS = 1.5
_FOLDERS = 100_000
_PRINTED = 5_000
_SECRETS = 500

_REPOSITORY = frozenset({"head", "objects", "refs"})
_GIT_PARTS = ("config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes")
_GIT_NESTED = ("modules", "worktrees")


@dataclass(slots=True)
class _Found:
    watched: dict[str, Watched] = field(default_factory=dict[str, Watched])
    secrets: list[str] = field(default_factory=list[str])
    complete: bool = True


class _Patterns:
    """Globs over consecutive folded parts. Most names are told apart by one look at the last."""

    def __init__(self, patterns: Sequence[str]) -> None:
        split = [tuple(pattern.split("/")) for pattern in patterns]
        self._short = any_of([parts[0] for parts in split if len(parts) == 1])
        self._ends = any_of([parts[-1] for parts in split if len(parts) > 1])
        self._long = [parts for parts in split if len(parts) > 1]

    def match(self, parts: tuple[str, ...]) -> bool:
        """Whether a pattern matches the last parts."""
        if self._short.fullmatch(parts[-1]):
            return True
        return self._ends.fullmatch(parts[-1]) is not None and any(
            len(parts) >= len(pattern) and all(map(_matches, pattern, parts[-len(pattern) :]))
            for pattern in self._long
        )


def _matches(pattern: str, part: str) -> bool:
    return glob(pattern).fullmatch(part) is not None


def watch(roots: Roots, call: Watch, job: Job) -> Watchlist:
    """All protected names and secret-looking files in the roots, as they are now."""
    found = _Found()
    patterns = _Patterns(call.protected)
    deadline = time.monotonic() + _SECONDS
    for root in roots.true_paths():
        _scan(root, patterns, call.secret, deadline, found, job)
    watched = tuple(sorted(found.watched.values(), key=lambda each: each.path))
    complete = found.complete and len(found.secrets) <= _SECRETS
    return Watchlist(watched, tuple(sorted(found.secrets)[:_SECRETS]), complete)


def tidy(roots: Roots, paths: Sequence[str]) -> None:
    """Remove mount points that were left behind: empty directories, empty files of mode 0444."""
    for path in paths:
        with suppress(Failure, OSError), roots.parent(path) as (folder, name):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(name, dir_fd=folder)
            elif _is_mount_point(status):
                os.unlink(name, dir_fd=folder)


def _scan(
    root: str,
    patterns: _Patterns,
    secret: Sequence[str],
    deadline: float,
    found: _Found,
    job: Job,
) -> None:
    waiting: deque[tuple[str, tuple[str, ...]]] = deque([(root, (_folded(_name(root)),))])
    seen = 0
    while waiting:
        seen += 1
        if time.monotonic() > deadline or seen > _FOLDERS or job.cancelled:
            found.complete = False
            return
        folder, parts = waiting.popleft()
        entries = _entries(folder)
        if {_folded(entry.name) for entry in entries} >= _REPOSITORY:
            _add_repository(folder, found)
            continue
        for entry in entries:
            name = (*parts, _folded(entry.name))
            is_folder = entry.is_dir(follow_symlinks=False)
            if name[-1] == ".git" and is_folder:
                _add_repository(entry.path, found)
            elif patterns.match(name):
                _add(entry.path, found)
            elif is_folder:
                waiting.append((entry.path, name))
            elif secret and is_secret(entry.path, secret):
                found.secrets.append(entry.path)


def _add_repository(folder: str, found: _Found) -> None:
    with suppress(OSError):
        status = os.lstat(folder)
        found.watched[folder] = Watched(folder, "repository", f"{status.st_ino}")
    for part in _GIT_PARTS:
        _add(f"{folder}/{part}", found)
    for nested in _GIT_NESTED:
        for below, folders, files in os.walk(f"{folder}/{nested}"):
            if {_folded(name) for name in (*folders, *files)} & {"head", "gitdir"}:
                folders[:] = [name for name in folders if name in _GIT_NESTED]
                for part in _GIT_PARTS:
                    _add(f"{below}/{part}", found)


def _add(path: str, found: _Found) -> None:
    try:
        status = os.lstat(path)
    except OSError:
        return
    if _is_mount_point(status):
        return
    if stat.S_ISDIR(status.st_mode):
        if not _entries(path):
            # Nobody obeys it, and it may be a mount point of another command.
            return
        found.watched[path] = Watched(path, "directory", _tree_print(path))
    else:
        kind = "link" if stat.S_ISLNK(status.st_mode) else "file"
        found.watched[path] = Watched(path, kind, _print(status))


def _is_mount_point(status: os.stat_result) -> bool:
    return (
        stat.S_ISREG(status.st_mode)
        and stat.S_IMODE(status.st_mode) == 0o444
        and (status.st_size, status.st_nlink) == (0, 1)
    )


def _tree_print(path: str) -> str:
    # Without reading: a change of content can't leave ctime as it was.
    digest = hashlib.sha256()
    for count, each in enumerate(_walk(path)):
        if count > _PRINTED:
            break
        with suppress(OSError):
            digest.update(f"{each}\0{_print(os.lstat(each))}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def _walk(path: str) -> Iterator[str]:
    yield path
    for below, folders, files in os.walk(path):
        folders.sort()
        yield from (f"{below}/{name}" for name in sorted((*folders, *files)))


def _print(status: os.stat_result) -> str:
    return f"{status.st_ino}:{status.st_mode:o}:{status.st_size}:{status.st_ctime_ns}"


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower().rstrip(". ") or name
    shown = "".join(char for char in name if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold())
    return folded.rstrip(". ") or name
