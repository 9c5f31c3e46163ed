"""Limits that every command inherits from the action server."""

import resource

FILE_BYTES = 1024 * 1024 * 1024


def limit_this_process() -> None:
    """No core dumps, no file above 1 GiB; hard, so that nothing below can lift them."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = FILE_BYTES if hard == resource.RLIM_INFINITY else min(hard, FILE_BYTES)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
