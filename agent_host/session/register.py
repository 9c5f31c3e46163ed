"""Puts a run that is about to begin, and the session that begins with it, into the store."""

from collections.abc import Sequence

from agent_host.core.model import PromptPart, TextPart
from agent_host.core.records import RunRecord, SessionRecord
from agent_host.session.heading import heading
from agent_host.session.plan import Plan
from agent_host.session.session import Session
from agent_host.session.staff import Staff


def register(session: Session, plan: Plan, staff: Staff) -> None:
    """Queue what is to be kept of the run's beginning."""
    store, now = staff.store, staff.clock.now()
    if session.record is None:
        session.known, session.first_run = True, plan.run_id
        session.record = SessionRecord(
            session.session_id,
            plan.role.name,
            plan.model,
            plan.runtime_name,
            staff.workspace(),
            now,
            now,
            title=_title(plan.said),
        )
    if session.first_run == plan.run_id or not session.kept(store):
        store.open_session(session.record)
    store.update_session(
        session.session_id, role=plan.role.name, model=plan.model, runtime=plan.runtime_name
    )
    store.start_run(
        RunRecord(
            run_id=plan.run_id,
            session_id=plan.session_id,
            prompt=plan.said,
            role=plan.role.name,
            model=plan.model,
            runtime=plan.runtime_name,
            started=now,
            cwd=plan.cwd,
            limits=plan.limits,
        )
    )


def _title(prompt: Sequence[PromptPart]) -> str:
    """The first words of a prompt."""
    return heading(" ".join(part.text for part in prompt if isinstance(part, TextPart)))
