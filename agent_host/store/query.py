"""Reading single records and the list of sessions, each inside the caller's transaction.

Not here: pages of deltas (pages.py).
"""

from collections.abc import Collection, Sequence
from typing import cast

from sqlalchemy import ColumnElement, Connection, func, or_, select, tuple_

from agent_host.core.errors import RunNotFound, SessionNotFound
from agent_host.core.model import JsonObject
from agent_host.core.permission import Question
from agent_host.core.records import (
    EditRecord,
    RunRecord,
    SessionEntry,
    SessionPage,
    SessionQuery,
    SessionRecord,
)
from agent_host.store import codec
from agent_host.store.cursor import InList, list_place, to_text
from agent_host.store.edit_rows import edit_record
from agent_host.store.engine import Database
from agent_host.store.ownership import Ownership
from agent_host.store.rows import run_record, session_record, status_of
from agent_host.store.schema import edits, grants, history, leases, questions, runs, sessions
from agent_host.store.transfer import HistoryItem

_MOST_SESSIONS = 200


def session(connection: Connection, session_id: str) -> SessionRecord:
    """One session; raises SessionNotFound."""
    statement = select(sessions).where(sessions.c.session_id == session_id)
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise SessionNotFound("There is no session of that id.", sessionId=session_id)
    return session_record(row)


def run(connection: Connection, run_id: str, alive: Collection[str]) -> RunRecord:
    """One run; raises RunNotFound."""
    row = connection.execute(select(runs).where(runs.c.run_id == run_id)).mappings().first()
    if row is None:
        raise RunNotFound("There is no run of that id.", runId=run_id)
    return run_record(row, alive)


def runs_of(
    connection: Connection, session_id: str, alive: Collection[str]
) -> tuple[RunRecord, ...]:
    """A session's runs, oldest first."""
    statement = select(runs).where(runs.c.session_id == session_id).order_by(runs.c.ordinal)
    return tuple(run_record(row, alive) for row in connection.execute(statement).mappings())


def history_of(connection: Connection, session_id: str) -> tuple[JsonObject, ...]:
    """What was remembered since the last boundary."""
    here = history.c.session_id == session_id
    boundary = select(func.max(history.c.position)).where(here, history.c.boundary)
    since = func.coalesce(boundary.scalar_subquery(), 0)
    statement = (
        select(history.c.body)
        .where(here, history.c.position >= since, history.c.body.is_not(None))
        .order_by(history.c.position)
    )
    return tuple(_object(body) for body in connection.execute(statement).scalars())


def history_items(connection: Connection, session_id: str) -> tuple[HistoryItem, ...]:
    """Everything ever remembered, boundaries and what is before them included."""
    here = history.c.session_id == session_id
    statement = select(history).where(here).order_by(history.c.position)
    return tuple(
        HistoryItem(
            row["run_id"], row["boundary"], None if row["body"] is None else _object(row["body"])
        )
        for row in connection.execute(statement).mappings()
    )


def questions_of(connection: Connection, session_id: str) -> tuple[Question, ...]:
    """The open questions, oldest first."""
    here = questions.c.session_id == session_id
    order = (questions.c.at, questions.c.call_id)
    bodies = connection.execute(select(questions.c.body).where(here).order_by(*order)).scalars()
    return tuple(codec.decode(Question, body) for body in bodies)


def grants_of(connection: Connection, session_id: str) -> tuple[JsonObject, ...]:
    """The session's grants, oldest first."""
    here = grants.c.session_id == session_id
    statement = select(grants.c.body).where(here).order_by(grants.c.number)
    return tuple(_object(body) for body in connection.execute(statement).scalars())


def edits_of(connection: Connection, run_id: str) -> tuple[EditRecord, ...]:
    """A run's edits in their order."""
    statement = select(edits).where(edits.c.run_id == run_id).order_by(edits.c.number)
    return tuple(edit_record(row) for row in connection.execute(statement).mappings())


# ---- the list


def sessions_page(
    connection: Connection, database: Database, ownership: Ownership, query: SessionQuery
) -> SessionPage:
    """A page of the list, newest first."""
    limit = max(1, min(query.limit, _MOST_SESSIONS))
    statement = (
        select(sessions)
        .where(*_wanted(database, query))
        .order_by(sessions.c.updated.desc(), sessions.c.session_id.desc())
        .limit(limit + 1)
    )
    found = [session_record(row) for row in connection.execute(statement).mappings()]
    shown = found[:limit]
    cursor = None
    if len(found) > limit:
        cursor = to_text(InList(shown[-1].updated, shown[-1].session_id))
    return SessionPage(_entries(connection, ownership, shown), cursor)


def _wanted(database: Database, query: SessionQuery) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if query.workspace is not None:
        wanted.append(sessions.c.workspace == query.workspace)
    for word in codec.clean(query.text).casefold().split():
        in_prompt = select(runs.c.run_id).where(
            runs.c.session_id == sessions.c.session_id, database.contains(runs.c.search, word)
        )
        wanted.append(or_(database.contains(sessions.c.search, word), in_prompt.exists()))
    if query.cursor is not None:
        after = list_place(query.cursor)
        place = tuple_(sessions.c.updated, sessions.c.session_id)
        wanted.append(place < tuple_(after.updated, after.session_id))
    return wanted


def _entries(
    connection: Connection, ownership: Ownership, shown: Sequence[SessionRecord]
) -> tuple[SessionEntry, ...]:
    ids = [record.session_id for record in shown]
    alive = ownership.alive(connection)
    last = (
        select(runs.c.session_id, func.max(runs.c.ordinal))
        .where(runs.c.session_id.in_(ids))
        .group_by(runs.c.session_id)
    )
    columns = select(runs.c.session_id, runs.c.ordinal, runs.c.status, runs.c.host_id)
    statement = columns.where(tuple_(runs.c.session_id, runs.c.ordinal).in_(last))
    ends = {row["session_id"]: row for row in connection.execute(statement).mappings()}
    owners = select(leases.c.session_id, leases.c.host_id).where(leases.c.session_id.in_(ids))
    elsewhere = {
        session_id
        for session_id, owner in connection.execute(owners)
        if owner in alive and owner != ownership.me.host_id
    }
    asked = _open_questions(connection, ids)
    return tuple(
        SessionEntry(
            session=record,
            runs=end["ordinal"] if (end := ends.get(record.session_id)) is not None else 0,
            status=None if end is None else status_of(end, alive),
            elsewhere=record.session_id in elsewhere,
            questions=asked.get(record.session_id, 0),
        )
        for record in shown
    )


def _open_questions(connection: Connection, session_ids: Sequence[str]) -> dict[str, int]:
    counted = (
        select(questions.c.session_id, func.count())
        .where(questions.c.session_id.in_(session_ids))
        .group_by(questions.c.session_id)
    )
    return dict(connection.execute(counted).all())


def _object(body: str) -> JsonObject:
    return cast("JsonObject", codec.loads(body))
