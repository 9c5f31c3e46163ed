"""Runs a program of the host's own below a guard: nothing of it outlives the host or the program.

It keeps the pipes of this process, which ends as the program ended. Linux only.
"""

import os
import resource
import signal
import sys
from collections.abc import Sequence

from agent_host.action_server.guard import fork_guarded, kill_all, wait_for


def main(arguments: Sequence[str]) -> int:
    """`parent-pid program argument...`"""
    parent, argv = int(arguments[0]), list(arguments[1:])
    child = fork_guarded(parent)
    if child == 0:
        _become(argv)
    # Held open here, they would hide that the program has closed them.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    code = wait_for(child)
    kill_all()
    code = -signal.SIGKILL if code is None else code
    if code < 0:
        _die_of(-code)
    return code


def _become(argv: list[str]) -> None:
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execv(argv[0], argv)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"{argv[0]} can't be started: {error.strerror}\n")
        sys.stderr.flush()
    finally:
        os._exit(126)


def _die_of(number: int) -> None:
    """End by the signal that ended the program."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
