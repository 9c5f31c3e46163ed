"""Small JSON files in the user's state directory: private, atomic, never followed through links.

A file that is broken, foreign or open to others counts as empty, with a problem; it never raises.
"""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import cast

from agent_host.core.errors import AgentHostError

_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Identity:
    """What a directory is, whatever it is called: true path, device and inode."""

    path: str
    device: int
    inode: int

    @property
    def digest(self) -> str:
        """A name for its records."""
        text = f"{self.path}\0{self.device}\0{self.inode}"
        return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def identify(directory: str) -> Identity:
    """The identity of a directory that exists; raises OSError."""
    true_path = os.path.realpath(directory, strict=True)
    found = os.stat(true_path)  # noqa: PTH116 - one call on the resolved text
    return Identity(true_path, found.st_dev, found.st_ino)


@dataclass(frozen=True, slots=True)
class Stored:
    """The object in a file (empty if there is none), and what is wrong with it."""

    data: Mapping[str, object]
    problem: str | None = None


def load(path: Path) -> Stored:
    """Read a file; only a regular one that belongs to us and that nobody else can write."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return Stored({})
    except OSError as error:
        return Stored({}, f"{path.name} can't be read: {error.strerror}")
    with os.fdopen(descriptor, "rb") as file:
        if reason := _unsafe(os.fstat(descriptor)):
            return Stored({}, f"{path.name} is not used: {reason}")
        text = file.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        return Stored({}, f"{path.name} is not used: it is too large")
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return Stored({}, f"{path.name} is not used: it is broken")
    return Stored(cast("dict[str, object]", data))


def save(path: Path, data: Mapping[str, object]) -> None:
    """Write a file as a whole, readable by its user only; raises OSError."""
    make_private(path.parent)
    text = json.dumps(data, indent=1, sort_keys=True).encode()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def make_private(directory: Path) -> None:
    """Create a directory of ours, closed to others."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Hold the right to change a file; raises at once if another process holds it."""
    make_private(path.parent)
    lock = path.with_name(f"{path.name}.lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise AgentHostError(
                    "Another agent-host is changing the same records; try again."
                ) from None
        yield
    finally:
        os.close(descriptor)


def _unsafe(found: os.stat_result) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file"
    if sys.platform == "win32":
        return None
    if found.st_uid != os.getuid():
        return "it belongs to someone else"
    if found.st_mode & 0o022:
        return "others can write it"
    return None
