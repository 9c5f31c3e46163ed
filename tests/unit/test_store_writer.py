"""The writer's thread: order, batches, retries, bounds, with a target that does as it is told."""

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError

import pytest

from agent_host.core.errors import RunNotFound, StoreFailed
from agent_host.core.events import NumberedDelta, Text
from agent_host.core.model import Origin, RunResult, Usage
from agent_host.core.records import StoreProblem
from agent_host.store.failure import DatabaseFailed
from agent_host.store.writer import Pace, Writer
from agent_host.store.writes import Append, EndRun, Settle, Write

QUICK = Pace(interval=0.01, patience=0.25, beat_seconds=3600.0)
PASSING = DatabaseFailed("busy", passing=True)
FATAL = DatabaseFailed("broken", passing=False)


class Target:
    """Keeps what it is given. `plan` holds what happens to the next batches."""

    def __init__(self) -> None:
        self.plan: list[Exception | frozenset[str]] = []
        self.batches: list[list[Write]] = []
        self.numbers: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.beats = threading.Semaphore(0)
        self.closed = False

    def apply(self, batch: Sequence[Write], number: int) -> frozenset[str]:
        self.gate.wait(timeout=30)
        self.numbers.append(number)
        answer = self.plan.pop(0) if self.plan else frozenset[str]()
        if isinstance(answer, Exception):
            raise answer
        self.batches.append(list(batch))
        return answer

    def beat(self) -> None:
        self.beats.release()

    def close(self) -> None:
        self.closed = True


class Bench:
    def __init__(self, pace: Pace = QUICK) -> None:
        self.target = Target()
        self.problems: list[StoreProblem] = []
        self.writer = Writer(lambda: self.target, self.problems.append, pace)

    def put(self, run_id: str, *seqs: int) -> None:
        for seq in seqs:
            self.writer.put(append(run_id, seq))

    def flush(self) -> None:
        self.writer.pause().result(timeout=30)

    def close(self) -> None:
        thread = self.writer.close()
        if thread is not None:
            thread.join(timeout=30)
            assert not thread.is_alive()

    def stored(self) -> list[tuple[str, int]]:
        return [
            (write.delta.run_id, write.delta.seq)
            for batch in self.target.batches
            for write in batch
            if isinstance(write, Append)
        ]


def append(run_id: str, seq: int, text: str = "x") -> Append:
    return Append(NumberedDelta("s", run_id, seq, Origin("agent"), Text(text)), 0.0)


def end(run_id: str) -> EndRun:
    return EndRun(RunResult("s", run_id, "completed", "", Usage()), 0.0)


def test_writes_are_stored_in_order_and_together() -> None:
    bench = Bench(Pace(interval=3600.0))
    bench.put("r", *range(1, 100))
    bench.flush()
    assert bench.stored() == [("r", seq) for seq in range(1, 100)]
    assert len(bench.target.batches) == 1
    bench.close()
    assert bench.target.closed


def test_writes_need_nobody_to_wait_for_them() -> None:
    bench = Bench()
    arrived = threading.Event()
    bench.writer = Writer(
        lambda: bench.target, bench.problems.append, QUICK, see=lambda batch: arrived.set()
    )
    bench.put("r", 1)
    assert arrived.wait(timeout=30)
    bench.close()
    assert bench.stored() == [("r", 1)]


def test_calls_come_between_the_writes_around_them() -> None:
    bench = Bench(Pace(interval=3600.0))
    bench.put("r", 1)
    seen = bench.writer.call(lambda target: len(target.batches))
    bench.put("r", 2)
    assert seen.result(timeout=30) == 1
    bench.close()
    assert bench.stored() == [("r", 1), ("r", 2)]


@pytest.mark.parametrize(
    ("error", "expected"),
    [(FATAL, StoreFailed), (RunNotFound("no"), RunNotFound), (KeyError("bug"), KeyError)],
)
def test_what_a_call_raises_is_raised_where_it_was_made(
    error: Exception, expected: type[Exception]
) -> None:
    bench = Bench()

    def work(target: Target) -> None:
        raise error

    with pytest.raises(expected):
        bench.writer.call(work).result(timeout=30)
    assert bench.writer.call(lambda target: 1).result(timeout=30) == 1
    bench.close()


def test_a_failure_that_passes_costs_nothing_and_repeats_its_number() -> None:
    bench = Bench()
    bench.target.plan = [PASSING, PASSING]
    bench.put("r", 1, 2)
    bench.flush()
    assert bench.stored() == [("r", 1), ("r", 2)]
    assert len(set(bench.target.numbers)) == 1
    assert bench.problems == []
    assert bench.writer.is_whole("r")
    bench.close()


def test_a_failure_that_stays_costs_the_run_its_rest_and_is_told_once() -> None:
    bench = Bench()
    bench.put("r", 1)
    bench.flush()
    bench.target.plan = [PASSING] * 100
    bench.put("r", 2)
    bench.flush()
    bench.target.plan = []
    bench.put("r", 3)
    bench.writer.put(end("r"))
    bench.put("next", 1)
    bench.flush()
    assert bench.stored() == [("r", 1), ("next", 1)]
    ends = [w for batch in bench.target.batches for w in batch if isinstance(w, EndRun)]
    assert [write.whole for write in ends] == [False]
    assert [(p.code, p.runs) for p in bench.problems] == [("failed", ("r",))]
    assert not bench.writer.is_whole("r")
    assert bench.writer.is_whole("next")
    bench.close()


def test_what_can_t_be_stored_takes_no_other_run_with_it() -> None:
    bench = Bench()
    bench.target.plan = [FATAL, frozenset(), FATAL, frozenset()]
    for run_id in ("one", "two", "three"):
        bench.put(run_id, 1)
    bench.flush()
    assert bench.stored() == [("one", 1), ("three", 1)]
    assert [p.runs for p in bench.problems] == [("two",)]
    bench.close()


def test_a_fault_in_one_write_does_not_end_the_thread() -> None:
    bench = Bench()
    bench.target.plan = [TypeError("secret words"), TypeError("secret words")]
    bench.put("bad", 1)
    bench.flush()
    bench.put("good", 1)
    bench.flush()
    assert bench.stored() == [("good", 1)]
    assert [p.runs for p in bench.problems] == [("bad",)]
    assert "secret" not in bench.problems[0].message
    bench.close()


def test_runs_that_belong_to_another_host_are_told_once() -> None:
    bench = Bench()
    bench.target.plan = [frozenset({"r"})]
    bench.put("r", 1)
    bench.flush()
    bench.put("r", 2)
    bench.flush()
    assert [(p.code, p.runs) for p in bench.problems] == [("lost", ("r",))]
    assert bench.stored() == [("r", 1)]
    bench.close()


def test_a_queue_that_is_full_costs_the_run_its_rest_and_keeps_its_beginning() -> None:
    bench = Bench(Pace(interval=0.01, capacity=2_000))
    bench.target.gate.clear()
    bench.put("first", 1)
    bench.writer.put(append("r", 1))
    bench.writer.put(append("r", 2, "y" * 5_000))
    bench.writer.put(append("r", 3))
    bench.writer.put(end("r"))
    bench.target.gate.set()
    bench.flush()
    assert bench.stored() == [("first", 1), ("r", 1)]
    assert [(p.code, p.runs) for p in bench.problems] == [("overrun", ("r",))]
    bench.close()


def test_a_lost_write_of_no_run_is_told_once_while_it_goes_on() -> None:
    bench = Bench(Pace(interval=0.01, capacity=0))
    bench.writer.put(Settle("r", "c"))
    bench.writer.put(Settle("r", "c"))
    assert [(p.code, p.runs) for p in bench.problems] == [("overrun", ("r",))]
    bench.close()


def test_a_store_that_can_t_be_opened_is_tried_again_later_only() -> None:
    tried: list[int] = []
    problems: list[StoreProblem] = []

    def connect() -> Target:
        tried.append(1)
        raise DatabaseFailed("no such place", passing=True, code="unavailable")

    writer = Writer(connect, problems.append, QUICK)
    for number in range(3):
        writer.put(append(f"r{number}", 1))
        writer.pause().result(timeout=30)
        with pytest.raises(StoreFailed):
            writer.call(lambda target: target).result(timeout=30)
    assert [(p.code, p.runs) for p in problems] == [
        ("unavailable", (f"r{number}",)) for number in range(3)
    ]
    assert len(tried) == 1
    thread = writer.close()
    assert thread is not None
    thread.join(timeout=30)


def test_a_close_stores_what_is_queued_and_refuses_the_rest() -> None:
    bench = Bench(Pace(interval=3600.0))
    bench.target.gate.clear()
    bench.put("r", 1, 2)
    waiting = bench.writer.call(lambda target: target.closed)
    thread = bench.writer.close()
    bench.put("r", 3)
    bench.target.gate.set()
    assert thread is not None
    thread.join(timeout=30)
    assert bench.stored() == [("r", 1), ("r", 2)]
    assert waiting.result(timeout=1) is False
    assert bench.target.closed
    with pytest.raises(StoreFailed):
        bench.writer.call(lambda target: 1).result(timeout=1)
    bench.flush()


def test_a_call_that_nobody_waits_for_any_more_is_not_made() -> None:
    bench = Bench()
    bench.target.gate.clear()
    bench.put("r", 1)
    made: list[int] = []
    blocked = bench.writer.call(lambda target: made.append(1))
    assert blocked.cancel()
    bench.target.gate.set()
    bench.flush()
    with pytest.raises(CancelledError):
        blocked.result(timeout=1)
    assert made == []
    bench.close()


def test_the_host_says_that_it_lives() -> None:
    bench = Bench(Pace(interval=0.001, beat_seconds=0.01))
    bench.flush()
    bench.put("r", 1)
    for _ in range(3):
        assert bench.target.beats.acquire(timeout=30)
    bench.close()


def test_a_writer_without_work_has_no_thread() -> None:
    bench = Bench()
    bench.flush()
    assert bench.writer.close() is None
