"""A session as JSON lines, and back: the form in which it moves between stores. Pure.

One object a line: the session, its runs, their deltas, its history, and an end that counts the
lines before it, so that a cut file is noticed. Edits, grants and questions stay behind.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from agent_host.core.errors import InvalidRequest
from agent_host.core.model import JsonObject, Origin
from agent_host.core.records import RunRecord, SessionRecord, StoredDelta
from agent_host.store import codec
from agent_host.store.merge import Row

FORMAT = 1


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """One remembered item in its place; `body` None: a boundary with nothing after it."""

    run_id: str | None
    boundary: bool
    body: JsonObject | None


@dataclass(frozen=True, slots=True)
class Exported:
    """A session by itself; `events` name their runs."""

    session: SessionRecord
    runs: tuple[RunRecord, ...]
    events: tuple[tuple[str, Row], ...]
    history: tuple[HistoryItem, ...]


def session_line(session: SessionRecord) -> str:
    """The first line."""
    return _line("session", {"format": FORMAT, "session": codec.plain(session)})


def run_line(run: RunRecord) -> str:
    """A run; its deltas follow somewhere after it."""
    return _line("run", {"run": codec.plain(run)})


def delta_line(delta: StoredDelta) -> str:
    """A delta of a run."""
    return _line(
        "delta",
        {
            "run_id": delta.run_id,
            "seq": delta.seq,
            "through": delta.through,
            "at": delta.at,
            "origin": codec.plain(delta.origin),
            "delta": codec.delta_kind(delta.delta),
            "body": codec.plain(delta.delta),
        },
    )


def history_line(item: HistoryItem) -> str:
    """A remembered item."""
    return _line("history", {"item": codec.plain(item)})


def end_line(lines: int) -> str:
    """The last line; `lines` are before it."""
    return _line("end", {"lines": lines})


def read(lines: Iterable[str]) -> Exported:
    """What was exported; raises InvalidRequest with the number of the bad line."""
    reader = _Reader()
    try:
        for line in lines:
            reader.line(line)
        return reader.finished()
    except codec.CodecError as error:
        raise InvalidRequest(f"line {reader.number} can't be imported: {error}") from error


class _Reader:
    def __init__(self) -> None:
        self.number = 0
        self._session: SessionRecord | None = None
        self._runs: dict[str, RunRecord] = {}
        self._through: dict[str, int] = {}
        self._events: list[tuple[str, Row]] = []
        self._history: list[HistoryItem] = []
        self._lines = 0
        self._ended = False

    def line(self, text: str) -> None:
        self.number += 1
        if not text.strip():
            return
        value = codec.loads(text)
        if not isinstance(value, dict) or self._ended:
            raise codec.CodecError("an object before the end is expected")
        members = cast("Mapping[str, object]", value)
        if (members.get("kind") == "session") != (self._session is None):
            raise codec.CodecError("the session comes first, and once")
        self._member(str(members.get("kind")), members)
        self._lines += 1

    def finished(self) -> Exported:
        if self._session is None or not self._ended:
            raise codec.CodecError("it is cut off: export it again")
        return Exported(
            self._session, tuple(self._runs.values()), tuple(self._events), tuple(self._history)
        )

    def _member(self, kind: str, members: Mapping[str, object]) -> None:
        match kind:
            case "session":
                if members.get("format") != FORMAT:
                    raise codec.CodecError("it has a format of another version")
                self._session = codec.record(SessionRecord, members.get("session"))
            case "run":
                run = codec.record(RunRecord, members.get("run"))
                status = "interrupted" if run.status == "running" else run.status
                self._runs[run.run_id] = replace(run, status=status)
            case "delta":
                self._delta(members)
            case "history":
                self._history.append(codec.record(HistoryItem, members.get("item")))
            case "end":
                if members.get("lines") != self._lines:
                    raise codec.CodecError("lines are missing")
                self._ended = True
            case _:
                raise codec.CodecError("its kind is unknown")

    def _delta(self, members: Mapping[str, object]) -> None:
        head = codec.record(_Head, dict(members))
        if head.run_id not in self._runs:
            raise codec.CodecError("its run is missing")
        if not self._through.get(head.run_id, 0) < head.seq <= head.through:
            raise codec.CodecError("its deltas are not in order")
        self._through[head.run_id] = head.through
        delta = codec.decode_delta(head.delta, codec.dumps(members.get("body")))
        row = Row(head.seq, head.through, head.at, head.origin, delta)
        self._events.append((head.run_id, row))


@dataclass(frozen=True, slots=True)
class _Head:
    run_id: str
    seq: int
    through: int
    at: float
    origin: Origin
    delta: str


def lines_of(
    session: SessionRecord,
    runs: Iterable[RunRecord],
    deltas: Iterable[StoredDelta],
    history: Iterable[HistoryItem],
) -> Iterator[str]:
    """All lines of a session."""
    count = 0
    for line in _lines(session, runs, deltas, history):
        count += 1
        yield line
    yield end_line(count)


def _lines(
    session: SessionRecord,
    runs: Iterable[RunRecord],
    deltas: Iterable[StoredDelta],
    history: Iterable[HistoryItem],
) -> Iterator[str]:
    yield session_line(session)
    yield from map(run_line, runs)
    yield from map(delta_line, deltas)
    yield from map(history_line, history)


def _line(kind: str, members: Mapping[str, object]) -> str:
    return codec.dumps({"kind": kind, **members}) + "\n"
