"""What is stored of sessions, as frozen data, and the port to the store.

Times are seconds since the epoch. Writes never block and never fail a run: what can't be stored is
reported as a StoreProblem. Not here: how it is stored (agent_host/store).
"""

import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent_host.core.actions import FileEdit, WrittenKind
from agent_host.core.events import Delta, NumberedDelta
from agent_host.core.model import (
    Failure,
    JsonObject,
    LimitName,
    Limits,
    Origin,
    PromptPart,
    RunResult,
    Usage,
)
from agent_host.core.permission import Question

StoredStatus = Literal[
    "running", "completed", "stopped", "failed", "limit", "refused", "interrupted"
]
"""`interrupted`: the host that ran it is gone, nobody will end it."""

TitleSource = Literal["prompt", "model", "user"]
"""Who made a title; a user's title is never replaced by the others'."""


def workspace_key(folders: Iterable[str]) -> str:
    """One key for a set of workspace folders (absolute paths or URIs), whatever their order."""
    names = sorted({folder.rstrip("/") or "/" for folder in folders})
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]


# ---- sessions and runs


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session; `workspace` is a `workspace_key`. A fork names the session and run it left."""

    session_id: str
    role: str
    model: str
    runtime: str
    workspace: str
    created: float
    updated: float
    title: str = ""
    title_by: TitleSource = "prompt"
    parent_session: str | None = None
    parent_run: str | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it began and, once it has ended, as it ended.

    `whole` is False when something of the run could not be stored.
    """

    run_id: str
    session_id: str
    prompt: tuple[PromptPart, ...]
    role: str
    model: str
    runtime: str
    started: float
    cwd: str = ""
    limits: Limits = field(default_factory=Limits)
    status: StoredStatus = "running"
    ended: float | None = None
    usage: Usage = field(default_factory=Usage)
    output: str = ""
    edits: tuple[FileEdit, ...] = ()
    failure: Failure | None = None
    limit: LimitName | None = None
    reason: str | None = None
    whole: bool = True

    @property
    def result(self) -> RunResult | None:
        """How it ended; None while it runs, and if it was cut off."""
        if self.status == "running" or self.status == "interrupted":  # noqa: PLR1714 - narrows
            return None
        return RunResult(
            session_id=self.session_id,
            run_id=self.run_id,
            status=self.status,
            output=self.output,
            usage=self.usage,
            edits=self.edits,
            failure=self.failure,
            limit=self.limit,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class StoredDelta:
    """A delta of the past. Consecutive texts of one origin are kept as one: `seq` .. `through`."""

    session_id: str
    run_id: str
    seq: int
    through: int
    origin: Origin
    delta: Delta
    at: float


# ---- edits


EditState = Literal["planned", "applied", "failed", "reverting", "reverted"]


@dataclass(frozen=True, slots=True)
class EditRecord:
    """One change of one file. A hash is None where the file did not exist.

    `place` says whether the editor's document or the file on disk was changed. `trash_id` is what
    `Actions.restore` takes. The bytes are got by hash from `SessionStore.contents`. `moved_to`:
    the new URI of what was moved; both hashes are then what it held, None for a directory.
    """

    edit_id: str
    session_id: str
    run_id: str
    uri: str
    kind: WrittenKind
    place: Literal["document", "disk"]
    before_sha256: str | None
    after_sha256: str | None
    at: float
    state: EditState = "planned"
    trash_id: str | None = None
    moved_to: str | None = None


# ---- questions to the store and its answers


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Newest first. Every word of `text` must be in the title or in a prompt, in any case."""

    workspace: str | None = None
    text: str = ""
    cursor: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session in a list. `status` is of its last run; `elsewhere`: another live host owns it."""

    session: SessionRecord
    runs: int
    status: StoredStatus | None
    elsewhere: bool
    questions: int


@dataclass(frozen=True, slots=True)
class SessionPage:
    """`cursor` is None on the last page."""

    entries: tuple[SessionEntry, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class DeltaPage:
    """Past deltas, oldest first, across runs; `runs` are those that begin in this page.

    `cursor` continues after the page, also when `more` is False: then it yields what came since.
    """

    deltas: tuple[StoredDelta, ...]
    runs: tuple[RunRecord, ...]
    cursor: str
    more: bool


ProblemCode = Literal["unavailable", "newer", "failed", "overrun", "lost"]
"""Can't be opened; made by a newer version; disk full, locked, read-only, connection lost; too much
at once; another host has taken the session over."""


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Why something is not stored; `runs` are the runs that are not whole because of it."""

    code: ProblemCode
    message: str
    runs: tuple[str, ...] = ()


class SessionStore(Protocol):
    """Sessions, kept. The first group queues a write: it never blocks and never raises.

    The others see everything queued before them. They raise SessionNotFound, RunNotFound,
    InvalidRequest (a bad cursor or import), SessionBusy (owned elsewhere) and StoreFailed.
    """

    # ---- as it happens

    def open_session(self, session: SessionRecord) -> None:
        """Add a session, owned by this host; nothing happens if it is there already."""

    def update_session(
        self,
        session_id: str,
        *,
        role: str | None = None,
        model: str | None = None,
        runtime: str | None = None,
    ) -> None:
        """Change what is not None."""

    def start_run(self, run: RunRecord) -> None:
        """Add a run at the end of its session."""

    def append(self, delta: NumberedDelta) -> None:
        """Add a delta to its run."""

    def remember(
        self,
        session_id: str,
        run_id: str | None,
        items: Sequence[JsonObject],
        *,
        boundary: bool = False,
    ) -> None:
        """Add to the history; with `boundary` these items replace all before (compaction)."""

    def ask(self, question: Question) -> None:
        """Keep an open question, so that it can be asked again after a crash."""

    def settle(self, run_id: str, call_id: str) -> None:
        """Forget a question: it was answered or withdrawn."""

    def grant(self, session_id: str, grant: JsonObject) -> None:
        """Keep an answer that lasts for the session."""

    def update_edit(self, edit_id: str, state: EditState, *, trash_id: str | None = None) -> None:
        """Move an edit on."""

    def end_run(self, result: RunResult) -> None:
        """Keep how a run ended; its open questions are forgotten."""

    def release(self, session_id: str) -> None:
        """Let other hosts own a session, once all of the above is stored."""

    def is_stored(self, run_id: str) -> bool:
        """Whether everything of that run has been stored so far, as far as known."""
        ...

    async def record_edit(
        self, edit: EditRecord, before: bytes | None, after: bytes | None
    ) -> bool:
        """Keep an edit and its bytes; when this returns True they survive any crash. Never raises.

        Call it before the file is touched, `update_edit` after. Bytes that are None although
        their hash is set are not kept: such an edit can only be named, not taken back.
        """
        ...

    async def opened(self) -> None:
        """Open the store now, rather than with the first use."""

    # ---- what is there

    async def session(self, session_id: str) -> SessionRecord:
        """One session."""
        ...

    async def sessions(self, query: SessionQuery) -> SessionPage:
        """A page of the list."""
        ...

    async def run(self, run_id: str) -> RunRecord:
        """One run."""
        ...

    async def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """All runs of a session, oldest first."""
        ...

    async def load(
        self, session_id: str, *, cursor: str | None = None, limit: int = 200
    ) -> DeltaPage:
        """A page of past deltas; shorter than `limit` when they are large."""
        ...

    async def place(self, session_id: str, run_id: str, seq: int) -> str:
        """The cursor that goes on after that delta of a run, also within a text kept as one."""
        ...

    async def history(self, session_id: str) -> tuple[JsonObject, ...]:
        """What was remembered since the last boundary, in order."""
        ...

    async def questions(self, session_id: str) -> tuple[Question, ...]:
        """The open questions, oldest first."""
        ...

    async def grants(self, session_id: str) -> tuple[JsonObject, ...]:
        """The session's grants, oldest first."""
        ...

    async def edits(self, run_id: str) -> tuple[EditRecord, ...]:
        """The edits of a run in their order."""
        ...

    async def contents(self, sha256: str) -> bytes | None:
        """The bytes that an edit names; None if they were not kept."""
        ...

    # ---- changes with an answer

    async def rename(self, session_id: str, title: str, *, by: TitleSource = "user") -> bool:
        """Set the title; False if a user's title stands against it."""
        ...

    async def delete(self, session_id: str) -> None:
        """Remove a session and everything of it."""

    async def fork(
        self, session_id: str, new_session_id: str, *, at_run: str | None = None
    ) -> SessionRecord:
        """Copy a session up to and with a run (None: its last one that ended).

        Runs of the copy have ids of their own. Edits, grants and questions are not copied.
        """
        ...

    def export(self, session_id: str) -> AsyncIterator[str]:
        """The session as JSON lines, without edits, grants and questions."""
        ...

    async def import_session(self, lines: Iterable[str]) -> SessionRecord:
        """Add an exported session, all or nothing; ids that are taken are replaced by new ones."""
        ...

    # ---- several hosts

    async def acquire(self, session_id: str) -> bool:
        """Own a session. Takes over from a host that is gone; its runs become `interrupted`.

        False: since this host last owned it, if ever, another one may have changed it.
        """
        ...

    async def renew(self) -> frozenset[str]:
        """Say that this host lives (the store does so by itself); the sessions it still owns."""
        ...

    def watch(self) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """The ids of sessions that other processes change, as they do."""
        ...

    async def flush(self) -> None:
        """Wait until everything queued so far is stored or given up."""

    async def close(self) -> None:
        """Store what is queued (bounded), release everything owned, end the threads."""
