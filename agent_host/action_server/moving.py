"""Moving a file or directory within the roots: in one step, never over anything.

What is moved is the name itself, be it a link. Between devices nothing is moved: a copy could be
cut short.
"""

import errno
import os
import stat
from contextlib import suppress

from agent_host.action_server.failure import Failure, from_os_error
from agent_host.action_server.files import identity_of
from agent_host.action_server.linux import rename_no_replace
from agent_host.action_server.roots import Roots, check_new_name, split, true_name
from agent_host.action_server.writing import create_directory, sync_folder


def move(roots: Roots, path: str, identity: str, to: str) -> None:
    """Give what `identity` says the name `to`; its missing directories are made. Raises Failure."""
    check_new_name(split(to)[1])
    with roots.parent(path, links=True) as (folder, name):
        status = _looked_at(folder, name, path, identity)
        true_path = f"{true_name(folder, path).rstrip('/')}/{name}"
        if stat.S_ISDIR(status.st_mode):
            if roots.holds_root(true_path):
                raise Failure("denied", f"{path} holds a workspace root")
            if f"{to}/".startswith((f"{true_path}/", f"{path}/")):
                raise Failure("invalid", f"{path} can't be moved into itself")
        create_directory(roots, split(to)[0])
        with roots.parent(to) as (target, new_name):
            try:
                _rename(folder, name, target, new_name, status)
            except FileExistsError:
                raise Failure("exists", f"something else is at {to} already") from None
            except OSError as error:
                raise _explained(error, path, to) from None
            sync_folder(target)
        sync_folder(folder)


def _looked_at(folder: int, name: str, path: str, identity: str) -> os.stat_result:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise from_os_error(error, path) from None
    if identity_of(status) != identity:
        raise Failure("stale", f"{path} is not what it was when its move was approved")
    return status


def _rename(folder: int, name: str, target: int, new_name: str, status: os.stat_result) -> None:
    try:
        rename_no_replace(folder, name, target, new_name)
    except OSError as error:
        if error.errno == errno.EEXIST and _is_respelled(folder, target, name, new_name, status):
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=target)
            return
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        # File systems without that flag: looked for first, which leaves a moment.
        with suppress(FileNotFoundError):
            os.stat(new_name, dir_fd=target, follow_symlinks=False)
            raise FileExistsError from None
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=target)


def _is_respelled(
    folder: int, target: int, name: str, new_name: str, status: os.stat_result
) -> bool:
    """Whether a file system that ignores case has the very same file at both names."""
    there = os.stat(new_name, dir_fd=target, follow_symlinks=False)
    is_other_case = name != new_name and name.casefold() == new_name.casefold()
    same_folder = os.path.samestat(os.fstat(folder), os.fstat(target))
    if not (is_other_case and same_folder and os.path.samestat(there, status)):
        return False
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        # Two hard links look the same, but are two names.
        return new_name not in os.listdir(descriptor)  # noqa: PTH208
    finally:
        os.close(descriptor)


def _explained(error: OSError, path: str, to: str) -> Failure:
    if error.errno == errno.EXDEV:
        return Failure("invalid", f"{to} is on another device than {path}: write it anew there")
    return from_os_error(error, path)
