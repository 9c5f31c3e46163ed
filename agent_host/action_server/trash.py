"""Deleting is moving to a trash folder of ours, so that it can be undone.

An entry is a folder: `item` is what was deleted, `from` its path. The trash may be on another
device, then it is copied. Special files don't survive that, and are refused.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from agent_host.action_server.failure import Failure, from_os_error
from agent_host.action_server.files import identity_of
from agent_host.action_server.linux import rename_no_replace
from agent_host.action_server.roots import Roots
from agent_host.action_server.writing import create_directory, sync_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def delete(roots: Roots, trash: str, path: str, identity: str, trash_id: str | None = None) -> str:
    """Move what `identity` says (a link itself, not its target) away; returns the entry's id."""
    trash_id = secrets.token_hex(16) if trash_id is None else _checked(trash_id)
    with roots.parent(path, links=True) as (folder, name):
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if identity_of(status) != identity:
                raise Failure("stale", f"{path} is not what it was when its deletion was approved")
            if stat.S_ISDIR(status.st_mode) and roots.holds_root(_true_path(folder, name)):
                raise Failure("denied", f"{path} holds a workspace root")
            return _put_away(folder, name, trash, path, trash_id)
        except OSError as error:
            raise from_os_error(error, path) from None


def restore(roots: Roots, trash: str, trash_id: str) -> None:
    """Put an entry back where it was; its directory is made again if need be."""
    _checked(trash_id)
    try:
        with _opened(f"{trash}/{trash_id}") as entry:
            path = _read_text(entry, "from")
            create_directory(roots, os.path.dirname(path))  # noqa: PTH120
            with roots.parent(path) as (folder, name):
                _put_back(entry, folder, name, path)
            os.unlink("from", dir_fd=entry)
        os.rmdir(f"{trash}/{trash_id}")  # noqa: PTH106
    except FileNotFoundError:
        raise Failure("not_found", f"there is no trash entry {trash_id}") from None
    except OSError as error:
        raise from_os_error(error, trash_id) from None


def _checked(trash_id: str) -> str:
    if len(trash_id) != 32 or not all(each in "0123456789abcdef" for each in trash_id):
        raise Failure("invalid", f"{trash_id!r} is no trash id")
    return trash_id


def _put_away(folder: int, name: str, trash: str, path: str, trash_id: str) -> str:
    os.makedirs(trash, mode=0o700, exist_ok=True)  # noqa: PTH103
    os.mkdir(f"{trash}/{trash_id}", 0o700)  # noqa: PTH102
    try:
        with _opened(f"{trash}/{trash_id}") as entry:
            _write_text(entry, "from", path)
            _move(folder, name, entry, "item")
            sync_folder(entry)
    except BaseException:
        # Only an entry without an item can be taken away so.
        with suppress(OSError):
            os.unlink(f"{trash}/{trash_id}/from")  # noqa: PTH108
            os.rmdir(f"{trash}/{trash_id}")  # noqa: PTH106
        raise
    sync_folder(folder)
    return trash_id


def _put_back(entry: int, folder: int, name: str, path: str) -> None:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        pass
    else:
        raise Failure("exists", f"something else is at {path} by now")
    _move(entry, "item", folder, name)


def _move(source: int, name: str, target: int, new_name: str) -> None:
    if _renamed(source, name, target, new_name):
        return
    # A half copy must never take the place of the whole: it grows under another name.
    growing = f".{secrets.token_hex(8)}.agent-host.tmp"
    try:
        _copy(source, name, target, growing, os.stat(name, dir_fd=source, follow_symlinks=False))
        rename_no_replace(target, growing, target, new_name)
    except BaseException:
        _remove(target, growing)
        raise
    _remove(source, name)


def _renamed(source: int, name: str, target: int, new_name: str) -> bool:
    try:
        rename_no_replace(source, name, target, new_name)
    except OSError as error:
        if error.errno == errno.EXDEV:
            return False
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        # File systems without that flag; the target was looked for before.
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    return True


def _copy(source: int, name: str, target: int, new_name: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), new_name, dir_fd=target)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, name, target, new_name)
    elif stat.S_ISDIR(status.st_mode):
        _copy_folder(source, name, target, new_name, status)
    else:
        raise Failure("not_regular", f"{name} is a special file and can't be kept in the trash")


def _copy_folder(
    source: int, name: str, target: int, new_name: str, status: os.stat_result
) -> None:
    os.mkdir(new_name, 0o700, dir_fd=target)
    here = os.open(name, _FOLDER, dir_fd=source)
    try:
        there = os.open(new_name, _FOLDER, dir_fd=target)
        try:
            for child in os.listdir(here):  # noqa: PTH208
                each = os.stat(child, dir_fd=here, follow_symlinks=False)
                if each.st_dev != status.st_dev:
                    raise Failure("denied", f"{child} is on another device")
                _copy(here, child, there, child, each)
            _keep(there, os.fstat(here))
        finally:
            os.close(there)
    finally:
        os.close(here)


def _copy_file(source: int, name: str, target: int, new_name: str) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    here = os.open(name, flags, dir_fd=source)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        there = os.open(new_name, flags, 0o600, dir_fd=target)
        try:
            while part := os.read(here, 1024 * 1024):
                view = memoryview(part)
                while view:
                    view = view[os.write(there, view) :]
            _keep(there, os.fstat(here))
            os.fsync(there)
        finally:
            os.close(there)
    finally:
        os.close(here)


def _keep(descriptor: int, status: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _true_path(folder: int, name: str) -> str:
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)  # noqa: PTH115, PTH118
    except FileNotFoundError:
        return name


@contextmanager
def _opened(path: str) -> Generator[int]:
    descriptor = os.open(path, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_text(folder: int, name: str, text: str) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _read_text(folder: int, name: str) -> str:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    with os.fdopen(descriptor, "r", encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
