"""The ports: how the application reaches runtimes, the editor and the user's machine.

Each has a fake in tests/fakes.py that passes the same contract tests as the real thing.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent_host.core.actions import (
    CallExternal,
    Command,
    CommandResult,
    FileBytes,
    Listing,
    OutputStream,
    PathFacts,
    SearchFound,
    SearchQuery,
)
from agent_host.core.document import BufferEdit, Document, EditOutcome, Range
from agent_host.core.errors import AgentHostError
from agent_host.core.events import Compacted, NumberedDelta, PlanEntry
from agent_host.core.external import Offer
from agent_host.core.model import (
    JsonObject,
    LimitName,
    Limits,
    ModelOptions,
    PromptPart,
    Role,
    RunStatus,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from agent_host.core.permission import Answer, Decision, Question


class RunSink(Protocol):
    """What a runtime tells while it runs. No method blocks or raises."""

    def text(self, text: str) -> None:
        """More of the answer."""

    def reasoning(self, text: str) -> None:
        """More of the model's visible thinking."""

    def usage(self, usage: Usage) -> None:
        """What one model call used; the run adds up."""

    def total(self, usage: Usage) -> None:
        """What all calls so far have used, in the place of what was told before."""

    def log(self, source: str, text: str) -> None:
        """A line for people who look for a fault, such as a child's stderr."""

    def retry(self, reason: str, wait_seconds: float) -> None:
        """The model is asked again; what it said since the last tool call is void."""

    def plan(self, entries: Sequence[PlanEntry]) -> None:
        """What the agent means to do, the whole of it each time."""

    def remember(self, items: Sequence[JsonObject]) -> None:
        """Append to the conversation as the runtime wants it back in `RuntimeRequest.history`.

        Called as soon as an item is final, so that a stopped or crashed run keeps what it did.
        """

    def compacted(self, how: Compacted, items: Sequence[JsonObject]) -> None:
        """From now on these items are the conversation, in place of all that was remembered."""

    def alive(self) -> None:
        """A sign of life that has nothing to tell."""

    def exited(self, exit_code: int | None, signal: str | None) -> None:
        """How the runtime's own process ended; also told when the run was stopped."""


class ToolGate(Protocol):
    """The only way to the user's machine."""

    async def permit(self, call: ToolCall) -> Decision:
        """May the runtime do this itself? Asks if need be; never returns `ask`.

        The call is told as requested; one that was allowed runs until `settle`.
        """
        ...

    def settle(self, call_id: str, result: ToolResult) -> None:
        """Tell how a permitted call went that the runtime did itself."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Judge, ask if need be, perform. Never raises but CancelledError."""
        ...


class LimitReached(Exception):
    """A limit forbids the next call of the model. A runtime lets it pass, after cleaning up."""

    def __init__(self, limit: LimitName, reason: str) -> None:
        super().__init__(reason)
        self.limit: LimitName = limit
        self.reason = reason


def _nothing_said() -> tuple[PromptPart, ...]:
    return ()


def _unlimited() -> AbstractAsyncContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class RuntimeRequest:
    """One prompt for a runtime. `model` is `vendor/name`; `instructions` is the system prompt.

    `history` is what earlier runs of the session gave to `RunSink.remember`, in order. `prompt`
    has no ResourcePart left in it: those were read through the gate. `take_steering` gives what
    the user said meanwhile; a runtime that can asks it before each call of the model. `purpose`
    compact: the conversation is to be compacted, and `prompt` says what matters in the summary.
    `turn` is entered around each call of the model by a runtime that makes them itself: it waits,
    or raises LimitReached, as the limits want it that all agents of a run share. `unanswered` are
    ids of calls in the history that were being asked about when a host ended: `ToolGate.call` is
    called for them before the model is, and they have no result but that.
    """

    session_id: str
    run_id: str
    role: Role
    model: str
    instructions: str
    prompt: tuple[PromptPart, ...]
    tools: tuple[ToolSpec, ...]
    history: tuple[JsonObject, ...]
    limits: Limits
    cwd: str
    options: ModelOptions = field(default_factory=ModelOptions)
    take_steering: Callable[[], tuple[PromptPart, ...]] = _nothing_said
    purpose: Literal["answer", "compact"] = "answer"
    turn: Callable[[], AbstractAsyncContextManager[None]] = _unlimited
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuntimeResult:
    """How a runtime ended by itself; `output` is the final answer's text.

    `status` failed comes with `error`, status limit with `limit`, refused with `reason`. `usage`
    takes the place of what was told to the sink; None leaves that as it is. `session` is the
    runtime's own id for the conversation, which it has also given to `RunSink.remember`.
    """

    status: RunStatus
    output: str
    error: AgentHostError | None = None
    limit: LimitName | None = None
    reason: str | None = None
    usage: Usage | None = None
    session: str | None = None


RuntimeStatus = Literal["idle", "running", "completed", "failed"]
"""What a runtime does for a session, or how it has last ended: failing, or in any other way."""


class ToolServers(Protocol):
    """The MCP servers whose tools agents may use."""

    async def offered(self, role: Role) -> Offer:
        """What a role may have now. Starts servers, and waits a bounded while for them."""
        ...

    async def call(self, action: CallExternal, tell: Callable[[str], None]) -> ToolResult:
        """Have a tool called; `tell` gets what its server logs meanwhile. Raises ActionFailed.

        Cancelling withdraws the call.
        """
        ...


class Runtime(Protocol):
    """Turns a prompt into events and tool calls."""

    @property
    def steers(self) -> bool:
        """Whether it takes what the user says meanwhile (`RuntimeRequest.take_steering`)."""
        ...

    def status(self, session_id: str) -> RuntimeStatus:
        """What goes on for a session; idle if nothing was ever run for it."""
        ...

    async def run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        """Run one prompt. Cancelling the task stops it: it returns only once all of it is gone.

        Raises LimitReached as `request.turn` does.
        """
        ...

    async def close(self) -> None:
        """Release what is shared between runs."""
        ...


class Editor(Protocol):
    """The LSP client as the core sees it."""

    @property
    def can_ask(self) -> bool:
        """Whether a question has any way to a person."""
        ...

    def document(self, uri_or_path: str) -> Document | None:
        """The open document of that URI or absolute path."""
        ...

    def documents(self) -> Sequence[Document]:
        """All open documents."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Ask a person. Cancelling withdraws the dialog; a late answer is ignored."""
        ...

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        """Change an open document in one undo step, and verify it."""
        ...

    async def show(self, uri: str, selection: Range | None = None) -> bool:
        """Open a document for the person; False if the editor can't or won't."""
        ...

    async def show_text(self, title: str, text: str) -> str | None:
        """Open a read-only text for the person; if that fails, a sentence about where it is."""
        ...

    @property
    def previews(self) -> bool:
        """Whether it can show an edit first and let the person accept it place by place."""
        ...

    @property
    def moves(self) -> Literal["all", "clean", "none"]:
        """Which open documents it takes along when it moves files: those with unsaved text too?"""
        ...

    async def move(self, uri: str, to: str) -> bool:
        """Have it move a file or directory; whether it answered. Only the disk tells the rest."""
        ...

    async def save(self, uris: Sequence[str]) -> Sequence[str]:
        """Save open documents; returns those that were saved (none if the editor can't)."""
        ...

    async def diagnostics(self, uri: str) -> Sequence[JsonObject] | None:
        """The LSP Diagnostics that the editor shows for a document; None if it does not tell."""
        ...

    def files_changed(self, paths: Sequence[str], *, left_open: Sequence[Document] = ()) -> None:
        """Tell the editor that files were changed on disk, if it wants to know.

        `left_open`: documents whose file is gone; their person is told.
        """

    def send(self, delta: NumberedDelta) -> None:
        """Queue a delta; never blocks."""

    def backlog(self) -> int:
        """Bytes queued for the editor that it has not read yet."""
        ...

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back whenever the backlog has shrunk; returns how to unsubscribe."""
        ...

    async def begin_progress(self, run_id: str, title: str, token: str | int | None) -> None:
        """Show a run in the editor; cancelling it there stops the run."""

    def report_progress(self, run_id: str, message: str) -> None:
        """Change the shown run's one line of text."""

    def end_progress(self, run_id: str, message: str) -> None:
        """Take the shown run away."""


class Actions(Protocol):
    """The action server. Every method raises ActionFailed with a reason for the model."""

    async def inspect(self, path: str) -> PathFacts:
        """What a path really is; raises `outside` for one that leaves the roots."""
        ...

    async def read(self, path: str) -> FileBytes:
        """A regular file's bytes, at most 10 MiB."""
        ...

    async def list(self, path: str, *, depth: int = 1, limit: int = 1000) -> Listing:
        """A directory's entries; `.gitignore` is respected."""
        ...

    async def search(self, query: SearchQuery) -> SearchFound:
        """Lines that match, over the disk with the overlay in its place."""
        ...

    async def write(self, path: str, data: bytes, *, expected_sha256: str | None) -> str:
        """Atomic write; `expected_sha256` None means it must not exist. Returns the new one."""
        ...

    async def create_directory(self, path: str) -> None:
        """Make a directory and its missing parents."""

    async def delete(self, path: str, *, identity: str, trash_id: str | None = None) -> str:
        """Move what `inspect` identified into the trash; returns the id for `restore`.

        `trash_id`: that id, 32 hex digits, where it must be known beforehand.
        """
        ...

    async def restore(self, trash_id: str) -> None:
        """Undo a delete; raises `exists` when something else is there by now."""

    async def move(self, path: str, to: str, *, identity: str) -> None:
        """Give what `inspect` identified another name; raises `exists` when that is taken."""
        ...

    async def run(
        self, command: Command, on_output: Callable[[OutputStream, str], None]
    ) -> CommandResult:
        """Run a command. Cancelling stops it: its processes are gone when this returns."""
        ...

    async def set_roots(self, roots: Sequence[str]) -> None:
        """The workspace roots: nothing outside them is reached."""

    async def close(self) -> None:
        """End the action server and everything that it runs."""
