"""System calls that the standard library does not offer, by ctypes.

Each raises OSError, with ENOSYS where the system has no such call. Not here: what they are for.
"""

import ctypes
import errno
import os
import signal
import sys
from functools import cache

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

_OPENAT2 = 437
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_RENAME_NOREPLACE = 1


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    """Open an existing `path` under the directory descriptor `folder`; returns a descriptor."""
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    spelled = os.fsencode(path)
    for _ in range(64):
        try:
            return syscall(_OPENAT2, folder, spelled, ctypes.byref(how), ctypes.sizeof(how))
        except BlockingIOError:
            # EAGAIN: a rename elsewhere made the walk uncertain.
            continue
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)


class _StatFs(ctypes.Structure):
    _fields_ = (("type", ctypes.c_long), ("rest", ctypes.c_char * 504))


def file_system_of(descriptor: int) -> int:
    """The number of the kind of file system that a descriptor is in; 0 where that can't be told."""
    if sys.platform != "linux":
        return 0
    found = _StatFs()
    if _libc().fstatfs(descriptor, ctypes.byref(found)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(found.type) & 0xFFFFFFFF


def rename_no_replace(source: int, name: str, target: int, new_name: str) -> None:
    """Rename between two directory descriptors, failing with EEXIST if the target exists."""
    call = getattr(_libc(), "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(source, os.fsencode(name), target, os.fsencode(new_name), _RENAME_NOREPLACE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), new_name)


def die_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel signal this process when its parent ends; `parent` is its expected pid."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def become_subreaper() -> None:
    """Orphaned descendants become children of this process instead of init's."""
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def no_new_privileges() -> None:
    """No set-uid program gains anything in this process or its children any more."""
    if sys.platform == "linux":
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def syscall(number: int, *arguments: object) -> int:
    """The raw system call; its result, or OSError."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    result = int(_libc().syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _prctl(option: int, value: int) -> None:
    if _libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
