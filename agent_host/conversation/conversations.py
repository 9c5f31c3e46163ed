"""Conversation documents at work: prompts are sent from them, their runs' deltas written to them.

A run goes on while its document is closed or edited. The document holds what is known of the
conversation: the session in its front matter, what waits in its headings.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from agent_host.conversation import format as text_of
from agent_host.conversation.composer import Composer
from agent_host.conversation.files import Attached
from agent_host.conversation.format import parse
from agent_host.conversation.shelf import Shelf
from agent_host.conversation.unwritten import Unwritten
from agent_host.conversation.writer import DocumentWriter
from agent_host.core.document import Document, Position, Range
from agent_host.core.errors import AgentHostError, InvalidRequest
from agent_host.core.events import Ended, NumberedDelta, Text
from agent_host.core.model import PromptPart, RunRequest, RunResult, TextPart
from agent_host.core.ports import Editor
from agent_host.core.uris import same_key
from agent_host.session.pending import Steered, When

NOTHING_TO_SEND = "There is no prompt to send: write one at the end, below a line `## You`."

log = logging.getLogger(__name__)


class Runs(Protocol):
    """What is needed of the sessions; see session.manager.SessionManager."""

    async def run(self, request: RunRequest) -> RunResult:
        """Run one prompt to its end."""
        ...

    async def steer(self, session_id: str, prompt: tuple[PromptPart, ...], when: When) -> Steered:
        """Say something to a session while it works."""
        ...

    def take_back(self, session_id: str, waiting_id: str) -> bool:
        """Take back what waits; False if it is not waiting any more."""
        ...


@dataclass(slots=True)
class _Live:
    """A document that something was sent from; `answering` is the run that began last."""

    uri: str
    writer: DocumentWriter
    run_id: str | None = None
    answering: str = ""
    sent: str = ""
    ended: bool = False
    session_id: str | None = None
    composer: Composer = field(default_factory=Composer)
    steered: dict[str, str] = field(default_factory=dict[str, str])


Compose = Callable[[str], Awaitable[Attached]]
"""From a prompt as it is written to what is sent; raises AgentHostError for what can't be."""


class Conversations:
    """What is sent from conversation documents. `tasks` owns the writers and the runs.

    `shelf` holds the documents that are open; `tell` shows one message to the person.
    """

    def __init__(
        self,
        editor: Editor,
        runs: Callable[[], Runs],
        tasks: asyncio.TaskGroup,
        *,
        compose: Compose,
        shorten: Callable[[str], str],
        new_id: Callable[[], str],
        tell: Callable[[str], None],
    ) -> None:
        self._editor = editor
        self._runs = runs
        self._tasks = tasks
        self._compose = compose
        self._shorten = shorten
        self._new_id = new_id
        self.shelf = Shelf(editor)
        self._unwritten = Unwritten(editor, tell)
        self._live: dict[str, _Live] = {}
        self._of_run: dict[str, _Live] = {}
        self._to_send: set[str] = set()

    # ---- documents

    def opened(self, uri: str) -> None:
        """A document was opened."""
        if self.shelf.opened(uri):
            self._follow(uri)
            self._wake(uri)
            if same_key(uri) in self._to_send:
                self._to_send.discard(same_key(uri))
                self._tasks.create_task(self._send_soon(uri))

    def changed(self, uri: str) -> None:
        """A document was changed."""
        if self.shelf.changed(uri):
            self._wake(uri)

    def closed(self, uri: str) -> None:
        """A document was closed."""
        if self.shelf.closed(uri):
            self._wake(uri)
            self._let_go(same_key(uri))

    def close(self) -> None:
        """Write no more."""
        for live in self._live.values():
            live.writer.close()

    def run_of(self, uri: str) -> str | None:
        """The run that goes on in a document; one that was told to have ended does not."""
        live = self._live.get(same_key(uri))
        return live.run_id if live and not live.ended else None

    # ---- sending

    async def send(self, uri: str | None, when: When) -> tuple[str, str]:
        """Send what was written last; returns the document and the run that answers.

        While a run goes on, the prompt is said to it ("now") or waits for its end ("next").
        """
        document = self.shelf.find(uri)
        prompt = parse(document.text).prompt
        if prompt is None:
            raise InvalidRequest(NOTHING_TO_SEND, field="uri")
        live = self._enliven(document)
        if live.run_id is None or live.ended:
            return document.uri, await self._start(live, document, prompt.body)
        if prompt.body == live.sent and parse(document.text).answer(live.run_id) is None:
            return document.uri, live.run_id  # sent already, and not written yet
        if when == "next" or live.session_id is None:
            live.writer.change(partial(text_of.with_mark, prompt=prompt.body, mark="next"))
            return document.uri, live.run_id
        return document.uri, await self._steer(live, live.session_id, prompt.body)

    async def take_back(self, uri: str | None, prompt: str) -> None:
        """What waits is a prompt like any other again. Raises InvalidRequest if it was taken."""
        document = self.shelf.find(uri)
        live = self._live.get(same_key(document.uri))
        waiting = next(
            (e for e in parse(document.text).entries if e.mark and e.body == prompt), None
        )
        if waiting is None:
            raise InvalidRequest("No such prompt waits.", field="prompt")
        if waiting.mark == "now" and live is not None and live.session_id is not None:
            waiting_id = live.steered.pop(prompt, "")
            if not self._runs().take_back(live.session_id, waiting_id):
                raise InvalidRequest("The agent has taken it already.", field="prompt")
        writer = self._enliven(document).writer
        writer.change(partial(text_of.with_mark, prompt=prompt, mark=None))

    def said_why(self, uri: str, prompt: str) -> None:
        """A prompt was used as the reason for an answer to a question: the answer goes on below."""
        live = self._live.get(same_key(uri))
        if live is not None and live.run_id is not None:
            live.writer.change(partial(text_of.with_mark, prompt=prompt, mark="now"))
            self._part(live, live.run_id)

    async def propose(self, prompt: str, *, send: bool) -> str | None:
        """Put a prompt into the conversation used last; None if there is none.

        One with a prompt that isn't sent yet is not sent with it.
        """
        document = next(
            (d for d in self.shelf.latest() if not (send and parse(d.text).prompt)), None
        )
        if document is None:
            return None
        live = self._enliven(document)
        made = live.writer.change(partial(text_of.with_prompt, prompt=prompt))
        await self._made(made)
        await self._show_end(document.uri)
        if send:
            await self.send(document.uri, "next")
        return document.uri

    def send_when_open(self, uri: str) -> None:
        """Send what a document holds once the editor has opened it."""
        self._to_send.add(same_key(uri))

    # ---- deltas

    def take(self, numbered: NumberedDelta) -> None:
        """Write a delta into the document that its run belongs to, if there is one."""
        live = self._of_run.get(numbered.run_id) or self._adopt(numbered)
        if live is None:
            return
        run_id, delta = numbered.run_id, numbered.delta
        if live.session_id != numbered.session_id:
            live.session_id = numbered.session_id
            live.writer.change(partial(text_of.with_session, session_id=numbered.session_id))
        if isinstance(delta, Text) and numbered.origin.kind == "user":
            live.steered.pop(delta.text, None)
            self._part(live, run_id)
            return
        live.writer.write(run_id, live.composer.feed(delta))
        if isinstance(delta, Ended) and live.run_id == run_id:
            live.ended = True
            live.writer.try_again()

    def _adopt(self, numbered: NumberedDelta) -> _Live | None:
        """A run that a session of a document began by itself, with what was said too late."""
        for live in self._live.values():
            is_free = live.run_id is None or live.ended
            if live.session_id == numbered.session_id and is_free:
                self._begin(live, numbered.run_id)
                live.steered.pop(next(iter(live.steered), ""), None)
                live.writer.change(partial(_with_answer_to_said, run_id=numbered.run_id))
                self._tasks.create_task(
                    self._carry(live, RunRequest((), live.session_id, numbered.run_id))
                )
                return live
        return None

    def _part(self, live: _Live, run_id: str) -> None:
        live.writer.write(run_id, live.composer.part())
        live.writer.change(partial(text_of.with_more_room, run_id=run_id))

    # ---- runs

    async def _start(self, live: _Live, document: Document, prompt: str) -> str:
        run_id = self._new_id()[:12]
        live.sent = prompt
        self._begin(live, run_id)
        live.writer.try_again()
        made = live.writer.change(partial(text_of.with_answer, prompt=prompt, run_id=run_id))
        self._tasks.create_task(self._converse(live, document, prompt, run_id))
        self._tasks.create_task(self._move_on(document.uri, made))
        return run_id

    def _begin(self, live: _Live, run_id: str) -> None:
        live.run_id, live.ended, live.composer = run_id, False, Composer(self._shorten)
        live.answering = run_id
        self._of_run[run_id] = live

    async def _converse(self, live: _Live, document: Document, prompt: str, run_id: str) -> None:
        fields = parse(document.text).fields
        try:
            composed = await self._compose(prompt)
        except AgentHostError as error:
            live.writer.write(run_id, live.composer.fail(error.code, error.message))
            self._over(live, run_id)
            await self._unwritten.show(live.writer, run_id, live.session_id)
            return
        for note in composed.notes:
            live.writer.write(run_id, live.composer.note(note))
        request = RunRequest(
            composed.parts,
            session_id=fields.get("session"),
            run_id=run_id,
            role=fields.get("role"),
            model=fields.get("model"),
            runtime=fields.get("runtime"),
        )
        await self._carry(live, request)

    async def _carry(self, live: _Live, request: RunRequest) -> None:
        """See a run to its end; then what waits is sent, or handed back after a stop."""
        run_id = request.run_id or ""
        status = "failed"
        try:
            status = (await self._runs().run(request)).status
        except AgentHostError as error:
            live.writer.write(run_id, live.composer.fail(error.code, error.message))
        except Exception:
            log.exception("run %s of a conversation broke", run_id)
            said = live.composer.fail("internal", "The host's log says why. Send it again.")
            live.writer.write(run_id, said)
        finally:
            self._over(live, run_id)
        await self._unwritten.show(live.writer, run_id, live.session_id)
        await self._go_on(live, stopped=status == "stopped")

    def _over(self, live: _Live, run_id: str) -> None:
        self._of_run.pop(run_id, None)
        if live.run_id == run_id:
            live.run_id = None
        self._let_go(same_key(live.uri))

    async def _go_on(self, live: _Live, *, stopped: bool) -> None:
        if stopped:
            live.steered.clear()
        if live.steered:
            return  # what was said too late for the run begins one by itself
        await live.writer.written()
        document = self._editor.document(live.uri)
        if document is None or live.run_id is not None:
            return
        waiting = parse(document.text).marked("next")
        if waiting is not None and not stopped:
            await self._start(self._enliven(document), document, waiting.body)
        elif waiting is not None or parse(document.text).marked("now") is not None:
            live.writer.change(_with_nothing_waiting)

    async def _steer(self, live: _Live, session_id: str, prompt: str) -> str:
        live.writer.change(partial(text_of.with_mark, prompt=prompt, mark="now"))
        parts = (await self._compose(prompt)).parts
        # A run reads files first.
        said = tuple(part for part in parts if isinstance(part, TextPart))
        steered = await self._runs().steer(session_id, said, "now")
        if steered.accepted == "queued" and self._runs().take_back(session_id, steered.id):
            # Its agent can't hear it before it is done; the document keeps what is next.
            live.writer.change(partial(text_of.with_mark, prompt=prompt, mark="next"))
            return live.run_id or ""
        live.steered[prompt] = steered.id
        return steered.run_id or live.run_id or ""

    # ---- the rest

    def _enliven(self, document: Document) -> _Live:
        key = same_key(document.uri)
        live = self._live.get(key)
        if live is None:
            refused = partial(self._unwritten.refused, document.uri)
            writer = DocumentWriter(document.uri, self._editor, refused)
            live = self._live[key] = _Live(document.uri, writer)
            self._tasks.create_task(live.writer.serve())
        if live.run_id is None:
            live.session_id = parse(document.text).session_id
        return live

    def _wake(self, uri: str) -> None:
        live = self._live.get(same_key(uri))
        if live is not None:
            live.writer.wake()

    def _let_go(self, key: str) -> None:
        """Forget a document that is closed, once nothing goes on in it and nothing waits for it."""
        live = self._live.get(key)
        if live is None or live.run_id is not None or live.writer.waits:
            return
        if not self.shelf.holds(key):
            del self._live[key]
            live.writer.close()

    def _follow(self, uri: str) -> None:
        """A document that was renamed is closed under one name and opened under another."""
        conversation = self.shelf.conversation(uri)
        if conversation is None or same_key(uri) in self._live:
            return
        for key, live in tuple(self._live.items()):
            is_here = conversation.answer(live.answering) is not None
            if is_here and not self.shelf.holds(key):
                self._live[same_key(uri)] = self._live.pop(key)
                live.uri = uri
                live.writer.move(uri)
                return

    async def _move_on(self, uri: str, made: asyncio.Event) -> None:
        """The cursor goes to where the next prompt is written."""
        if await self._made(made):
            await self._show_end(uri)

    async def _made(self, made: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(2.0):
                await made.wait()
        except TimeoutError:
            return False
        return True

    async def _show_end(self, uri: str) -> None:
        document = self._editor.document(uri)
        if document is not None:
            lines = document.text.split("\n")
            end = Position(len(lines) - 1, len(lines[-1]))
            await self._editor.show(uri, Range(end, end))

    async def _send_soon(self, uri: str) -> None:
        try:
            await self.send(uri, "next")
        except AgentHostError as error:
            log.warning("a conversation could not be sent: %s", error.message)


def _with_answer_to_said(text: str, run_id: str) -> str:
    said = parse(text).marked("now")
    return text_of.with_answer(text, said.body if said else "", run_id)


def _with_nothing_waiting(text: str) -> str:
    for entry in parse(text).entries:
        if entry.mark is not None:
            text = text_of.with_mark(text, entry.body, None)
    return text
