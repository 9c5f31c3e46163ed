"""One session in memory: its role and model, its conversation, and the one run that it may have."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_host.core.errors import SessionBusy
from agent_host.core.model import JsonObject, SessionState, SessionStatus
from agent_host.core.records import SessionRecord, SessionStore
from agent_host.session.asker import Asker
from agent_host.session.legacy import Legacy
from agent_host.session.pending import Pending
from agent_host.session.plan import Plan
from agent_host.session.ticket import Ticket


@dataclass(slots=True)
class Session:
    """A conversation with one role. `history` is what its runtime wants back, oldest first.

    `known`: its first run has begun, here or in an earlier host; then it has its `record`.
    `first_run` is the run that it began with here.
    `told` holds the instructions of folders that its model was given. `legacy` is what a host that
    is gone has left of it, until a run has taken that up.
    """

    session_id: str
    asker: Asker
    role: str | None = None
    model: str | None = None
    runtime: str | None = None
    known: bool = False
    record: SessionRecord | None = None
    first_run: str | None = None
    history: list[JsonObject] = field(default_factory=list[JsonObject])
    current: Ticket | None = None
    pending: Pending = field(default_factory=Pending)
    told: set[str] = field(default_factory=set[str])
    cwd: str | None = None
    legacy: Legacy = field(default_factory=Legacy)

    def reserve(self, ticket: Ticket) -> None:
        """Take the session for one run. Raises SessionBusy."""
        if self.current is not None:
            raise SessionBusy(
                "This session is busy with another run. Wait for it, or stop it by agent/stop.",
                sessionId=self.session_id,
                runId=self.current.run_id,
            )
        self.current = ticket

    def free(self) -> None:
        """Let the next run in."""
        self.current = None

    def settled_on(self, plan: Plan) -> None:
        """The next run does as this one, unless told otherwise."""
        self.role, self.model, self.runtime = plan.role.name, plan.model, plan.runtime_name
        self.cwd = plan.cwd
        self.legacy = Legacy()

    def begin_anew(self) -> None:
        """It is not there any more: what is remembered of it belongs to nobody."""
        self.history.clear()
        self.told.clear()
        self.role = self.model = self.runtime = self.cwd = None
        self.known, self.record, self.first_run = False, None, None
        self.legacy = Legacy()

    def kept(self, store: SessionStore) -> bool:
        """Whether the store has heard of it for certain: a session that began here may be lost."""
        return self.first_run is None or store.is_stored(self.first_run)

    def remember(self, items: Sequence[JsonObject], *, boundary: bool = False) -> None:
        """Add to the conversation; with `boundary` it is only these items from now on."""
        if boundary:
            self.history.clear()
            self.told.clear()
        self.history.extend(items)

    @property
    def status(self) -> SessionStatus:
        """What goes on in it."""
        if self.current is None:
            return SessionStatus(self.session_id, "idle")
        state: SessionState = "running"
        if self.current.stopping:
            state = "stopping"
        elif self.asker.open_questions:
            state = "needsInput"
        return SessionStatus(self.session_id, state, self.current.run_id)
