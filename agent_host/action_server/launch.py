"""Runs one command where there is no pid namespace: ends all of its processes with it.

The launcher is the command's guard (guard.py) and may confine it by Landlock before. How it ended
goes as JSON to the status descriptor. Linux only.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence

from agent_host.action_server.guard import fork_guarded, kill_all, wait_for
from agent_host.action_server.landlock import all_but, restrict


def launch(parent: int, confine: str, status: int, argv: Sequence[str]) -> int:
    """Run `argv` to its end; `parent` is the pid of the action server, `confine` JSON or empty."""
    os.set_inheritable(status, False)  # noqa: FBT003
    child = fork_guarded(parent)
    if child == 0:
        _become(argv, status, confine)
    code = wait_for(child)
    left = kill_all()
    if code is None:
        code = -signal.SIGKILL
    os.write(status, json.dumps({"code": code, "left": left}).encode())
    return 0


def _become(argv: Sequence[str], status: int, confine: str) -> None:
    try:
        os.setsid()
        if confine:
            _confine(confine)
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


def main(arguments: Sequence[str]) -> int:
    """`parent-pid confinement status-fd program argument...`"""
    if sys.platform != "linux":
        raise SystemExit("the launcher needs Linux")
    return launch(int(arguments[0]), arguments[1], int(arguments[2]), arguments[3:])
