"""The one thread that writes: a bounded queue in front, a transaction for each batch behind.

A run whose write is lost keeps what came before and nothing after, and is reported once. Not here:
what a write does to the tables (apply.py).
"""

import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from agent_host.core.errors import AgentHostError
from agent_host.core.records import ProblemCode, StoreProblem
from agent_host.store.failure import DatabaseFailed
from agent_host.store.writes import EndRun, StartRun, Write, run_of, size_of

_CLOSING_PATIENCE = 1.0
_RETRY_SECONDS = 0.1
_log = logging.getLogger(__name__)
_REOPEN_SECONDS = 5.0


class Target(Protocol):
    """What the thread writes to. Every method raises DatabaseFailed."""

    def apply(self, batch: Sequence[Write], number: int) -> frozenset[str]:
        """One transaction; a `number` that is stored already is skipped.

        Returns the runs that this host may not write to any more.
        """
        ...

    def beat(self) -> None:
        """Called every few seconds."""

    def close(self) -> None:
        """Release what is owned."""


TargetT = TypeVar("TargetT", bound=Target)
_Answer = TypeVar("_Answer")
Report = Callable[[StoreProblem], None]


@dataclass(frozen=True, slots=True)
class Call(Generic[TargetT]):
    """Work that somebody waits for; it runs between two batches."""

    work: Callable[[TargetT], None]
    refuse: Callable[[Exception], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a write may wait for company, how long a failing database is tried again, and how
    often this host says that it lives, in seconds; what may be queued, in bytes.
    """

    interval: float = 0.15
    patience: float = 5.0
    beat_seconds: float = 5.0
    capacity: int = 64 * 1024 * 1024


class Writer(Generic[TargetT]):
    """`put`, `call` and `is_whole` may be called from any thread and never wait.

    `report` is called on the writer's thread, as is `see` with every batch before it is stored.
    """

    def __init__(
        self,
        connect: Callable[[], TargetT],
        report: Report,
        pace: Pace,
        *,
        see: Callable[[Sequence[Write]], None] | None = None,
    ) -> None:
        self._connect = connect
        self._report = report
        self._pace = pace
        self._see = see
        self._changed = threading.Condition()
        self._queue: deque[Write | Call[TargetT]] = deque()
        self._queued = 0
        self._hurried = False
        self._closing = threading.Event()
        self._broken: set[str] = set()
        self._overrun: set[str] = set()
        self._failing = False
        self._number = 0
        self._target: TargetT | None = None
        self._refusal: tuple[float, DatabaseFailed] | None = None
        self._thread: threading.Thread | None = None

    # ---- from any thread

    def put(self, write: Write) -> None:
        """Queue a write. When there is no room the run is not whole from here on."""
        size = size_of(write)
        run_id = run_of(write)
        with self._changed:
            known = run_id in self._broken or run_id in self._overrun
            if self._closing.is_set() or (known and not isinstance(write, EndRun)):
                return
            fits = self._queued + size <= self._pace.capacity or isinstance(
                write, EndRun | StartRun
            )
            if fits:
                self._queued += size
                self._enter(write)
                # That a run began or ended is to be known at once.
                self._hurried = self._hurried or isinstance(write, EndRun | StartRun)
                return
            # What was queued before is stored all the same.
            lost: set[str] = set() if run_id is None else {run_id}
            self._overrun |= lost
        self._tell("overrun", "too much came at once", lost, anew=not lost)

    def call(self, work: Callable[[TargetT], _Answer]) -> "Future[_Answer]":
        """Do `work` after everything queued; it may raise AgentHostError or DatabaseFailed."""
        future: Future[_Answer] = Future()

        def run(target: TargetT) -> None:
            if future.set_running_or_notify_cancel():
                _settle(future, lambda: work(target))

        def refuse(error: Exception) -> None:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)

        with self._changed:
            if not self._closing.is_set():
                self._enter(Call(run, refuse))
                self._hurried = True
                return future
        refuse(DatabaseFailed("it is closed", passing=False).for_user())
        return future

    def is_whole(self, run_id: str) -> bool:
        """Whether nothing of that run was lost so far."""
        with self._changed:
            return run_id not in self._broken and run_id not in self._overrun

    def pause(self) -> "Future[None]":
        """Done when everything queued so far is stored or given up; never fails."""
        done: Future[None] = Future()

        def finish(_: object) -> None:
            if done.set_running_or_notify_cancel():
                done.set_result(None)

        with self._changed:
            if self._thread is not None and not self._closing.is_set():
                self._enter(Call(finish, finish))
                self._hurried = True
                return done
        finish(None)
        return done

    def break_off(self, run_id: str, reason: str) -> None:
        """Something of that run was lost in a `call`."""
        self._give_up({run_id}, "failed", reason)

    def close(self) -> threading.Thread | None:
        """Store what is queued and end; returns the thread to join, if it was ever begun."""
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            return self._thread

    def _enter(self, item: Write | Call[TargetT]) -> None:
        self._queue.append(item)
        if self._thread is None:
            # A daemon, so that a host that must end at once is not held up by a slow database.
            self._thread = threading.Thread(target=self._main, name="store-writer", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    # ---- on the thread

    def _main(self) -> None:
        due = time.monotonic() + self._pace.beat_seconds
        while self._wait(due):
            writes: list[Write] = []
            for item in self._take():
                if isinstance(item, Call):
                    self._store(writes)
                    writes = []
                    self._answer(item)
                else:
                    writes.append(item)
            self._store(writes)
            if time.monotonic() >= due:
                self._beat()
                due = time.monotonic() + self._pace.beat_seconds
        if self._target is not None:
            self._quietly(self._target.close)

    def _wait(self, due: float) -> bool:
        """Until there is something to do; False when all is done and closed."""
        with self._changed:
            while not self._queue and not self._closing.is_set() and time.monotonic() < due:
                self._changed.wait(due - time.monotonic())
            if not self._queue:
                return not self._closing.is_set()
            full = time.monotonic() + self._pace.interval
            while not self._hurried and not self._closing.is_set() and time.monotonic() < full:
                self._changed.wait(full - time.monotonic())
            return True

    def _take(self) -> list[Write | Call[TargetT]]:
        with self._changed:
            items = list(self._queue)
            self._queue.clear()
            self._queued = 0
            self._hurried = False
            return items

    def _answer(self, call: Call[TargetT]) -> None:
        try:
            target = self._opened()
        except DatabaseFailed as error:
            call.refuse(error.for_user())
            return
        call.work(target)

    def _beat(self) -> None:
        if self._target is not None:
            self._quietly(self._target.beat)

    def _quietly(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DatabaseFailed:
            # The next batch meets the same failure and reports it.
            return

    def _opened(self) -> TargetT:
        if self._target is not None:
            return self._target
        if self._refusal is not None:
            when, error = self._refusal
            if error.code == "newer" or time.monotonic() - when < _REOPEN_SECONDS:
                raise error
        try:
            self._target = self._connect()
        except DatabaseFailed as error:
            self._refusal = (time.monotonic(), error)
            raise
        return self._target

    def _store(self, batch: Sequence[Write]) -> None:
        if self._see is not None and batch:
            self._see(batch)
        writes = [whole for write in batch if (whole := self._as_known(write)) is not None]
        if not writes:
            return
        try:
            self._try(writes)
        except DatabaseFailed as error:
            if error.passing or self._target is None:
                self._fail(writes, error)
            else:
                self._store_apart(writes)

    def _store_apart(self, writes: Sequence[Write]) -> None:
        """Each run by itself, so that one that can't be stored does not take others with it."""
        groups: dict[str | None, list[Write]] = {}
        for write in writes:
            groups.setdefault(run_of(write), []).append(write)
        for group in groups.values():
            try:
                self._try(group)
            except DatabaseFailed as error:
                self._fail(group, error)

    def _try(self, writes: Sequence[Write]) -> None:
        """One transaction, again and again while the failure may pass."""
        began = time.monotonic()
        self._number += 1
        while True:
            try:
                self._lose(self._apply(writes))
            except DatabaseFailed as error:
                limit = _CLOSING_PATIENCE if self._closing.is_set() else self._pace.patience
                hopeless = not error.passing or self._target is None
                if hopeless or time.monotonic() - began > limit:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                self._failing = False
                return

    def _apply(self, writes: Sequence[Write]) -> frozenset[str]:
        target = self._opened()
        try:
            return target.apply(writes, self._number)
        except DatabaseFailed:
            raise
        except Exception as error:
            # A fault of ours in one write must not end the thread that all others need.
            name = type(error).__name__
            frames = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a write failed with %s:\n%s", name, frames)
            raise DatabaseFailed(f"a fault of the store ({name})", passing=False) from error

    def _as_known(self, write: Write) -> Write | None:
        run_id = run_of(write)
        if isinstance(write, EndRun):
            return replace(write, whole=self.is_whole(write.result.run_id))
        with self._changed:
            return None if run_id in self._broken else write

    def _fail(self, writes: Sequence[Write], error: DatabaseFailed) -> None:
        runs = {run_id for write in writes if (run_id := run_of(write)) is not None}
        self._give_up(runs, error.code, error.reason)

    def _lose(self, runs: frozenset[str]) -> None:
        if runs:
            self._give_up(set(runs), "lost", "another host has taken the session over")

    def _give_up(self, runs: set[str], code: ProblemCode, reason: str) -> None:
        with self._changed:
            fresh = runs - self._broken
            self._broken |= fresh
        self._tell(code, reason, fresh, anew=not runs)

    def _tell(self, code: ProblemCode, reason: str, fresh: set[str], *, anew: bool = False) -> None:
        """Report what was lost: once for each run, and once (`anew`) while nothing else works."""
        with self._changed:
            known, self._failing = self._failing, True
        if fresh or (anew and not known):
            self._report(_problem(code, reason, tuple(sorted(fresh))))


def _problem(code: ProblemCode, reason: str, runs: tuple[str, ...]) -> StoreProblem:
    if code in ("unavailable", "newer"):
        message = f"Sessions are not stored: {reason}. Runs go on, but what they do is not kept."
        return StoreProblem(code, message, runs)
    return StoreProblem(code, f"A session is not stored whole: {reason}.", runs)


def _settle(future: "Future[_Answer]", work: Callable[[], _Answer]) -> None:
    """Put what `work` returns or raises into the future; nothing may end the thread."""
    try:
        answer = work()
    except DatabaseFailed as error:
        future.set_exception(error.for_user())
    except AgentHostError as error:
        future.set_exception(error)
    except Exception as error:  # noqa: BLE001 - raised again in whoever waits
        future.set_exception(error)
    else:
        future.set_result(answer)
