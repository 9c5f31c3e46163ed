"""An editor with conversation documents, and a model that says what it is given, word by word."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from agent_host.conversation.conversations import Conversations
from agent_host.conversation.files import Attached
from agent_host.core.document import BufferEdit, EditOutcome
from agent_host.core.events import NumberedDelta, Text
from agent_host.core.model import TextPart
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from tests.fakes import FakeEditor
from tests.session.stage import Stage, stage

ONE, TWO = "/w/one.agent.md", "/w/two.agent.md"


class Desk(FakeEditor):
    """An editor with conversation documents, whose person opens, types and closes."""

    conversations: Conversations

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def send(self, delta: NumberedDelta) -> None:
        super().send(delta)
        self.conversations.take(delta)

    async def apply(self, edit: BufferEdit) -> EditOutcome:
        outcome = await super().apply(edit)
        self.conversations.changed(edit.uri)
        self.arrived.set()
        return outcome

    def show_document(self, path: str, text: str) -> None:
        self.open(path, text)
        self.conversations.opened(path)

    def type(self, path: str, text: str) -> None:
        self.open(path, text)
        self.conversations.changed(path)

    def put_away(self, path: str) -> None:
        self.close(path)
        self.conversations.closed(path)

    def text(self, path: str) -> str:
        document = self.document(path)
        return document.text if document else ""

    def said(self, words: str) -> bool:
        """Whether the model's words were told as a delta."""
        deltas = [each.delta for each in self.deltas]
        return any(isinstance(each, Text) and words in each.text for each in deltas)

    async def wait_text(self, path: str, words: str) -> str:
        await self.until(lambda: words in self.text(path))
        return self.text(path)


@dataclass
class Words:
    """A runtime that says what it is given, prompt by prompt, and ends with "."."""

    queues: dict[str, asyncio.Queue[str]] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)

    def say(self, prompt: str, *words: str) -> None:
        """More of the answer to a prompt; "." ends it."""
        for word in words:
            self.of(prompt).put_nowait(word)

    def of(self, prompt: str) -> asyncio.Queue[str]:
        return self.queues.setdefault(prompt, asyncio.Queue())

    async def __call__(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate
    ) -> RuntimeResult:
        (part,) = request.prompt
        assert isinstance(part, TextPart)
        self.sessions.append(request.session_id)
        said = ""
        while (word := await self.of(part.text).get()) != ".":
            said += word
            sink.text(word)
        return RuntimeResult("completed", said)


@dataclass
class Play:
    host: Stage
    desk: Desk
    words: Words

    @property
    def conversations(self) -> Conversations:
        return self.desk.conversations


@asynccontextmanager
async def play(folder: Path) -> AsyncIterator[Play]:
    desk, words, ids = Desk(), Words(), count(1)

    async def compose(prompt: str) -> Attached:
        return Attached((TextPart(prompt),))

    async with stage(folder, editor=desk) as host:
        host.plays(words)
        desk.conversations = Conversations(
            desk,
            lambda: host.manager,
            host.tasks,
            compose=compose,
            shorten=str,
            new_id=lambda: f"run{next(ids)}",
            tell=desk.told.append,
        )
        yield Play(host, desk, words)
        desk.conversations.close()
