"""What a sandbox adds to a command: time from the call of `true` to its result, by sandbox.

`python tests/bench/commands.py [rounds] [files]`; `files` is how many the workspace holds.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import table

from agent_host.actions.client import ActionClient
from agent_host.actions.probe import bubblewraps
from agent_host.actions.sandbox import Sandbox
from agent_host.core.actions import Command
from agent_host.session.sealing import sealed


async def timed(folder: Path, sandbox: Sandbox, rounds: int) -> list[float]:
    """Milliseconds of each round."""
    root = str(folder / "workspace")
    client = ActionClient(state_dir=folder / "state", roots=[root], sandbox=sandbox)
    command = Command(root, argv=("true",))
    taken: list[float] = []
    async with client.serving():
        for number in range(rounds + 1):
            began = time.perf_counter()
            allowed = sealed(command, sandbox.kind, str(number))
            await client.run(allowed, lambda _stream, _text: None)
            taken.append(1000 * (time.perf_counter() - began))
    return taken[1:]


def alone(rounds: int) -> list[float]:
    """The same program started by nobody but the operating system."""
    taken: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(["true"], check=True)
        taken.append(1000 * (time.perf_counter() - began))
    return taken


def main(rounds: int, files: int) -> None:
    with tempfile.TemporaryDirectory(prefix="agent-host-bench-") as name:
        folder = Path(name)
        for number in range(files):
            path = folder / f"workspace/{number // 1000}/{number % 1000 // 50}/{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        (folder / "workspace").mkdir(exist_ok=True)
        rows = [("no action server", alone(rounds))]
        for kind in ("none", "landlock-only", "bubblewrap"):
            program = bubblewraps()[0] if kind == "bubblewrap" else None
            rows.append((kind, asyncio.run(timed(folder, Sandbox(kind, program), rounds))))
    table(f"milliseconds for `true` among {files} files", rows)


if __name__ == "__main__":
    main(*(int(each) for each in (*sys.argv[1:], *("50", "100")[len(sys.argv) - 1 :])))
