"""Landlock: what this process and all that it starts may still open. Linux only, one way.

It does not cover stat, chmod, chown, UDP and sockets in the file system; nor can it leave a hole
in what it allows. So it is the second wall for file actions and, alone, a weak one for commands.
"""

import ctypes
import errno
import os
from collections.abc import Sequence

from agent_host.action_server.linux import no_new_privileges, syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_READ = EXECUTE | READ_FILE | READ_FOLDER
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL
_TCP = 3
_SCOPES = 3


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The kernel's Landlock version; 0 for none."""
    try:
        return syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except OSError:
        return 0


def restrict(*, readable: Sequence[str], writable: Sequence[str], network: bool) -> bool:
    """Leave only reading and running beneath `readable`, and everything beneath `writable`.

    Paths that don't exist are left out. False: the kernel has no Landlock, nothing was done.
    Call it before threads are made: it holds for the calling thread and its children only.
    """
    abi = version()
    if abi == 0:
        return False
    all_rights = {1: 2**13 - 1, 2: 2**14 - 1, 3: 2**15 - 1, 4: 2**15 - 1}.get(abi, 2**16 - 1)
    attributes = _Attributes(
        all_rights, 0 if network or abi < 4 else _TCP, _SCOPES if abi >= 6 else 0
    )
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = syscall(
        _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ & all_rights)
        for path in writable:
            _allow(ruleset, path, all_rights)
        no_new_privileges()
        syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return True


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return
        raise
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            access &= _OF_FILES
        rule = _Beneath(access, descriptor)
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def all_but(hidden: Sequence[str], folder: str = "/") -> list[str]:
    """Paths that together are everything but what is beneath `hidden`."""
    if folder in hidden:
        return []
    prefix = folder.rstrip("/") + "/"
    if not any(each.startswith(prefix) for each in hidden):
        return [folder]
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return [folder]
    return [path for name in names for path in all_but(hidden, prefix + name)]
