"""How an action fails: a code of the host's ActionFailed and one sentence for the model."""

import errno
import os

_BY_ERRNO = {
    errno.ENOENT: ("not_found", "there is no such file or directory"),
    errno.ENOTDIR: ("not_found", "a part of the path is not a directory"),
    errno.EXDEV: ("outside", "the path leaves the workspace roots"),
    errno.ELOOP: ("outside", "the path goes through a symbolic link"),
    errno.EACCES: ("denied", "the operating system denies access"),
    errno.EPERM: ("denied", "the operating system does not permit it"),
    errno.EROFS: ("denied", "the file system is read-only"),
    errno.EEXIST: ("exists", "it exists already"),
    errno.ENOTEMPTY: ("exists", "the directory is not empty"),
    errno.EISDIR: ("not_regular", "it is a directory"),
    errno.ENXIO: ("not_regular", "it is not a regular file"),
    errno.ENAMETOOLONG: ("invalid", "the name is too long"),
    errno.ESTALE: ("stale", "it has changed meanwhile"),
    errno.ENOSPC: ("io", "no space is left on the device"),
    errno.EFBIG: ("too_large", "it is too large"),
}


class Failure(Exception):
    """The action was not done; nothing of it is left behind unless `reason` says so."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def from_os_error(error: OSError, path: str) -> Failure:
    """The failure that an error of the operating system means for `path`."""
    number = error.errno or 0
    code, reason = _BY_ERRNO.get(number, ("io", os.strerror(number) if number else str(error)))
    return Failure(code, f"{path}: {reason}")
