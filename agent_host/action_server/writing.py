"""Making and changing files: atomic, hash-checked, never through a link."""

import errno
import hashlib
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass

from agent_host.action_server.failure import Failure, from_os_error
from agent_host.action_server.files import identity_of, read_at_most
from agent_host.action_server.linux import rename_no_replace
from agent_host.action_server.roots import O_FOLDER, Roots, check_new_name, split
from agent_host.action_wire import MAX_DATA

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class _Current:
    status: os.stat_result
    sha256: str


def write(roots: Roots, path: str, data: bytes, expected: str | None, umask: int) -> str:
    """Put `data` in the place of what has the hash `expected`, or where nothing is (None).

    The file is either the old or the new one at any time; mode and owner are kept. Missing
    directories of a new file are made. Returns the new sha256.
    """
    if len(data) > MAX_DATA:
        raise Failure("too_large", f"more than {MAX_DATA // 1024 // 1024} MiB can't be written")
    if expected is None:
        check_new_name(split(path)[1])
        create_directory(roots, split(path)[0])
    with roots.parent(path) as (folder, name):
        try:
            _write_in(folder, name, data, expected, umask)
        except FileExistsError:
            raise Failure("exists", f"{path} exists already") from None
        except OSError as error:
            raise _explained(error, path) from None
    return hashlib.sha256(data).hexdigest()


def create_directory(roots: Roots, path: str) -> None:
    """Make a directory and its missing parents; one that is there already is fine."""
    if roots.place(path).is_root:
        return
    try:
        with roots.opened(path, O_FOLDER, links=False):
            return
    except Failure as failure:
        if failure.code != "not_found":
            raise
    above, name = split(path)
    check_new_name(name)
    create_directory(roots, above)
    with roots.parent(path) as (folder, name):
        try:
            os.mkdir(name, dir_fd=folder)
        except FileExistsError:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                raise Failure("exists", f"{path} exists and is no directory") from None
        except OSError as error:
            raise from_os_error(error, path) from None


def _write_in(folder: int, name: str, data: bytes, expected: str | None, umask: int) -> None:
    current = _current(folder, name)
    if expected is None and current is not None:
        raise FileExistsError
    if expected is not None and (current is None or current.sha256 != expected):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    if current is not None and not current.status.st_mode & _WRITABLE:
        # The directory would let us replace it, but somebody has locked it on purpose.
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = f".{secrets.token_hex(8)}.agent-host.tmp"
    try:
        _write_temporary(folder, temporary, name, data, current, umask)
        if current is None:
            _publish(folder, temporary, name)
        else:
            if identity_of(os.stat(name, dir_fd=folder, follow_symlinks=False)) != identity_of(
                current.status
            ):
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
    sync_folder(folder)


def _current(folder: int, name: str) -> _Current | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
        descriptor = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
        data = read_at_most(descriptor, MAX_DATA, name)
    finally:
        os.close(descriptor)
    return _Current(status, hashlib.sha256(data).hexdigest())


def _write_temporary(
    folder: int, temporary: str, name: str, data: bytes, current: _Current | None, umask: int
) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if current is None:
            os.fchmod(descriptor, 0o666 & ~umask)
        else:
            _keep_owner(descriptor, current.status)
            _keep_attributes(descriptor, folder, name)
            os.fchmod(descriptor, stat.S_IMODE(current.status.st_mode))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, status: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        # Only root can give files away; others keep at least the group if they are in it.
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)


def _keep_attributes(descriptor: int, folder: int, name: str) -> None:
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            for attribute in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)


def _publish(folder: int, temporary: str, name: str) -> None:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # File systems without hard links.
        rename_no_replace(folder, temporary, folder, name)


def sync_folder(folder: int) -> None:
    """Make the names in a directory survive a power cut, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _explained(error: OSError, path: str) -> Failure:
    if error.errno == errno.ELOOP:
        return Failure("invalid", f"{path} is a symbolic link")
    if error.errno == errno.EACCES:
        return Failure("denied", f"{path} is read-only, or the operating system denies access")
    if error.errno == errno.ESTALE:
        return Failure("stale", f"{path} is not what it was when the change was approved")
    return from_os_error(error, path)
