"""What each turn of a long run costs: does it grow with the turns before it?

`python tests/bench/turns.py [turns]`: one run of that many turns, each with a tool call, against a
model server on loopback. CPU milliseconds of the host for each turn, by tenths of the run, and the
size of the requests.
"""

import json
import statistics
import sys
import time

from measure import cpu_seconds, hosts, resident_mib

from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

PARTS = 10
ROLE = """---
name: reader
description: Reads, as long as it likes.
capabilities: {skills: [fs.read]}
---
You read.
"""


def main(turns: int) -> None:
    vendor = Vendor()
    with hosts() as made:
        made.file("a.txt", "some text\n" * 20)
        role = made.state / "config" / "roles" / "reader.md"
        role.parent.mkdir(parents=True)
        role.write_text(ROLE)
        limit = {"AGENT_HOST_MAX_TURNS": str(turns + 1)}
        editor = made.start(env=vendor.environment | limit)
        vendor.plays([says("warm")])
        editor.run(model="local/any").result()
        read = calls(("fs_read", {"path": "a.txt"}), text="I look once more.")
        vendor.plays([read] * turns + [says("Done.")])
        before = len(vendor.bodies)
        run = editor.run(model="local/any", role="reader")
        costs: list[float] = []
        walls: list[float] = []
        memory: list[float] = []
        for part in range(PARTS):
            used, began = cpu_seconds(editor.process.pid), time.monotonic()
            run.wait("toolResult", count=(part + 1) * turns // PARTS, timeout=300)
            share = turns / PARTS / 1000
            costs.append((cpu_seconds(editor.process.pid) - used) / share)
            walls.append((time.monotonic() - began) / share)
            memory.append(resident_mib(editor.process.pid))
        assert run.result(60)["status"] == "completed"
        sizes = [len(json.dumps(body)) / 1024 for body in vendor.bodies[before:]]
    vendor.close()
    print(f"{turns} turns, by tenths" + " " * 18 + "".join(f"{n + 1:>9}" for n in range(PARTS)))
    rows = {"CPU ms a turn": costs, "wall ms a turn": walls, "MiB of the host": memory}
    for name, values in rows.items():
        print(f"{name:<36}" + "".join(f"{value:>9.1f}" for value in values))
    tenths = [
        sizes[int(n * len(sizes) / PARTS) : int((n + 1) * len(sizes) / PARTS)] for n in range(10)
    ]
    print(f"{'KiB of a request':<36}" + "".join(f"{statistics.mean(t):>9.1f}" for t in tenths))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
