"""A process that ends everything below it: as a subreaper it inherits whatever loses its parent.

It never runs code of others itself. SIGTERM asks all to end and kills after the grace; SIGINT,
which the kernel sends when the guard's own parent dies, kills at once. Linux only.
"""

import os
import signal
import time

from agent_host.action_server.linux import become_subreaper, die_with_parent
from agent_host.action_server.processes import descendants
from agent_host.action_wire import GRACE_SECONDS

_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_KILL_SECONDS = 10.0


def fork_guarded(parent: int) -> int:
    """Become a guard and fork. 0 in the child, which dies with its guard; else the child's pid.

    `parent` is the expected parent. To be called while there is one thread only.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    become_subreaper()
    die_with_parent(parent, signal.SIGINT)
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        die_with_parent(guard, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
    return child


def wait_for(child: int) -> int | None:
    """Its exit code, below 0 for a signal; None if it has to be killed by `kill_all`."""
    deadline: float | None = None
    while True:
        left = 60.0 if deadline is None else max(0.0, deadline - time.monotonic())
        heard = signal.sigtimedwait(_HEARD, left)
        if (code := _reap().get(child)) is not None:
            return code
        if heard is None and deadline is not None:
            return None
        if heard is not None and heard.si_signo == signal.SIGINT:
            return None
        if heard is not None and heard.si_signo == signal.SIGTERM and deadline is None:
            deadline = time.monotonic() + GRACE_SECONDS
            _signal_all(signal.SIGTERM)


def kill_all() -> int:
    """End everything below; returns how many there were."""
    left = 0
    deadline = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < deadline:
        _reap()
        if not _has_children():
            return left
        left = max(left, len(descendants(os.getpid())))
        # Stopped first: what can't run can't fork while the list is worked off.
        _signal_all(signal.SIGSTOP)
        _signal_all(signal.SIGKILL)
        signal.sigtimedwait([signal.SIGCHLD], 0.01)
    return left


def _signal_all(number: signal.Signals) -> None:
    for pid in descendants(os.getpid()):
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _has_children() -> bool:
    # As a subreaper, without children means without descendants.
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _reap() -> dict[int, int]:
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)
