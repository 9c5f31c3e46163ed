"""What each turn of a long run costs: does it grow with the turns before it?

`python tests/bench/turns.py [turns] [vendor]`: one run of that many turns, each with a tool call,
against a vendor's server on loopback (local, openai, anthropic or gemini). CPU milliseconds of the
host for each turn, by tenths of the run, and the size of the requests.
"""

import asyncio
import json
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from measure import cpu_seconds, hosts, resident_mib

from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Turn,
    VendorServer,
)

ADDRESS = {
    "local": (ChatVendor, "LOCAL_BASE_URL"),
    "openai": (OpenAIVendor, "OPENAI_BASE_URL"),
    "anthropic": (AnthropicVendor, "ANTHROPIC_BASE_URL"),
    "gemini": (GeminiVendor, "GOOGLE_GEMINI_BASE_URL"),
}

PARTS = 10
ROLE = """---
name: reader
description: Reads, as long as it likes.
capabilities: {skills: [fs.read]}
---
You read.
"""


@contextmanager
def serving(name: str, turns: list[Turn]) -> Iterator[tuple[VendorServer, dict[str, str]]]:
    """The vendor's server in a thread of its own, and what makes a host use it."""
    kind, variable = ADDRESS[name]
    ready, over, loop = threading.Event(), asyncio.Event(), asyncio.new_event_loop()
    server = kind(*turns)

    async def serve() -> None:
        async with server:
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    key = {f"{name.upper()}_API_KEY": server.KEY}
    yield server, key | {variable: server.url}
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


def main(turns: int, name: str) -> None:
    read = Turn("I look once more.", "Once more.", (Call("fs_read", {"path": "a.txt"}),))
    played = [Turn("warm"), *[read] * turns, Turn("Done.")]
    with hosts() as made, serving(name, played) as (vendor, environment):
        made.file("a.txt", "some text\n" * 20)
        role = made.state / "config" / "roles" / "reader.md"
        role.parent.mkdir(parents=True)
        role.write_text(ROLE)
        limit = {"AGENT_HOST_MAX_TURNS": str(turns + 1)}
        editor = made.start(env=environment | limit)
        model = f"{name}/test-model"
        editor.run(model=model).result()
        before = len(vendor.bodies)
        run = editor.run(model=model, role="reader")
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
    assert vendor.refused == []
    print(
        f"{turns} turns, {name}, by tenths"
        + " " * 18
        + "".join(f"{n + 1:>9}" for n in range(PARTS))
    )
    rows = {"CPU ms a turn": costs, "wall ms a turn": walls, "MiB of the host": memory}
    for name, values in rows.items():
        print(f"{name:<36}" + "".join(f"{value:>9.1f}" for value in values))
    tenths = [
        sizes[int(n * len(sizes) / PARTS) : int((n + 1) * len(sizes) / PARTS)] for n in range(10)
    ]
    print(f"{'KiB of a request':<36}" + "".join(f"{statistics.mean(t):>9.1f}" for t in tenths))


if __name__ == "__main__":
    main(*(int(sys.argv[1]) if len(sys.argv) > 1 else 300, *(sys.argv[2:3] or ["local"])))
