"""Sessions, runs and deltas as columns of the tables, and back. Not here: edits (edit_rows.py)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import cast

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from agent_host.core.model import Limits, Origin, PromptPart, RunResult, TextPart
from agent_host.core.records import RunRecord, SessionRecord, StoredDelta, StoredStatus
from agent_host.store import codec

SEARCHED_CHARACTERS = 4_000
"""How much of each prompt is searched."""


@dataclass(frozen=True, slots=True)
class _Request:
    prompt: tuple[PromptPart, ...]
    role: str
    model: str
    runtime: str
    cwd: str
    limits: Limits


# ---- to columns


def session_values(session: SessionRecord) -> dict[str, object]:
    """The columns of a session."""
    title = codec.clean(session.title)
    return {
        "session_id": session.session_id,
        "workspace": session.workspace,
        "updated": session.updated,
        "created": session.created,
        "search": title.casefold(),
        "title": title,
        "title_by": session.title_by,
        "role": session.role,
        "model": session.model,
        "runtime": session.runtime,
        "parent_session": session.parent_session,
        "parent_run": session.parent_run,
    }


def run_values(run: RunRecord) -> dict[str, object]:
    """The columns of a run, but its place in its session and its host."""
    words = "\n".join(part.text for part in run.prompt if isinstance(part, TextPart))
    request = _Request(run.prompt, run.role, run.model, run.runtime, run.cwd, run.limits)
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "status": run.status,
        "whole": run.whole,
        "started": run.started,
        "ended": run.ended,
        "search": codec.clean(words[:SEARCHED_CHARACTERS]).casefold(),
        "request": codec.encode(request),
        "outcome": _outcome(run),
    }


def _outcome(run: RunRecord) -> str | None:
    """How a run ended; None while it has not."""
    return codec.encode(run.result) if run.result else None


# ---- from columns


def session_record(row: RowMapping) -> SessionRecord:
    """A session from its columns."""
    return codec.record(SessionRecord, dict(row))


def run_record(row: RowMapping, alive: Collection[str]) -> RunRecord:
    """A run from its columns; what runs in a host that is not `alive` is interrupted."""
    request = codec.decode(_Request, str(row["request"]))
    run = RunRecord(
        run_id=str(row["run_id"]),
        session_id=str(row["session_id"]),
        prompt=request.prompt,
        role=request.role,
        model=request.model,
        runtime=request.runtime,
        started=cast("float", row["started"]),
        cwd=request.cwd,
        limits=request.limits,
        status=status_of(row, alive),
        ended=cast("float | None", row["ended"]),
        whole=bool(row["whole"]),
    )
    if row["outcome"] is None:
        return run
    result = codec.decode(RunResult, str(row["outcome"]))
    return replace(
        run,
        output=result.output,
        usage=result.usage,
        edits=result.edits,
        failure=result.failure,
        limit=result.limit,
        reason=result.reason,
    )


def status_of(row: Mapping[str, object] | RowMapping, alive: Collection[str]) -> StoredStatus:
    """The true status of a run: its host may be gone without a word."""
    if row["status"] == "running" and row["host_id"] not in alive:
        return "interrupted"
    return cast("StoredStatus", row["status"])


def stored_delta(row: RowMapping, session_id: str) -> StoredDelta:
    """A delta from its columns."""
    return StoredDelta(
        session_id=session_id,
        run_id=str(row["run_id"]),
        seq=int(row["seq"]),
        through=int(row["through"]),
        origin=codec.decode(Origin, str(row["origin"])),
        delta=codec.decode_delta(str(row["kind"]), str(row["body"])),
        at=float(row["at"]),
    )


# ---- numbers


def next_in(column: ColumnElement[int], where: ColumnElement[bool]) -> ColumnElement[int]:
    """The next number, as a part of the statement that uses it."""
    return select(func.coalesce(func.max(column), 0) + 1).where(where).scalar_subquery()


def next_number(
    connection: Connection, column: ColumnElement[int], where: ColumnElement[bool]
) -> int:
    """The next number."""
    highest = connection.execute(select(func.max(column)).where(where)).scalar_one()
    return (highest or 0) + 1
