"""The tables of the current schema version.

A change here needs a step in migrate.py and a higher VERSION. Bodies are JSON text of core data, so
that a field more needs no new column; what is searched, sorted or joined has one of its own.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION = 2

metadata = MetaData()


def _of_session() -> ForeignKey:
    return ForeignKey("sessions.session_id", ondelete="CASCADE")


def _of_run() -> ForeignKey:
    return ForeignKey("runs.run_id", ondelete="CASCADE")


version = Table("schema_version", metadata, Column("version", Integer, primary_key=True))

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("workspace", Text, nullable=False),
    Column("updated", Double, nullable=False),
    Column("created", Double, nullable=False),
    Column("search", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("title_by", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("runtime", Text, nullable=False),
    Column("parent_session", Text),
    Column("parent_run", Text),
    Index("sessions_newest", "updated", "session_id"),
    Index("sessions_of_workspace", "workspace", "updated", "session_id"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("session_id", Text, _of_session(), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("host_id", Text),
    Column("whole", Boolean, nullable=False),
    Column("started", Double, nullable=False),
    Column("ended", Double),
    # Before the large columns: a search must not read those.
    Column("search", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("outcome", Text),
    UniqueConstraint("session_id", "ordinal"),
    Index(
        "runs_running",
        "host_id",
        sqlite_where=text("status = 'running'"),
        postgresql_where=text("status = 'running'"),
    ),
)

events = Table(
    "events",
    metadata,
    Column("run_id", Text, _of_run(), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("through", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("origin", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("run_id", "seq"),
)

history = Table(
    "history",
    metadata,
    Column("session_id", Text, _of_session(), nullable=False),
    Column("position", Integer, nullable=False),
    Column("run_id", Text),
    Column("boundary", Boolean, nullable=False),
    # NULL: a boundary with nothing after it yet.
    Column("body", Text),
    PrimaryKeyConstraint("session_id", "position"),
    Index(
        "history_boundaries",
        "session_id",
        "position",
        sqlite_where=text("boundary"),
        postgresql_where=text("boundary"),
    ),
)

edits = Table(
    "edits",
    metadata,
    Column("edit_id", Text, primary_key=True),
    Column("session_id", Text, _of_session(), nullable=False),
    Column("run_id", Text, _of_run(), nullable=False),
    Column("number", Integer, nullable=False),
    Column("uri", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("before_sha256", Text),
    Column("after_sha256", Text),
    Column("at", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("trash_id", Text),
    Column("moved_to", Text),
    UniqueConstraint("run_id", "number"),
    Index("edits_of_session", "session_id"),
    Index("edits_before", "before_sha256"),
    Index("edits_after", "after_sha256"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("packed", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

questions = Table(
    "questions",
    metadata,
    Column("run_id", Text, _of_run(), nullable=False),
    Column("call_id", Text, nullable=False),
    Column("session_id", Text, _of_session(), nullable=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("run_id", "call_id"),
    Index("questions_of_session", "session_id"),
)

grants = Table(
    "grants",
    metadata,
    Column("session_id", Text, _of_session(), nullable=False),
    Column("number", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "number"),
)

hosts = Table(
    "hosts",
    metadata,
    Column("host_id", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Text, nullable=False),
    Column("heartbeat", Double, nullable=False),
    # The last batch of that host: a batch is never stored twice.
    Column("batch", Integer, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("session_id", Text, _of_session(), primary_key=True),
    Column("host_id", Text, nullable=False),
    Index("leases_of_host", "host_id"),
)

# Who changed which session last, for watching; `stamp` grows with every batch.
changes = Table(
    "changes",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("stamp", Integer, nullable=False),
    Column("host_id", Text, nullable=False),
    Index("changes_stamp", "stamp"),
)
