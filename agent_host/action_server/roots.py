"""The workspace roots and the only way to open anything in them.

Every descriptor that leaves here was reached beneath a root by the kernel itself (openat2, or a
walk that follows no link), so no renamed directory or planted link leads outside.
"""

import errno
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agent_host.action_server.failure import Failure, from_os_error
from agent_host.action_server.linux import (
    RESOLVE_BENEATH,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    file_system_of,
    openat2,
)

O_PATH: int = getattr(os, "O_PATH", 0)
O_FOLDER: int = O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOUNTS = "/proc/self/mountinfo"
_NO_ROOT = ("/", "/proc", "/sys", "/dev")
_OF_THE_KERNEL = {
    0x9FA0: "proc",
    0x62656572: "sysfs",
    0x1CD1: "devpts",
    0x64626720: "debugfs",
    0x74726163: "tracefs",
    0x73636673: "securityfs",
    0x27E0EB: "cgroup",
    0x63677270: "cgroup2",
    0xCAFE4A11: "bpf",
    0xDE5E81E4: "efivarfs",
    0x62656570: "configfs",
    0xF97CFF8C: "selinuxfs",
    0x42494E4D: "binfmt_misc",
    0x6165676C: "pstore",
    0x19800202: "mqueue",
    0x65735543: "fusectl",
    0x6E736673: "nsfs",
}
"""File systems that hold no files but the machine itself, wherever they are mounted."""
_HIDDEN = {"Cf", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class Root:
    """`path` as the editor spells it, `true` without links, `folder` an open descriptor."""

    path: str
    true: str
    folder: int


@dataclass(frozen=True, slots=True)
class Place:
    """A path beneath a root: `relative` is "." for the root itself."""

    root: Root
    relative: str

    @property
    def is_root(self) -> bool:
        return not _parts(self.relative)


class Roots:
    """The roots, held open: a root that is renamed stays the directory that it was."""

    def __init__(self, paths: Sequence[str], *, kernel: bool = True) -> None:
        """A root that can't be opened fails its own calls only.

        `kernel` False leaves openat2 out, as on systems without it.
        """
        self._kernel = kernel and sys.platform == "linux"
        # Held open, since this process may not open it once it is confined.
        self._mounts = os.open(_MOUNTS, os.O_RDONLY) if os.access(_MOUNTS, os.R_OK) else None
        self._roots: list[Root] = []
        self._broken: dict[str, str] = {}
        for path in paths:
            try:
                self._roots.append(_open_root(path))
            except Failure as failure:
                self._broken[path.rstrip("/")] = failure.reason
        # The innermost root first, so that a nested root wins.
        self._roots.sort(key=lambda root: -len(_parts(root.true)))

    def close(self) -> None:
        for root in self._roots:
            os.close(root.folder)
        if self._mounts is not None:
            os.close(self._mounts)

    def place(self, path: str) -> Place:
        """The root that `path` is spelled beneath; links and `..` are not looked at yet."""
        check_path(path)
        for root in self._roots:
            for spelling in (root.true, root.path):
                if (relative := _beneath(path, spelling)) is not None:
                    return Place(root, relative)
        for spelling, reason in self._broken.items():
            if _beneath(path, spelling) is not None:
                raise Failure("not_found", f"this workspace root can't be used: {reason}")
        raise Failure("outside", f"{path} is outside of the workspace roots")

    def true_paths(self) -> list[str]:
        """The roots without links, those left out that are beneath another."""
        paths = {root.true for root in self._roots}
        return sorted(
            path
            for path in paths
            if not any(_beneath(path, other) is not None for other in paths - {path})
        )

    def of_the_kernel(self, true_path: str) -> list[str]:
        """Where the kernel's own file systems are mounted beneath a directory, relative to it."""
        if self._mounts is None:
            return []
        table = os.fdopen(os.dup(self._mounts), "rb")
        with table:
            table.seek(0)
            mounts = [line.split() for line in table]
        kinds = {*_OF_THE_KERNEL.values(), "devtmpfs"}
        places = (
            re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), fields[4])
            for fields in mounts
            if os.fsdecode(fields[fields.index(b"-") + 1]) in kinds
        )
        found = (_beneath(os.fsdecode(place), true_path) for place in places)
        return sorted({place for place in found if place is not None})

    def holds_root(self, true_path: str) -> bool:
        """Whether a root is there or beneath it."""
        return any(_beneath(root.true, true_path) is not None for root in self._roots)

    @contextmanager
    def opened(self, path: str, flags: int, *, links: bool = True) -> Generator[int]:
        """Open an existing path beneath its root; with `links` those that stay inside are followed.

        Raises Failure. `flags` that could create or truncate don't belong here.
        """
        descriptor = self._open(path, flags, links=links)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def regular(self, path: str) -> Generator[int]:
        """A regular file, open for reading. Never blocks on pipes and touches no device."""
        with self.opened(path, O_PATH) as looked:
            _check_regular(looked, path)
        with self.opened(path, _READ) as descriptor:
            _check_regular(descriptor, path)
            yield descriptor

    @contextmanager
    def parent(self, path: str, *, links: bool = False) -> Generator[tuple[int, str]]:
        """The directory that holds `path`, and the last part of the name."""
        folder, name = split(path)
        if self.place(path).is_root:
            raise Failure("denied", f"{path} is a workspace root")
        with self.opened(folder, O_FOLDER, links=links) as descriptor:
            yield descriptor, name

    def _open(self, path: str, flags: int, *, links: bool) -> int:
        outside = Failure("outside", f"{path} leads out of the workspace roots")
        try:
            return self._beneath_root(self.place(path), flags, links=links)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.ELOOP):
                raise from_os_error(error, path) from None
        # A link that is absolute, or leads to another root. The real path is only a hint: it
        # is opened by the same means, without following anything.
        try:
            real = os.path.realpath(path, strict=True)
            place = self.place(real)
        except (OSError, Failure):
            # What is missing out there looks the same as what is there.
            raise outside from None
        if not links and real != path:
            raise Failure("invalid", f"{path} goes through a symbolic link; its place is {real}")
        try:
            return self._beneath_root(place, flags, links=False)
        except OSError as error:
            raise from_os_error(error, path) from None

    def _beneath_root(self, place: Place, flags: int, *, links: bool) -> int:
        descriptor = self._reached(place, flags, links=links)
        try:
            check_file_system(descriptor, f"{place.root.true}/{place.relative}")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _reached(self, place: Place, flags: int, *, links: bool) -> int:
        if self._kernel:
            resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
            resolve |= 0 if links else RESOLVE_NO_SYMLINKS
            try:
                return openat2(place.root.folder, place.relative, flags, resolve)
            except OSError as error:
                if error.errno not in (errno.ENOSYS, errno.EPERM):
                    raise
        return _walk(place, flags)


def check_file_system(descriptor: int, path: str) -> None:
    """Refuse what is in `/proc`, `/sys` or the like, bound into a root or not."""
    if kind := _OF_THE_KERNEL.get(file_system_of(descriptor)):
        raise Failure("denied", f"{path} is no file: it is the kernel's own ({kind})")


def check_path(path: str) -> None:
    """Refuse what is no absolute path or could mean something else than it shows."""
    if not path.startswith("/"):
        raise Failure("invalid", f"{path!r} is not an absolute path")
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in path):
        raise Failure("invalid", f"{path!r} holds control characters")
    if len(os.fsencode(path)) > 4095:
        raise Failure("invalid", "the path is longer than 4095 bytes")


def check_new_name(name: str) -> None:
    """Refuse to create names that people can't see right or programs take for something else."""
    if any(unicodedata.category(each) in _HIDDEN for each in name):
        raise Failure("invalid", f"{name!r} holds invisible characters")
    if name != name.rstrip(" .") or name.startswith("~"):
        raise Failure("invalid", f"{name!r} ends with a blank or a dot or begins with ~")
    if len(os.fsencode(name)) > 255:
        raise Failure("invalid", "the name is longer than 255 bytes")


def split(path: str) -> tuple[str, str]:
    """Directory and last part; the last part is a plain name."""
    folder, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        raise Failure("invalid", f"{path!r} does not end with a name")
    return folder or "/", name


def true_name(descriptor: int, path: str) -> str:
    """Where an open descriptor really is. `path` is for the message."""
    if sys.platform == "linux":
        try:
            name = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
        except OSError as error:
            # Behind links that were short its own path may be longer than the kernel tells.
            raise from_os_error(error, path) from None
        if name.endswith(" (deleted)") and not os.path.lexists(name):
            raise Failure("stale", f"{path} was deleted meanwhile")
        return name
    return os.path.realpath(path)


def _check_regular(descriptor: int, path: str) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise Failure("not_regular", f"{path} is a directory")
    if not stat.S_ISREG(mode):
        raise Failure("not_regular", f"{path} is not a regular file")


def _open_root(path: str) -> Root:
    check_path(path)
    try:
        true = os.path.realpath(path, strict=True)
        if true in _NO_ROOT:
            raise Failure("invalid", f"{path} can't be a workspace root")
        folder = os.open(true, O_FOLDER | os.O_NOFOLLOW)
    except OSError as error:
        raise from_os_error(error, path) from None
    try:
        check_file_system(folder, path)
    except Failure:
        os.close(folder)
        raise
    return Root(path.rstrip("/"), true, folder)


def _walk(place: Place, flags: int) -> int:
    parts = _parts(place.relative)
    if ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    if not parts:
        return os.open(".", flags | os.O_CLOEXEC, dir_fd=place.root.folder)
    current = os.dup(place.root.folder)
    try:
        for part in parts[:-1]:
            following = os.open(part, O_FOLDER | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = following
        descriptor = os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
    except NotADirectoryError:
        # O_DIRECTORY with O_NOFOLLOW says so of a link, too.
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
    finally:
        os.close(current)
    if flags & O_PATH and stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return descriptor


def _beneath(path: str, root: str) -> str | None:
    if path.rstrip("/") == root:
        return "."
    return path[len(root) + 1 :].strip("/") or "." if path.startswith(root + "/") else None


def _parts(relative: str) -> list[str]:
    return [part for part in relative.split("/") if part not in ("", ".")]
