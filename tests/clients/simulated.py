"""An editor that behaves as its Habits say, at the far end of a wire with a delay.

It stands in for the edge: what the host sends arrives as plain JSON, and what the editor tells
goes into the mirror, both in order. Its text is kept by the simplest means (text.py).
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_host.core.document import Position, Range
from agent_host.core.events import NumberedDelta
from agent_host.core.model import JsonObject
from agent_host.lsp.documents import Documents
from agent_host.lsp.host import ClientInfo, ContentChange, EditorError
from tests.clients.habits import Habits
from tests.clients.text import Change, changed, merged_change, place_of

WIRE_SECONDS = 0.002
SILENCE = object()
"""An answer that never comes."""

Answer = Callable[[dict[str, object]], object]


@dataclass
class Buffer:
    """`told` is the text that the host knows; `steps` are what it does not know yet."""

    text: str
    version: int
    told: str
    steps: list[Change] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None
    undo: list[str] = field(default_factory=list)


class SimulatedEditor:
    """Implements the Edge; `answers` overrides what it answers to a method."""

    def __init__(self, habits: Habits, tasks: asyncio.TaskGroup) -> None:
        self.habits = habits
        self.tasks = tasks
        self.documents = Documents(encoding=habits.encoding, clock=asyncio.get_running_loop().time)
        self.buffers: dict[str, Buffer] = {}
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.notified: list[tuple[str, dict[str, object]]] = []
        self.withdrawn: list[str] = []
        self.client: ClientInfo = habits.client
        self._loop = asyncio.get_running_loop()
        self._to_host: deque[Callable[[], object]] = deque()
        self._to_editor: deque[Callable[[], object]] = deque()

    # ---- the person

    def open(self, uri: str, text: str, *, version: int = 1, language: str = "python") -> None:
        self.buffers[uri] = Buffer(text, version, text)
        self.documents.did_open(uri, language, version, text)

    def type(self, uri: str, offset: int, text: str, *, deleting: int = 0) -> None:
        """A key is pressed: the text changes now, the host hears of it when the editor tells."""
        buffer = self.buffers[uri]
        encoding = self.habits.encoding
        start = place_of(buffer.text, offset, encoding)
        end = place_of(buffer.text, offset + deleting, encoding)
        self._change(uri, [Change(start, end, text)])

    def text(self, uri: str) -> str:
        return self.buffers[uri].text

    async def settled(self) -> None:
        """Return once everything that was done has been told."""
        while self._to_host or self._to_editor or any(b.timer for b in self.buffers.values()):
            await asyncio.sleep(WIRE_SECONDS)

    # ---- the edge

    async def ask(self, method: str, params: JsonObject, timeout: float | None) -> object:
        future: asyncio.Future[object] = self._loop.create_future()
        sent = json.loads(json.dumps(params))
        self._send(self._to_editor, lambda: self._receive(method, sent, future))
        try:
            async with asyncio.timeout(timeout):
                return await future
        except (TimeoutError, asyncio.CancelledError):
            self.withdrawn.append(method)
            raise

    def notify(self, method: str, params: JsonObject) -> None:
        self.notified.append((method, json.loads(json.dumps(params))))

    def send_delta(self, delta: NumberedDelta) -> None:
        raise NotImplementedError

    def backlog(self) -> int:
        return 0

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    # ---- the editor

    def _receive(
        self, method: str, params: dict[str, object], future: asyncio.Future[object]
    ) -> None:
        self.asked.append((method, params))
        if method in self.answers:
            self._reply(future, self.answers[method](params))
        elif method == "workspace/applyEdit":
            wait = self.habits.asks_before_editing
            self._loop.call_later(wait, lambda: self._edit(params, future))
        elif method == "window/showDocument":
            self._reply(future, self._shown())
        else:
            self._reply(future, EditorError(-32601, "Method not found"))

    def _reply(self, future: asyncio.Future[object], answer: object) -> None:
        def settle() -> None:
            if future.done():
                return
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

        if answer is not SILENCE:
            self._send(self._to_host, settle)

    def _shown(self) -> object:
        match self.habits.shows:
            case "yes":
                return {"success": True}
            case "null":
                return None
            case "error":
                return EditorError(-32601, "Method not found")

    def _edit(self, params: dict[str, object], future: asyncio.Future[object]) -> None:
        uri, version, edits = read_edit(params)
        buffer = self.buffers[uri]
        is_checked = version is not None and (version or not self.habits.zero_is_no_version)
        if is_checked and version != buffer.version:
            match self.habits.stale:
                case "false":
                    return self._reply(future, {"applied": False})
                case "dropped":
                    return self._reply(future, {"applied": True})
                case "error":
                    return self._reply(future, EditorError(-32603, "Internal error"))
                case "applied":
                    pass
        buffer.undo.append(buffer.text)
        # From the last to the first, so that each place is still where it was.
        self._change(uri, edits[::-1], is_edit=True)
        return self._reply(future, {"applied": True} if self.habits.answers_edits else SILENCE)

    def _change(self, uri: str, changes: Sequence[Change], *, is_edit: bool = False) -> None:
        buffer, habits = self.buffers[uri], self.habits
        for change in changes:
            buffer.text = changed(buffer.text, change, habits.encoding)
            buffer.steps.append(change)
        buffer.version += 1
        if habits.tells_after is None:
            return
        if habits.told_before_reply:
            self._tell(uri)
        elif buffer.timer is None or habits.idle:
            if buffer.timer is not None:
                buffer.timer.cancel()
            buffer.timer = self._loop.call_later(habits.tells_after, self._tell, uri)

    def _tell(self, uri: str) -> None:
        buffer, encoding = self.buffers[uri], self.habits.encoding
        steps, version = buffer.steps, buffer.version
        buffer.steps, buffer.timer = [], None
        match self.habits.tells:
            case "steps":
                changes = [_content(step) for step in steps]
            case "merged":
                changes = [_content(merged_change(buffer.told, buffer.text, encoding))]
            case "full":
                changes = [ContentChange(None, buffer.text)]
        buffer.told = buffer.text
        self._send(self._to_host, lambda: self.documents.did_change(uri, version, changes))

    def _send(self, wire: deque[Callable[[], object]], message: Callable[[], object]) -> None:
        # Each timer takes the oldest message, so that equal times keep the order.
        def deliver() -> None:
            wire.popleft()()

        wire.append(message)
        self._loop.call_later(WIRE_SECONDS, deliver)


def read_edit(params: dict[str, object]) -> tuple[str, int | None, list[Change]]:
    """The one document of an applyEdit, its version and the changes. No other operation counts."""
    edit = params["edit"]
    assert isinstance(edit, dict)
    if "changes" in edit:
        ((uri, edits),) = edit["changes"].items()
        version = None
    else:
        (change,) = edit["documentChanges"]
        assert "kind" not in change, "files are never created by an edit"
        uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
        edits = change["edits"]
    return uri, version, [_read_change(edit) for edit in edits]


def _read_change(edit: dict) -> Change:
    start, end = edit["range"]["start"], edit["range"]["end"]
    return Change(
        (start["line"], start["character"]), (end["line"], end["character"]), edit["newText"]
    )


def _content(change: Change) -> ContentChange:
    return ContentChange(Range(Position(*change.start), Position(*change.end)), change.text)
