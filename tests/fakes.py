"""Fakes of the ports, each typed as its port: scripted, recorded, without clocks or processes."""

import asyncio
import hashlib
import posixpath
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agent_host.core.actions import (
    CallExternal,
    Command,
    CommandResult,
    FileBytes,
    Listing,
    Match,
    OutputStream,
    PathFacts,
    SearchFound,
    SearchQuery,
)
from agent_host.core.document import BufferEdit, Document, EditOutcome, Range
from agent_host.core.errors import ActionFailed
from agent_host.core.events import NumberedDelta
from agent_host.core.external import ExternalTool, Offer
from agent_host.core.guidance import Guidance, Instructions, Skill
from agent_host.core.model import JsonObject, Role, ToolCall, ToolResult
from agent_host.core.permission import Answer, Question
from agent_host.core.ports import (
    RunSink,
    RuntimeRequest,
    RuntimeResult,
    RuntimeStatus,
    ToolGate,
)
from agent_host.core.uris import path_to_uri, same_key

Chooser = Callable[[Question], Answer | Awaitable[Answer]]


def by_kind(kind: str, reason: str | None = None) -> Chooser:
    """A person who always clicks the first option of that kind."""

    def choose(question: Question) -> Answer:
        return Answer(next(each for each in question.options if each.kind == kind), reason)

    return choose


async def _unmoved(uri: str, to: str) -> bool:
    del uri, to
    return True


class FakeEditor:
    """An Editor that records. `choose` answers questions; `meddle` runs before an edit lands."""

    def __init__(self, *, can_ask: bool = True) -> None:
        self.can_ask = can_ask
        self.choose: Chooser = by_kind("allowOnce")
        self.meddle: Callable[[], None] = lambda: None
        self.refuses: str | None = None
        self.saves = False
        self.previews = False
        self.preview: Callable[[BufferEdit], str] = lambda edit: edit.after
        self.moves: Literal["all", "clean", "none"] = "none"
        self.moved: list[tuple[str, str]] = []
        self.left_open: list[str] = []
        self.on_move: Callable[[str, str], Awaitable[bool]] = _unmoved
        self.on_save: Callable[[str], None] = lambda uri: None
        self.shows_wrong: dict[str, list[JsonObject]] = {}
        self.deltas: list[NumberedDelta] = []
        self.questions: list[Question] = []
        self.withdrawn: list[Question] = []
        self.shown: list[str] = []
        self.saved: list[str] = []
        self.progress: list[tuple[str, str]] = []
        self.waiting_bytes = 0
        self._documents: dict[str, Document] = {}
        self._drained: list[Callable[[], None]] = []
        self.arrived = asyncio.Event()

    def open(self, path: str, text: str, *, true_path: str | None = None) -> None:
        """Open a document, or change the text of an open one, as its user."""
        old = self.document(path)
        uri = path if path.startswith("untitled:") else path_to_uri(path)
        place = None if path.startswith("untitled:") else path
        version = old.version + 1 if old else 1
        true_path = true_path or (old.true_path if old else None)
        self._documents[same_key(uri)] = Document(
            uri, place, version, text, "plaintext", true_path=true_path
        )

    def close(self, path: str) -> None:
        """Close a document, as its user."""
        del self._documents[same_key(path)]

    def drain(self) -> None:
        """Read everything that waits."""
        self.waiting_bytes = 0
        for callback in tuple(self._drained):
            callback()

    def document(self, uri_or_path: str) -> Document | None:
        return self._documents.get(same_key(uri_or_path))

    def documents(self) -> Sequence[Document]:
        return tuple(self._documents.values())

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        self.arrived.set()
        try:
            answer = self.choose(question)
            return answer if isinstance(answer, Answer) else await answer
        except asyncio.CancelledError:
            self.withdrawn.append(question)
            raise

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        self.meddle()
        document = self.document(edit.uri)
        if document is None or document.text != edit.before:
            return EditOutcome("stale", document.text if document else "")
        if self.refuses is not None:
            return EditOutcome("refused", document.text, self.refuses)
        after = self.preview(edit) if edit.confirm else edit.after
        self.open(document.path or document.uri, after)
        if after == edit.before:
            return EditOutcome("discarded", after)
        return EditOutcome("applied" if after == edit.after else "part", after)

    async def show(self, uri: str, selection: Range | None = None) -> bool:
        del selection
        self.shown.append(uri)
        return True

    async def show_text(self, title: str, text: str) -> str | None:
        self.shown.append(f"{title}: {text}")
        self.arrived.set()
        return None

    async def move(self, uri: str, to: str) -> bool:
        self.moved.append((uri, to))
        return await self.on_move(uri, to)

    async def save(self, uris: Sequence[str]) -> Sequence[str]:
        if not self.saves:
            return ()
        self.saved += uris
        for uri in uris:
            self.on_save(uri)
        return tuple(uris)

    async def diagnostics(self, uri: str) -> Sequence[JsonObject] | None:
        return self.shows_wrong.get(uri)

    def files_changed(self, paths: Sequence[str], *, left_open: Sequence[Document] = ()) -> None:
        del paths
        self.left_open += [each.path or each.uri for each in left_open]

    def send(self, delta: NumberedDelta) -> None:
        self.deltas.append(delta)
        self.arrived.set()

    def backlog(self) -> int:
        return self.waiting_bytes

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._drained.append(callback)
        return lambda: self._drained.remove(callback)

    async def begin_progress(self, run_id: str, title: str, token: str | int | None) -> None:
        del title, token
        self.progress.append((run_id, "begin"))

    def report_progress(self, run_id: str, message: str) -> None:
        self.progress.append((run_id, message))

    def end_progress(self, run_id: str, message: str) -> None:
        self.progress.append((run_id, f"end: {message}"))

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until something that was sent or asked makes `done` true."""
        async with asyncio.timeout(10):
            while not done():
                self.arrived.clear()
                await self.arrived.wait()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _in(path: str, folder: str) -> bool:
    return path.startswith(folder + "/")


@dataclass
class FakeActions:
    """Actions on files in memory below one root. `command` is what every command does."""

    root: str = "/w"
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    commands: list[Command] = field(default_factory=list[Command])
    command: Callable[[Command], Awaitable[CommandResult]] | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)
    ended: int = 0
    folders: set[str] = field(default_factory=set[str])
    trash: dict[str, tuple[str, dict[str, bytes], set[str]]] = field(
        default_factory=dict[str, tuple[str, dict[str, bytes], set[str]]]
    )
    before_write: Callable[[], None] = lambda: None

    def _inside(self, path: str) -> str:
        path = posixpath.normpath(path)
        if path != self.root and not path.startswith(self.root + "/"):
            raise ActionFailed("outside", f"{path} is outside the workspace")
        return path

    async def inspect(self, path: str) -> PathFacts:
        path = self._inside(path)
        if path in self.files:
            data = self.files[path]
            return PathFacts(path, path, "file", len(data), sha(data), identity=f"f:{path}")
        below = sorted(name for name in (*self.files, *self.folders) if _in(name, path))
        if below or path == self.root or path in self.folders:
            names = tuple(name[len(path) + 1 :] for name in below)
            return PathFacts(
                path,
                path,
                "directory",
                count=len(names),
                first_names=names[:5],
                identity=f"d:{path}",
            )
        return PathFacts(path, path, "missing")

    async def read(self, path: str) -> FileBytes:
        path = self._inside(path)
        if path not in self.files:
            raise ActionFailed("not_found", f"There is no file {path}.")
        data = self.files[path]
        return FileBytes(data, sha(data), len(data), path)

    async def list(self, path: str, *, depth: int = 1, limit: int = 1000) -> Listing:
        path = self._inside(path)
        del depth
        names = sorted(name[len(path) + 1 :] for name in self.files if name.startswith(path + "/"))
        return Listing(tuple(names[:limit]), max(0, len(names) - limit))

    async def search(self, query: SearchQuery) -> SearchFound:
        texts = {path: data.decode() for path, data in self.files.items()} | dict(query.overlay)
        found = [
            Match(path, number, line)
            for path, text in sorted(texts.items())
            for number, line in enumerate(text.splitlines(), 1)
            if query.pattern in line
        ]
        return SearchFound(tuple(found[: query.limit]), max(0, len(found) - query.limit))

    async def write(self, path: str, data: bytes, *, expected_sha256: str | None) -> str:
        path = self._inside(path)
        self.before_write()
        now = self.files.get(path)
        if expected_sha256 is None and now is not None:
            raise ActionFailed("exists", f"{path} is there already.")
        if expected_sha256 is not None and (now is None or sha(now) != expected_sha256):
            raise ActionFailed("stale", f"{path} has changed.")
        await self.create_directory(posixpath.dirname(path))
        self.files[path] = data
        return sha(data)

    async def create_directory(self, path: str) -> None:
        path = self._inside(path)
        while path != self.root:
            self.folders.add(path)
            path = posixpath.dirname(path)

    async def delete(self, path: str, *, identity: str, trash_id: str | None = None) -> str:
        path = self._inside(path)
        if identity != (await self.inspect(path)).identity:
            raise ActionFailed("stale", f"{path} is not what it was.")
        trash_id = trash_id or f"t{len(self.trash)}"
        below = {path, *(each for each in (*self.files, *self.folders) if _in(each, path))}
        files = {each: self.files.pop(each) for each in below if each in self.files}
        folders = below & self.folders
        self.folders -= folders
        self.trash[trash_id] = (path, files, folders)
        return trash_id

    async def move(self, path: str, to: str, *, identity: str) -> None:
        path, to = self._inside(path), self._inside(to)
        if identity != (await self.inspect(path)).identity:
            raise ActionFailed("stale", f"{path} is not what it was.")
        if (await self.inspect(to)).kind != "missing":
            raise ActionFailed("exists", f"Something else is at {to} already.")
        await self.create_directory(posixpath.dirname(to))
        for name in [each for each in self.files if each == path or _in(each, path)]:
            self.files[to + name[len(path) :]] = self.files.pop(name)
        for name in [each for each in self.folders if each == path or _in(each, path)]:
            self.folders.remove(name)
            self.folders.add(to + name[len(path) :])

    async def restore(self, trash_id: str) -> None:
        if trash_id not in self.trash:
            raise ActionFailed("not_found", f"There is no trash entry {trash_id}.")
        path, files, folders = self.trash[trash_id]
        if path in self.files or path in self.folders:
            raise ActionFailed("exists", f"{path} is there already.")
        del self.trash[trash_id]
        self.files |= files
        self.folders |= folders
        await self.create_directory(posixpath.dirname(path))

    async def run(
        self, command: Command, on_output: Callable[[OutputStream, str], None]
    ) -> CommandResult:
        self.commands.append(command)
        self.started.set()
        try:
            if self.command is not None:
                return await self.command(command)
            on_output("stdout", "done\n")
            return CommandResult("done\n", 0)
        finally:
            self.ended += 1

    async def set_roots(self, roots: Sequence[str]) -> None:
        del roots

    async def close(self) -> None:
        """Nothing to end."""


Story = Callable[[RuntimeRequest, RunSink, ToolGate], Awaitable[RuntimeResult]]


class ScriptedRuntime:
    """A Runtime that does what its story says."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.steers = True
        self.requests: list[RuntimeRequest] = []

    async def run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        self.requests.append(request)
        return await self.story(request, sink, gate)

    def status(self, session_id: str) -> RuntimeStatus:
        return "idle"

    async def close(self) -> None:
        """Nothing is shared."""


def answering(text: str, *calls: ToolCall) -> tuple[Story, list[ToolResult]]:
    """A story that makes the calls one after the other and then answers; and their results."""
    results: list[ToolResult] = []

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        results.extend([await gate.call(call) for call in calls])
        sink.text(text)
        return RuntimeResult("completed", text)

    return story, results


@dataclass
class FakeGuidance:
    """Guidance in memory; `nested` gives the AGENTS.md of folders, by their path."""

    guidance: Guidance = field(default_factory=Guidance)
    nested: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, str] = field(default_factory=dict[str, str])

    async def read(self, cwd: str) -> Guidance:
        del cwd
        return self.guidance

    async def beside(self, path: str, known: Collection[str]) -> tuple[Instructions, ...]:
        return tuple(
            Instructions(f"{folder}/AGENTS.md", folder, text)
            for folder, text in sorted(self.nested.items())
            if path.startswith(f"{folder}/") and f"{folder}/AGENTS.md" not in known
        )

    async def skill_file(self, skill: Skill, name: str) -> str:
        if name not in self.files:
            raise ActionFailed("not_found", f"The skill {skill.name} has no file {name}.")
        return self.files[name]

    async def skill_files(self, skill: Skill) -> tuple[str, ...]:
        del skill
        return tuple(self.files)


class FakeClock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


def facts_of(path: str, **changed: object) -> PathFacts:
    """The facts of a plain file."""
    return replace(PathFacts(path, path, "file", identity=f"f:{path}"), **changed)  # type: ignore[arg-type]


@dataclass
class FakeServers:
    """Tools of MCP servers, each with what it answers; `answers` may wait, or raise."""

    tools: tuple[ExternalTool, ...] = ()
    notes: tuple[str, ...] = ()
    answer: Callable[[CallExternal, Callable[[str], None]], Awaitable[ToolResult]] | None = None
    asked: list[Role] = field(default_factory=list[Role])
    calls: list[CallExternal] = field(default_factory=list[CallExternal])

    async def offered(self, role: Role) -> Offer:
        self.asked.append(role)
        mine = [each for each in self.tools if {"mcp", f"mcp:{each.server}"} & role.skills]
        return Offer(tuple(mine), self.notes)

    async def call(self, action: CallExternal, tell: Callable[[str], None]) -> ToolResult:
        self.calls.append(action)
        if self.answer is not None:
            return await self.answer(action, tell)
        return ToolResult("ok", f"{action.tool.title} did it", "Done")
