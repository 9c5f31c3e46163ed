"""Pages of a session's past deltas, oldest first, across its runs.

A cursor stays good while the session grows: a text row that grew is continued where it was left.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import cast

from sqlalchemy import Connection, or_, select

from agent_host.core.errors import RunNotFound
from agent_host.core.records import DeltaPage, StoredDelta
from agent_host.store import codec
from agent_host.store.cursor import InSession, to_text
from agent_host.store.merge import SIZES, Mergeable
from agent_host.store.query import run
from agent_host.store.rows import stored_delta
from agent_host.store.schema import events, runs

_MOST_DELTAS = 2_000
_MOST_CHARACTERS = 1_000_000


@dataclass(slots=True)
class _Room:
    """What still fits on the page."""

    deltas: int
    characters: int = _MOST_CHARACTERS

    @property
    def is_full(self) -> bool:
        return self.deltas <= 0 or self.characters <= 0


def page(
    connection: Connection,
    session_id: str,
    place: InSession,
    limit: int,
    alive: Collection[str],
) -> DeltaPage:
    """The page after `place`."""
    room = _Room(max(1, min(limit, _MOST_DELTAS)))
    deltas: list[StoredDelta] = []
    begun: list[str] = []
    more = False
    most = room.deltas
    # The run that the page before ended in, those that may begin here, and one that tells of more.
    for run_id, ordinal in _runs_from(connection, session_id, place.ordinal, most + 2):
        if room.is_full or len(begun) >= most:
            more = True
            break
        if ordinal > place.ordinal:
            begun.append(run_id)
            place = InSession(ordinal, 0, 0, 0)
        for delta, after, size in _deltas_after(connection, session_id, run_id, place, room.deltas):
            if room.is_full:
                more = True
                break
            deltas.append(delta)
            place = after
            room.deltas -= 1
            room.characters -= size
        if more:
            break
    started = tuple(run(connection, run_id, alive) for run_id in begun)
    return DeltaPage(tuple(deltas), started, to_text(place), more)


def place_after(connection: Connection, session_id: str, run_id: str, seq: int) -> InSession:
    """The place after a delta of a run; raises RunNotFound."""
    here = (runs.c.session_id == session_id, runs.c.run_id == run_id)
    ordinal = connection.execute(select(runs.c.ordinal).where(*here)).scalar()
    if ordinal is None:
        raise RunNotFound("The session has no run of that id.", runId=run_id)
    statement = (
        select(events)
        .where(events.c.run_id == run_id, events.c.seq <= seq)
        .order_by(events.c.seq.desc())
        .limit(1)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        return InSession(ordinal, 0, 0, 0)
    sizes = _sizes(row["body"])[: seq - row["seq"] + 1]
    delta = stored_delta(row, session_id).delta
    if seq >= row["through"]:
        known = len(delta.text) if isinstance(delta, Mergeable) else 0
        return InSession(ordinal, row["seq"], row["through"], known)
    if not sizes:  # a row of an import: better some of it twice than some of it never
        return InSession(ordinal, row["seq"] - 1, row["seq"] - 1, 0)
    return InSession(ordinal, row["seq"], seq, sum(sizes))


def _sizes(body: str) -> list[int]:
    value = cast("dict[str, list[int]]", codec.loads(body))
    return value.get(SIZES, [])


def _runs_from(
    connection: Connection, session_id: str, ordinal: int, limit: int
) -> list[tuple[str, int]]:
    statement = (
        select(runs.c.run_id, runs.c.ordinal)
        .where(runs.c.session_id == session_id, runs.c.ordinal >= ordinal)
        .order_by(runs.c.ordinal)
        .limit(limit)
    )
    return [(run_id, number) for run_id, number in connection.execute(statement)]


def _deltas_after(
    connection: Connection, session_id: str, run_id: str, place: InSession, limit: int
) -> Iterator[tuple[StoredDelta, InSession, int]]:
    """One more than `limit` deltas, each with the place after it and its size."""
    # The plain range comes first, so that the index finds the place.
    new = or_(events.c.seq > place.seq, events.c.through > place.through)
    statement = (
        select(events)
        .where(events.c.run_id == run_id, events.c.seq >= place.seq, new)
        .order_by(events.c.seq)
        .limit(limit + 1)
    )
    for row in connection.execute(statement).mappings():
        delta = stored_delta(row, session_id)
        size = len(row["body"])
        known = len(delta.delta.text) if isinstance(delta.delta, Mergeable) else 0
        after = InSession(place.ordinal, delta.seq, delta.through, known)
        yield _rest(delta, place) if delta.seq == place.seq else delta, after, size


def _rest(delta: StoredDelta, place: InSession) -> StoredDelta:
    """What was added to a text row after `place`."""
    if not isinstance(delta.delta, Mergeable):
        return delta
    text = delta.delta.text[place.characters :]
    return replace(delta, seq=place.through + 1, delta=replace(delta.delta, text=text))
