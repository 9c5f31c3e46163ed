"""Starts a program below a guard, which ends all of it when the program or this process ends.

The guard is a process of the action server's package, which is only ever spawned. Linux only:
elsewhere the program is started as it is.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import agent_host


def guarded(argv: Sequence[str], path: str | None) -> tuple[str, ...]:
    """The argv that starts `argv` below a guard. Raises FileNotFoundError if there is no such."""
    program = shutil.which(argv[0], path=path)
    if program is None:
        raise FileNotFoundError(f"there is no program {argv[0]}")
    if sys.platform != "linux":
        return (program, *argv[1:])
    guard = Path(agent_host.__file__).absolute().parent / "action_server" / "__main__.py"
    python = (sys.executable, "-I", "-S", "-X", "utf8", str(guard))
    return (*python, "guard", str(os.getpid()), program, *argv[1:])
