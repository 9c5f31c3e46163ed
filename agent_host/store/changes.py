"""Changes of whole sessions: rename, delete, fork, import; inside the caller's transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, delete, func, insert, literal, select, update

from agent_host.core.errors import InvalidRequest, RunNotFound, SessionBusy
from agent_host.core.records import SessionRecord, TitleSource
from agent_host.store import codec
from agent_host.store.edit_rows import forget_contents
from agent_host.store.engine import Database
from agent_host.store.ownership import Ownership
from agent_host.store.query import session
from agent_host.store.rows import run_values, session_values
from agent_host.store.schema import events, history, leases, runs, sessions
from agent_host.store.transfer import Exported

NewId = Callable[[], str]


def rename(connection: Connection, session_id: str, title: str, by: TitleSource) -> bool:
    """Set a title; False if a user's title stands. Raises SessionNotFound."""
    found = session(connection, session_id)
    if found.title_by == "user" and by != "user":
        return False
    title = codec.clean(title)
    values = {"title": title, "title_by": by, "search": title.casefold()}
    connection.execute(update(sessions).where(sessions.c.session_id == session_id).values(values))
    return True


def remove(
    connection: Connection, database: Database, ownership: Ownership, session_id: str
) -> None:
    """Remove a session and all of it; raises SessionNotFound, or SessionBusy if owned elsewhere."""
    session(connection, session_id)
    owner = connection.execute(
        select(leases.c.host_id).where(leases.c.session_id == session_id)
    ).scalar()
    if owner not in (None, ownership.me.host_id) and owner in ownership.alive(connection):
        raise SessionBusy(
            "The session is open in another editor: close it there first.",
            sessionId=session_id,
            elsewhere=True,
        )
    forget_contents(connection, database, session_id)
    connection.execute(delete(sessions).where(sessions.c.session_id == session_id))


# ---- fork


@dataclass(frozen=True, slots=True)
class Fork:
    """What is to be copied: a session up to and with a run (None: the last that ended)."""

    session_id: str
    copy_id: str
    at_run: str | None
    at: float


def fork(
    connection: Connection, ownership: Ownership, new_id: NewId, wanted: Fork
) -> SessionRecord:
    """Copy a session; raises SessionNotFound, RunNotFound, InvalidRequest."""
    session_id = wanted.session_id
    original = session(connection, session_id)
    last = _fork_point(connection, ownership, session_id, wanted.at_run)
    forked = replace(
        original,
        session_id=wanted.copy_id,
        created=wanted.at,
        updated=wanted.at,
        parent_session=session_id,
        parent_run=last[0] if last is not None else None,
    )
    taken = select(sessions.c.session_id).where(sessions.c.session_id == forked.session_id)
    if connection.execute(taken).first() is not None:
        raise InvalidRequest("The fork's session id is taken: choose another.")
    connection.execute(insert(sessions).values(session_values(forked)))
    ids = _copy_runs(connection, new_id, session_id, forked.session_id, last[1] if last else 0)
    _copy_history(connection, session_id, forked.session_id, ids)
    return forked


def _fork_point(
    connection: Connection, ownership: Ownership, session_id: str, at_run: str | None
) -> tuple[str, int] | None:
    """The id and number of the last run to copy; None: there is none."""
    columns = select(runs.c.run_id, runs.c.ordinal, runs.c.status, runs.c.host_id)
    here = columns.where(runs.c.session_id == session_id).order_by(runs.c.ordinal.desc())
    alive = ownership.alive(connection)
    for run_id, ordinal, status, host_id in connection.execute(here):
        going = status == "running" and host_id in alive
        if at_run == run_id and going:
            raise InvalidRequest("runId: that run has not ended yet; wait for it or stop it.")
        if at_run == run_id or (at_run is None and not going):
            return run_id, ordinal
    if at_run is not None:
        raise RunNotFound("The session has no run of that id.", runId=at_run)
    return None


def _copy_runs(
    connection: Connection, new_id: NewId, session_id: str, copy_id: str, last: int
) -> dict[str, str]:
    """Copy the runs up to number `last`; returns the new id of each."""
    here = (runs.c.session_id == session_id, runs.c.ordinal <= last)
    found = connection.execute(select(runs.c.run_id).where(*here).order_by(runs.c.ordinal))
    ids = {run_id: new_id() for run_id in found.scalars()}
    rest = [column for column in runs.c if column.name not in ("run_id", "session_id")]
    steps = [column for column in events.c if column.name != "run_id"]
    for old, new in ids.items():
        values = select(literal(new), literal(copy_id), *rest).where(runs.c.run_id == old)
        names = ["run_id", "session_id", *(column.name for column in rest)]
        connection.execute(insert(runs).from_select(names, values))
        values = select(literal(new), *steps).where(events.c.run_id == old)
        names = ["run_id", *(column.name for column in steps)]
        connection.execute(insert(events).from_select(names, values))
    where = (runs.c.session_id == copy_id, runs.c.status == "running")
    connection.execute(update(runs).where(*where).values(status="interrupted"))
    return ids


def _copy_history(
    connection: Connection, session_id: str, copy_id: str, ids: dict[str, str]
) -> None:
    """Copy what was remembered before the first run that is not copied."""
    here = history.c.session_id == session_id
    others = select(runs.c.run_id).where(
        runs.c.session_id == session_id, runs.c.run_id.not_in(list(ids))
    )
    end = connection.execute(
        select(func.min(history.c.position)).where(here, history.c.run_id.in_(others))
    ).scalar()
    statement = select(history).where(here).order_by(history.c.position)
    if end is not None:
        statement = statement.where(history.c.position < end)
    rows = [
        {**row, "session_id": copy_id, "run_id": ids.get(row["run_id"])}
        for row in connection.execute(statement).mappings()
    ]
    if rows:
        connection.execute(insert(history), rows)


# ---- import


def add_exported(
    connection: Connection, ownership: Ownership, new_id: NewId, exported: Exported
) -> SessionRecord:
    """Add an imported session; ids that are taken are replaced."""
    record = exported.session
    taken = select(sessions.c.session_id).where(sessions.c.session_id == record.session_id)
    if connection.execute(taken).first() is not None:
        record = replace(record, session_id=new_id())
    connection.execute(insert(sessions).values(session_values(record)))
    ids = {run.run_id: run.run_id for run in exported.runs}
    for run_id in _taken_runs(connection, list(ids)):
        ids[run_id] = new_id()
    for number, run in enumerate(exported.runs, 1):
        moved = replace(run, run_id=ids[run.run_id], session_id=record.session_id)
        connection.execute(
            insert(runs).values({**run_values(moved), "ordinal": number, "host_id": None})
        )
    rows = [row.values(ids[run_id]) for run_id, row in exported.events]
    if rows:
        connection.execute(insert(events), rows)
    items = [
        {
            "session_id": record.session_id,
            "position": position,
            "run_id": ids.get(item.run_id or ""),
            "boundary": item.boundary,
            "body": None if item.body is None else codec.dumps(item.body),
        }
        for position, item in enumerate(exported.history, 1)
    ]
    if items:
        connection.execute(insert(history), items)
    ownership.note_change(connection, [record.session_id])
    return record


def _taken_runs(connection: Connection, run_ids: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for begin in range(0, len(run_ids), 500):
        some = run_ids[begin : begin + 500]
        taken += connection.execute(select(runs.c.run_id).where(runs.c.run_id.in_(some))).scalars()
    return taken
