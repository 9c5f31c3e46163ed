"""The two sides of the edge as protocols: what it asks of the Host, what it offers as the Edge.

All values are core words or plain JSON. Not here: pygls, and how either side does it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent_host.core.actions import ActionServerStatus
from agent_host.core.document import Position, Range
from agent_host.core.events import NumberedDelta
from agent_host.core.external import ServerStatus
from agent_host.core.guidance import Guidance
from agent_host.core.model import (
    JsonObject,
    ModelInfo,
    PromptPart,
    Role,
    RoleProblem,
    RunRequest,
    RunResult,
    SessionStatus,
)
from agent_host.permissions.rights import Right
from agent_host.session.library import Library
from agent_host.session.manager import Stopped
from agent_host.session.pending import Steered, Waiting, When

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True)
class Folder:
    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Who the editor is, from `initialize`. `capabilities` and `options` are its own JSON.

    `options` are the initializationOptions ({} if there are none); `folders` has at least the
    root, unless the editor opened no folder. `process_id` None: there is none to watch.
    """

    name: str | None = None
    version: str | None = None
    process_id: int | None = None
    position_encoding: PositionEncoding = "utf-16"
    capabilities: JsonObject = field(default_factory=dict[str, object])
    options: JsonObject = field(default_factory=dict[str, object])
    folders: tuple[Folder, ...] = ()


@dataclass(frozen=True, slots=True)
class ContentChange:
    """One change of a document; `range` None: `text` is all of it.

    Columns of `range` count code units of the client's position encoding, not code points.
    """

    range: Range | None
    text: str


@dataclass(frozen=True, slots=True)
class WorkspaceStatus:
    """A folder; `ignored`: what it brings that is not used, since nobody has trusted it."""

    path: str
    trusted: bool
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostStatus:
    """What `agent/status` tells; `runtimes` are the names that can be asked for."""

    sessions: tuple[SessionStatus, ...]
    action_server: ActionServerStatus
    runtimes: tuple[str, ...]
    workspaces: tuple[WorkspaceStatus, ...] = ()
    mcp_servers: tuple[ServerStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleList:
    """What `agent/roles` tells: the usable ones, and what is wrong with the others.

    `rights`: by role, what it may do as things are now.
    """

    roles: tuple[Role, ...]
    problems: tuple[RoleProblem, ...]
    rights: Mapping[str, tuple[Right, ...]] = field(default_factory=dict[str, tuple[Right, ...]])


class EditorError(Exception):
    """The editor answered a request of ours with an error, with nonsense, or is gone.

    `number` is the JSON-RPC error code; -32601 says that the editor doesn't know the method.
    """

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
        self.message = message


class Edge(Protocol):
    """The connection to the editor, as the Host may use it. To be called on the event loop."""

    @property
    def client(self) -> ClientInfo:
        """Who is connected; fixed before the Host is made."""
        ...

    @property
    def tasks(self) -> asyncio.TaskGroup:
        """Owner of everything that lives as long as the connection. A task that raises ends it."""
        ...

    async def ask(self, method: str, params: JsonObject, timeout: float | None) -> object:
        """Send a request; returns the JSON result (None when a dialog was dismissed).

        Raises EditorError, or TimeoutError after `timeout` seconds. When it times out or is
        cancelled, the request is withdrawn by `$/cancelRequest` and a late answer is dropped.
        """
        ...

    def notify(self, method: str, params: JsonObject) -> None:
        """Queue a notification; never blocks or raises."""

    def send_delta(self, delta: NumberedDelta) -> None:
        """Queue `agent/delta`; never blocks or raises."""

    def backlog(self) -> int:
        """Bytes queued that the editor has not read yet."""
        ...

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once the backlog has shrunk after `backlog()` was more than 0.

        Called on the event loop; asking `backlog()` again arms it again. Returns how to
        unsubscribe.
        """
        ...


class Host(Protocol):
    """The application behind the edge; it is made while `initialize` is handled.

    The `async` requests may raise AgentHostError for the user. The plain methods must not block
    or raise. The edge calls nothing after `close`.
    """

    async def initialized(self, client: ClientInfo) -> None:
        """The editor is ready: start warming up. Called once, as a task of its own.

        When this fails, `ready` must raise, too: requests wait for it.
        """

    async def ready(self) -> None:
        """Return once runs can be taken; awaited before run, stop, roles, models and commands."""

    async def run(self, request: RunRequest) -> RunResult:
        """Run one prompt to its end. When cancelled, the run is stopped before this returns."""
        ...

    async def stop(self, run_id: str | None, session_id: str | None) -> Stopped:
        """Stop that run, that session's run, or (both None) all; returns once they are gone.

        Raises RunNotFound or SessionNotFound for an id that was never seen.
        """
        ...

    async def steer(self, session_id: str, prompt: tuple[PromptPart, ...], when: When) -> Steered:
        """Say something to a session while it works. Raises SessionNotFound."""
        ...

    def waiting(self, session_id: str) -> tuple[Waiting, ...]:
        """What was said to a session and waits."""
        ...

    def take_back(self, session_id: str, waiting_id: str) -> bool:
        """Take back what waits; False if it is not waiting any more."""
        ...

    async def status(self) -> HostStatus:
        """What goes on right now."""
        ...

    async def roles(self) -> RoleList:
        """The roles that can be used, and the broken ones."""
        ...

    async def guidance(self) -> Guidance:
        """Instructions, skills and prompt files, and what is wrong with broken ones."""
        ...

    async def models(self) -> Sequence[ModelInfo]:
        """The models that can be used, and why others can't."""
        ...

    @property
    def library(self) -> Library:
        """The sessions that are kept."""
        ...

    async def command(self, name: str, arguments: Sequence[object]) -> object:
        """Do an `agentHost.*` command other than run and stop; arguments and result are JSON."""
        ...

    def in_code_points(self, uri: str, range: Range) -> Range:  # noqa: A002
        """A range in the client's units (see ContentChange) as the core counts, in that document.

        Unchanged if the text is not known.
        """
        ...

    def code_actions(self, uri: str, range: Range, context: JsonObject) -> Sequence[JsonObject]:  # noqa: A002
        """LSP CodeActions or Commands; asked for at every cursor move, so it must be cheap."""
        ...

    def code_lenses(self, uri: str) -> Sequence[JsonObject]:
        """LSP CodeLenses of that document."""
        ...

    async def completion(self, uri: str, position: Position) -> JsonObject | None:
        """An LSP CompletionList for a place in the client's units; None: nothing to offer."""
        ...

    def folding_ranges(self, uri: str) -> Sequence[JsonObject] | None:
        """LSP FoldingRanges; None leaves it to the editor."""
        ...

    def document_symbols(self, uri: str) -> Sequence[JsonObject] | None:
        """LSP DocumentSymbols or SymbolInformation; None leaves it to others."""
        ...

    def did_open(self, uri: str, language_id: str, version: int, text: str) -> None:
        """May come twice for one document (the later one counts)."""

    def did_change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> None:
        """May come for a document that was never opened or is closed by now."""

    def did_close(self, uri: str) -> None:
        """The file on disk is the truth again."""

    def did_save(self, uri: str, text: str | None) -> None:
        """What the disk holds is what the document holds: `text`, if the editor tells it."""

    def folders_changed(self, added: Sequence[Folder], removed: Sequence[Folder]) -> None:
        """The workspace has other folders now."""

    def settings_changed(self, settings: JsonObject) -> None:
        """`workspace/didChangeConfiguration`; {} means: ask for `workspace/configuration`."""

    def own_settings_changed(self, settings: JsonObject) -> Sequence[str]:
        """The person's own settings, in place of the options; returns what is wrong with any."""
        ...

    def files_changed(self, uris: Sequence[str]) -> None:
        """Files that the editor watches for us were changed on disk."""

    def progress_cancelled(self, token: str | int) -> None:
        """The user pressed Cancel on a run's progress."""

    def editor_stuck(self) -> None:
        """The editor has stopped reading and the backlog is at its cap: end all runs."""

    async def close(self) -> None:
        """Stop everything and wait until it is gone; the edge gives it 1.8 seconds.

        Called again if it was cut short.
        """


MakeHost = Callable[[Edge], Host]
"""Makes the application once `initialize` is known. It must not block."""
