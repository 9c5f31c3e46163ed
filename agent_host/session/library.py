"""The sessions that are kept: listed, read, forked, renamed, deleted, taken back.

A session that has a run is not deleted under it. Not here: runs themselves (manager.py), how
sessions are kept (the store).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_host.core.errors import InvalidRequest, RunNotFound, SessionBusy
from agent_host.core.model import RunRequest, RunResult, TextPart
from agent_host.core.permission import Question
from agent_host.core.records import (
    DeltaPage,
    EditRecord,
    SessionPage,
    SessionQuery,
    SessionRecord,
    SessionStore,
)
from agent_host.session.follows import Follows
from agent_host.session.heading import one_line
from agent_host.session.legacy import left_open
from agent_host.session.manager import SessionManager
from agent_host.session.revert import Reverted, Reverter
from agent_host.session.settling import Settler
from agent_host.session.slash import COMPACT
from agent_host.session.tenure import Tenure


@dataclass(frozen=True, slots=True)
class Library:
    """What the `agent/session/*` requests are answered with.

    `forget` removes what is kept of a session beside the store.
    """

    store: SessionStore
    manager: SessionManager
    reverter: Reverter
    settler: Settler
    new_id: Callable[[], str]
    workspace: Callable[[], str]
    forget: Callable[[str], Awaitable[None]]
    follows: Follows

    async def list(self, text: str, cursor: str | None, limit: int, *, all: bool) -> SessionPage:  # noqa: A002
        """Newest first; of this workspace, or with `all` of every one."""
        workspace = None if all else self.workspace()
        return await self.store.sessions(SessionQuery(workspace, text, cursor, limit))

    async def load(self, session_id: str, cursor: str | None, limit: int) -> DeltaPage:
        """A page of past deltas, oldest first. Raises SessionNotFound."""
        return await self.store.load(session_id, cursor=cursor, limit=limit)

    async def cut_short(self, session_id: str) -> tuple[EditRecord, ...]:
        """The edits during which a host ended, with what became of them; none while it runs.

        A session that runs, here or elsewhere, is its host's: nothing of it is settled by others.
        """
        if any(run.status == "running" for run in await self.store.runs(session_id)):
            return ()
        edits = await self.settler.session(session_id)
        self.manager.keep_in_mind(session_id, edits)
        return edits

    async def left_open(self, session_id: str) -> tuple[Question, ...]:
        """The questions that were open when a host ended; the next run puts them once more."""
        return tuple(each.question for each in await left_open(self.store, session_id))

    async def fork(self, session_id: str, run_id: str | None) -> SessionRecord:
        """A new session that is this one up to and with a run."""
        if run_id is not None:
            await self._in_session(run_id, session_id)
        return await self.store.fork(session_id, self.new_id(), at_run=run_id)

    async def rename(self, session_id: str, title: str) -> None:
        """Give it a title that no other way of naming replaces."""
        line = one_line(title).strip()
        if not line:
            raise InvalidRequest("`title` must say something.", field="title")
        await self.store.rename(session_id, line)

    async def delete(self, session_id: str) -> None:
        """Remove it with everything of it; raises SessionBusy while it has a run."""
        self._refuse_busy(session_id)
        await self.store.delete(session_id)
        await self.forget(session_id)
        self.manager.forget(session_id)

    async def compact(self, session_id: str, focus: str) -> RunResult:
        """Summarise its conversation, as a run; raises SessionNotFound, SessionBusy."""
        prompt = (TextPart(f"/{COMPACT} {focus}".strip()),)
        return await self.manager.run(RunRequest(prompt, session_id))

    async def revert(
        self, run_id: str, session_id: str | None, uris: Sequence[str] | None
    ) -> Reverted:
        """Take a run's changes back; raises SessionBusy while the session has a run."""
        run = await self.store.run(run_id)
        if session_id is not None:
            await self._in_session(run_id, session_id)
        self._refuse_busy(run.session_id)
        async with Tenure(self.store).held(run.session_id):
            return await self.reverter.revert(run_id, uris)

    async def _in_session(self, run_id: str, session_id: str) -> None:
        if (await self.store.run(run_id)).session_id != session_id:
            raise RunNotFound(f"The session {session_id} has no run {run_id}.")

    def _refuse_busy(self, session_id: str) -> None:
        for status in self.manager.status():
            if status.session_id == session_id and status.run_id is not None:
                raise SessionBusy(
                    "This session has a run. Stop it first by agent/stop.",
                    sessionId=session_id,
                    runId=status.run_id,
                )
