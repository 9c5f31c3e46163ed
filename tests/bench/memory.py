"""Resident memory of the host and of its action server: idle, after a run, after a hundred.

`python tests/bench/memory.py [rounds]`; each round is a new process.
"""

import sys

from measure import hosts, resident_mib, table

from tests.e2e.editor import Editor
from tests.e2e.script import calls, says


def main(rounds: int) -> None:
    idle: list[float] = []
    once: list[float] = []
    often: list[float] = []
    child: list[float] = []
    with hosts() as made:
        model = made.script([calls(("fs_list", {"path": "."})), says("One short answer.")])
        for _ in range(rounds):
            editor = made.start()
            server = settled(editor)
            idle.append(resident_mib(editor.process.pid))
            editor.run(model=model).result()
            once.append(resident_mib(editor.process.pid))
            for _ in range(99):
                editor.run(model=model).result()
            often.append(resident_mib(editor.process.pid))
            child.append(resident_mib(server))
            editor.shutdown()
    table(
        "MiB in RAM",
        [
            ("host, idle after the handshake", idle),
            ("host, after a run", once),
            ("host, after a hundred runs", often),
            ("action server, after a hundred runs", child),
        ],
    )


def settled(editor: Editor) -> int:
    """The action server's pid, once it is there and the host is ready for runs."""
    editor.request("agent/roles").result()
    while True:
        pid = editor.request("agent/status").result()["actionServer"].get("pid")
        if pid is not None:
            return pid


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
