"""Edits and the bytes of files before and after them, kept once for each hash."""

import hashlib
import zlib

from sqlalchemy import Connection, RowMapping, delete, exists, insert, or_, select, text, update

from agent_host.core.records import EditRecord
from agent_host.store import codec
from agent_host.store.engine import Database
from agent_host.store.rows import next_in
from agent_host.store.schema import blobs, edits
from agent_host.store.writes import UpdateEdit

_BLOBS_LOCK = 4_710_335_222
"""PostgreSQL's advisory lock: shared while bytes are added, exclusive while unused ones go."""


def record_edit(
    connection: Connection,
    database: Database,
    edit: EditRecord,
    before: bytes | None,
    after: bytes | None,
) -> None:
    """Add an edit at the end of its run, with its bytes."""
    _lock_blobs(connection, database, exclusive=False)
    for data, sha256 in ((before, edit.before_sha256), (after, edit.after_sha256)):
        if data is not None:
            _keep(connection, database, data, sha256)
    values = {
        "edit_id": edit.edit_id,
        "session_id": edit.session_id,
        "run_id": edit.run_id,
        "number": next_in(edits.c.number, edits.c.run_id == edit.run_id),
        "uri": edit.uri,
        "kind": edit.kind,
        "place": edit.place,
        "before_sha256": edit.before_sha256,
        "after_sha256": edit.after_sha256,
        "at": edit.at,
        "state": edit.state,
        "trash_id": edit.trash_id,
        "moved_to": edit.moved_to,
    }
    connection.execute(insert(edits).values(values))


def update_edit(connection: Connection, write: UpdateEdit) -> None:
    """Move an edit on."""
    values: dict[str, object] = {"state": write.state}
    if write.trash_id is not None:
        values["trash_id"] = write.trash_id
    connection.execute(update(edits).where(edits.c.edit_id == write.edit_id).values(values))


def edit_record(row: RowMapping) -> EditRecord:
    """An edit from its columns."""
    return codec.record(EditRecord, dict(row))


def contents(connection: Connection, sha256: str) -> bytes | None:
    """The bytes of that hash, if they were kept."""
    row = connection.execute(select(blobs).where(blobs.c.sha256 == sha256)).mappings().first()
    if row is None:
        return None
    data = bytes(row["data"])
    return zlib.decompress(data) if row["packed"] else data


def forget_contents(connection: Connection, database: Database, session_id: str) -> None:
    """Remove the bytes that only edits of this session name; the edits themselves stay."""
    _lock_blobs(connection, database, exclusive=True)
    own = edits.c.session_id == session_id
    named = select(edits.c.before_sha256).where(own).union(select(edits.c.after_sha256).where(own))
    others = exists().where(
        edits.c.session_id != session_id,
        or_(edits.c.before_sha256 == blobs.c.sha256, edits.c.after_sha256 == blobs.c.sha256),
    )
    connection.execute(delete(blobs).where(blobs.c.sha256.in_(named), ~others))


def _keep(connection: Connection, database: Database, data: bytes, sha256: str | None) -> None:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError("the bytes of an edit are not those that its hash names")
    # Fast rather than small: whoever edits waits for the commit.
    packed = zlib.compress(data, 1)
    smaller = len(packed) < len(data)
    values = {"sha256": sha256, "packed": smaller, "data": packed if smaller else data}
    database.add_once(connection, blobs, values)


def _lock_blobs(connection: Connection, database: Database, *, exclusive: bool) -> None:
    """Keep others from adding (or, if exclusive, from removing) bytes until the commit."""
    if not database.is_sqlite:
        kind = "" if exclusive else "_shared"
        connection.execute(text(f"SELECT pg_advisory_xact_lock{kind}({_BLOBS_LOCK})"))
