"""Kept sessions as the wire tells them; pure."""

from collections.abc import Sequence

from agent_host.core.model import PromptPart, TextPart
from agent_host.core.permission import Question
from agent_host.core.records import (
    DeltaPage,
    EditRecord,
    RunRecord,
    SessionEntry,
    SessionPage,
    SessionRecord,
    StoredDelta,
)
from agent_host.lsp import wire, wire_session
from agent_host.lsp.convert import delta, origin
from agent_host.lsp.wire_delta import AgentDelta
from agent_host.session.manager import Stopped
from agent_host.session.pending import Steered, Waiting
from agent_host.session.revert import Reverted


def list_answer(page: SessionPage) -> wire_session.ListSessionsAnswer:
    return wire_session.ListSessionsAnswer(
        sessions=[_entry(entry) for entry in page.entries], cursor=page.cursor
    )


def load_answer(
    page: DeltaPage,
    cut_short: Sequence[EditRecord] = (),
    left_open: Sequence[Question] = (),
) -> wire_session.LoadSessionAnswer:
    return wire_session.LoadSessionAnswer(
        deltas=[stored_delta(stored) for stored in page.deltas],
        runs=[_run(run) for run in page.runs],
        cut_short=[_cut_short(edit) for edit in cut_short] or None,
        left_open=[_left_open(question) for question in left_open] or None,
        cursor=page.cursor,
        more=page.more,
    )


def revert_answer(reverted: Reverted) -> wire_session.RevertAnswer:
    return wire_session.RevertAnswer(
        run_id=reverted.run_id,
        files=[
            wire_session.RevertedFileWire(uri=file.uri, status=file.status, reason=file.reason)
            for file in reverted.files
        ],
    )


def stop_answer(stopped: Stopped) -> wire.StopAnswer:
    back = [waiting(each) for each in stopped.handed_back]
    return wire.StopAnswer(stopped=list(stopped.run_ids), handed_back=back or None)


def steer_answer(steered: Steered) -> wire.SteerAnswer:
    return wire.SteerAnswer(accepted=steered.accepted, id=steered.id, run_id=steered.run_id)


def waiting(each: Waiting) -> wire.WaitingWire:
    return wire.WaitingWire(id=each.id, prompt=prompt_text(each.prompt), when=each.when)


def prompt_text(prompt: tuple[PromptPart, ...]) -> str:
    """The words of a prompt, without what was attached."""
    return "\n".join(part.text for part in prompt if isinstance(part, TextPart))


def _entry(entry: SessionEntry) -> wire_session.SessionWire:
    session: SessionRecord = entry.session
    return wire_session.SessionWire(
        session_id=session.session_id,
        title=session.title,
        role=session.role,
        model=session.model,
        runtime=session.runtime,
        created=session.created,
        updated=session.updated,
        runs=entry.runs,
        status=entry.status,
        elsewhere=entry.elsewhere,
        parent_session_id=session.parent_session,
        parent_run_id=session.parent_run,
    )


def stored_delta(stored: StoredDelta) -> AgentDelta:
    return AgentDelta(
        session_id=stored.session_id,
        run_id=stored.run_id,
        seq=stored.seq,
        through=stored.through if stored.through > stored.seq else None,
        origin=origin(stored.origin),
        delta=delta(stored.delta),
    )


def _cut_short(edit: EditRecord) -> wire_session.CutShortWire:
    match edit.state:
        case "applied":
            outcome = "made"
        case "failed":
            outcome = "notMade"
        case _:
            outcome = "unknown"
    return wire_session.CutShortWire(
        run_id=edit.run_id, uri=edit.uri, kind=edit.kind, outcome=outcome
    )


def _left_open(question: Question) -> wire_session.LeftOpenWire:
    return wire_session.LeftOpenWire(
        run_id=question.run_id, call_id=question.call_id, title=question.title
    )


def _run(run: RunRecord) -> wire_session.StoredRunWire:
    return wire_session.StoredRunWire(
        run_id=run.run_id,
        prompt=prompt_text(run.prompt),
        status=run.status,
        started=run.started,
        ended=run.ended,
    )
