"""Runs one command where there is no pid namespace: ends all of its processes with it.

As a subreaper it inherits whatever daemonises. SIGTERM asks the command to end and kills after
the grace; SIGINT kills at once. How it ended goes as JSON to the status descriptor. Linux only.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence

from agent_host.action_server.landlock import all_but, restrict
from agent_host.action_server.linux import become_subreaper, die_with_parent
from agent_host.action_server.processes import descendants
from agent_host.action_wire import GRACE_SECONDS

_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_KILL_SECONDS = 10.0


def launch(parent: int, confine: str, status: int, argv: Sequence[str]) -> int:
    """Run `argv` to its end; `parent` is the pid of the action server, `confine` JSON or empty."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    become_subreaper()
    die_with_parent(parent, signal.SIGINT)
    os.set_inheritable(status, False)  # noqa: FBT003
    child = os.fork()
    if child == 0:
        _become(argv, status, confine)
    code = _wait(child)
    left = _kill_all()
    if code is None:
        code = -signal.SIGKILL
    os.write(status, json.dumps({"code": code, "left": left}).encode())
    return 0


def _become(argv: Sequence[str], status: int, confine: str) -> None:
    try:
        os.setsid()
        if confine:
            _confine(confine)
        die_with_parent(os.getppid(), signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], list(argv))  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(status, json.dumps({"error": f"{argv[0]}: {error}"}).encode())
    finally:
        os._exit(127)


def _confine(spelled: str) -> None:
    wanted = json.loads(spelled)
    hidden = wanted["hidden"]
    readable = all_but(hidden)
    writable = [each for path in wanted["writable"] for each in all_but(hidden, path)]
    writable += ["/dev", "/proc/self"]
    if not restrict(readable=readable, writable=writable, network=wanted["network"]):
        raise OSError("Landlock, which this command was to be confined by, is not there")


def _wait(child: int) -> int | None:
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


def _kill_all() -> int:
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


def main(arguments: Sequence[str]) -> int:
    """`parent-pid confinement status-fd program argument...`"""
    if sys.platform != "linux":
        raise SystemExit("the launcher needs Linux")
    return launch(int(arguments[0]), arguments[1], int(arguments[2]), arguments[3:])
