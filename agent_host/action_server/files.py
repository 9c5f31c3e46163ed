"""Looking: what a path is, and what a file holds. Nothing here changes anything."""

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress

from agent_host.action_server.failure import Failure, from_os_error
from agent_host.action_server.roots import (
    O_FOLDER,
    O_PATH,
    Roots,
    split,
    true_name,
)
from agent_host.action_wire import MAX_DATA, Content, Facts

_COUNT = 10_000
_NAMES = 10


def inspect(roots: Roots, path: str) -> Facts:
    """What `path` really is. `identity` is that of the name itself, be it a link.

    `sha256` is None for files above MAX_DATA; `count` of a directory is of all that is in it and
    stops at 10,000.
    """
    try:
        with roots.opened(path, O_PATH) as descriptor:
            return _facts(roots, path, descriptor)
    except Failure as failure:
        if failure.code != "not_found":
            raise
    return _missing(roots, path)


def read(roots: Roots, path: str) -> Content:
    """The bytes of a regular file of at most MAX_DATA."""
    with roots.regular(path) as descriptor:
        data = read_at_most(descriptor, MAX_DATA, path)
        return Content(data, hashlib.sha256(data).hexdigest(), true_name(descriptor, path))


def read_at_most(descriptor: int, limit: int, path: str) -> bytes:
    """All that is left to read; the size that the file system tells is not trusted."""
    parts: list[bytes] = []
    left = limit + 1
    try:
        while left > 0 and (part := os.read(descriptor, min(left, 1024 * 1024))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise from_os_error(error, path) from None
    if left <= 0:
        raise Failure("too_large", f"{path} is larger than {limit // 1024 // 1024} MiB")
    return b"".join(parts)


def identity_of(status: os.stat_result) -> str:
    """What tells this object from one that took its place or was changed."""
    return f"{status.st_dev}:{status.st_ino}:{status.st_mtime_ns}"


def _facts(roots: Roots, path: str, descriptor: int) -> Facts:
    status = os.fstat(descriptor)
    true = true_name(descriptor, path)
    place = roots.place(path)
    spelled = os.path.normpath(f"{place.root.true}/{place.relative}")
    through_link = true != spelled
    identity = _name_identity(roots, path) if through_link else identity_of(status)
    if stat.S_ISDIR(status.st_mode):
        count, names = _contents(roots, path)
        return Facts(
            path,
            true,
            "directory",
            through_link=through_link,
            count=count,
            first_names=names,
            identity=identity,
        )
    if not stat.S_ISREG(status.st_mode):
        return Facts(path, true, "other", through_link=through_link, identity=identity)
    return Facts(
        path,
        true,
        "file",
        size=status.st_size,
        sha256=_hash(roots, path),
        links=status.st_nlink,
        through_link=through_link,
        identity=identity,
    )


def _hash(roots: Roots, path: str) -> str | None:
    try:
        return read(roots, path).sha256
    except Failure as failure:
        # Sizes, links and times are facts also of a file that we may not or can't read.
        if failure.code in ("too_large", "denied"):
            return None
        raise


def _contents(roots: Roots, path: str) -> tuple[int, tuple[str, ...]]:
    count = 0
    names: list[str] = []
    try:
        with roots.opened(path, O_FOLDER) as folder:
            for level, folders, others, _ in os.fwalk(".", dir_fd=folder):
                if level == ".":
                    names = sorted(f"{name}/" for name in folders) + sorted(others)
                count += len(folders) + len(others)
                if count >= _COUNT:
                    break
    except OSError as error:
        raise from_os_error(error, path) from None
    return min(count, _COUNT), tuple(visible_name(name) for name in names[:_NAMES])


def visible_name(name: str) -> str:
    """A file name that is no UTF-8 has lone surrogates; what leaves here is Unicode."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _name_identity(roots: Roots, path: str) -> str | None:
    with roots.parent(path, links=True) as (folder, name):
        try:
            return identity_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except OSError as error:
            raise from_os_error(error, path) from None


def _missing(roots: Roots, path: str) -> Facts:
    names: list[str] = []
    current = path
    while True:
        current, name = split(current)
        names.insert(0, name)
        with suppress(_NotThere), _folder(roots, current) as folder:
            return _missing_beneath(folder, path, names)


class _NotThere(Exception):
    """Not a directory that exists."""


@contextmanager
def _folder(roots: Roots, path: str) -> Generator[int]:
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(roots.opened(path, O_FOLDER))
        except Failure as failure:
            raise (_NotThere if failure.code == "not_found" else failure) from None
        yield folder


def _missing_beneath(folder: int, path: str, names: list[str]) -> Facts:
    true = "/".join((true_name(folder, path).rstrip("/"), *names))
    try:
        status = os.stat(names[0], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        spelled = os.path.normpath(path)
        return Facts(path, true, "missing", through_link=true != spelled)
    except OSError as error:
        raise from_os_error(error, path) from None
    if len(names) > 1:
        raise Failure("not_found", f"{path}: a part of the path is not a directory")
    # A link that leads nowhere.
    return Facts(path, true, "other", through_link=True, identity=identity_of(status))
