"""A long scripted run, and a process that stores it step by step until it is killed.

As a program it forks one such process for each line `URL session stop-at` on its standard input:
starting Python and loading the database's library once is enough.
"""

import asyncio
import os
import sys
import uuid
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from agent_host.core.events import Delta, Ended, Started, Text, ToolFinished, ToolOutput
from agent_host.core.events import ToolRequested as Requested
from agent_host.core.model import JsonObject
from agent_host.core.permission import Question
from agent_host.core.records import EditRecord
from agent_host.store import SqlStore
from tests.boundary.store_support import numbered, result, run, session

ROUNDS = 8


@dataclass(frozen=True)
class Edit:
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Remembered:
    item: JsonObject


@dataclass(frozen=True)
class Asked:
    call_id: str


@dataclass(frozen=True)
class Settled:
    call_id: str


@dataclass(frozen=True)
class Flushed:
    pass


Step = Delta | Edit | Remembered | Asked | Settled | Flushed


def steps() -> list[Step]:
    """Tools, edits, questions, text, things to remember, and now and then a moment of safety."""
    found: list[Step] = [Started("coder", "openai/m", "sdk")]
    for number in range(ROUNDS):
        call_id = f"c{number}"
        found += [
            *(Text(f"{number}.{word} ") for word in range(5)),
            Requested(call_id, "fs.edit", {"n": number}, "Edit", "medium"),
            Asked(call_id),
            Settled(call_id),
            Edit(f"text {number}".encode(), f"text {number + 1}".encode()),
            ToolOutput(call_id, "stdout", f"out {number} "),
            ToolOutput(call_id, "stdout", "more"),
            ToolFinished(call_id, "ok", "edited"),
            Remembered({"call": number}),
            Remembered({"output": number}),
        ]
        if number % 2:
            found.append(Flushed())
    return [*found, Ended("completed"), Flushed()]


@dataclass
class Snapshot:
    """What is stored after some steps."""

    said: list[Delta] = field(default_factory=list)
    remembered: list[JsonObject] = field(default_factory=list)
    edits: list[tuple[bytes, bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def add(self, step: Step) -> None:
        match step:
            case Edit(before, after):
                self.edits.append((before, after))
            case Remembered(item):
                self.remembered.append(item)
            case Asked(call_id):
                self.asked.append(call_id)
            case Settled(call_id):
                self.asked.remove(call_id)
            case Flushed():
                pass
            case _:
                self.said.append(step)


def after(count: int) -> Snapshot:
    snapshot = Snapshot()
    for step in steps()[:count]:
        snapshot.add(step)
    return snapshot


def flushed_before(count: int) -> int:
    """How many steps are safe for certain once `count` were done: edits are when they return."""
    safe = [n for n, s in enumerate(steps()[:count], 1) if isinstance(s, Flushed | Edit)]
    return safe[-1] if safe else 0


async def play(where: str, session_id: str, stop_at: int) -> None:
    """Do the first `stop_at` steps and say so, then wait for the end."""
    store = SqlStore(
        where if "://" in where else Path(where),
        new_id=lambda: uuid.uuid4().hex,
        on_problem=lambda problem: print(problem, flush=True),
    )
    run_id = f"run of {session_id}"
    store.open_session(session(session_id))
    store.start_run(run(run_id, session_id))
    seq = 0
    for number, step in enumerate(steps()[:stop_at]):
        match step:
            case Edit(before, after):
                assert await store.record_edit(_edit(session_id, number, step), before, after)
            case Remembered(item):
                store.remember(session_id, run_id, [item])
            case Asked(call_id):
                store.ask(Question(session_id, run_id, call_id, "May I?", "", ()))
            case Settled(call_id):
                store.settle(run_id, call_id)
            case Flushed():
                await store.flush()
            case _:
                seq += 1
                store.append(numbered(run_id, [step], session_id=session_id, first=seq)[0])
        await asyncio.sleep(0)
    if stop_at >= len(steps()):
        store.end_run(result(run_id, session_id))
        await store.flush()
    print("did", session_id, os.getpid(), flush=True)
    await asyncio.Event().wait()


def _edit(session_id: str, number: int, step: Edit) -> EditRecord:
    return EditRecord(
        edit_id=f"{session_id} {number}",
        session_id=session_id,
        run_id=f"run of {session_id}",
        uri="file:///a",
        kind="change",
        place="disk",
        before_sha256=sha256(step.before).hexdigest(),
        after_sha256=sha256(step.after).hexdigest(),
        at=float(number),
    )


def main() -> None:
    import agent_host.store.target  # noqa: F401 - loaded once, before the forks

    for line in sys.stdin:
        where, session_id, stop_at = line.split()
        if os.fork() == 0:
            asyncio.run(play(where, session_id, int(stop_at)))


if __name__ == "__main__":
    main()
