"""Writes into one conversation document while its person may be typing in it.

Each batch is one edit, made for the text that the editor last told and made anew when that has
moved on; an edit of which the editor tells nothing is never sent twice. Nothing is written while
the document is closed; what then comes waits, up to a limit.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_host.conversation.format import appended, parse
from agent_host.core.document import BufferEdit
from agent_host.core.ports import Editor
from agent_host.editing.landed import is_untouched

SECONDS_BETWEEN = 0.2
"""Five edits a second are smooth for a reader and easy for every editor."""

SECONDS_AT_MOST = 2.0
"""A long document is written to less often: an edit of it costs its editor more."""

CHARACTERS_A_SECOND = 1_000_000

SECONDS_REFUSED = 2.0
"""An edit may be refused for a text that the person is changing: that does not last."""

MOST_WAITING = 4 * 1024 * 1024
"""Characters that wait for a document; what is more is left to the session's own record."""

Step = Callable[[str], str]
"""A change of the text that is made once only, however often it is applied."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Piece:
    """More of a run's answer."""

    run_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Made:
    """A change, and whether it was made."""

    step: Step
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """An edit that the editor took or lost: what it was made of shows with the next change.

    `refused`: the reason, of one that it lost for certain; `at`: when, in the loop's time.
    """

    before: str
    after: str
    sent: tuple[Made | Piece, ...]
    refused: str | None
    at: float


class DocumentWriter:
    """Owned by one document; `serve` is its one loop and ends with `close`.

    `wake` is to be called whenever the document was opened, changed or closed. `on_refused` gets
    the reason why nothing can be written, once until something was written again.
    """

    def __init__(self, uri: str, editor: Editor, on_refused: Callable[[str], None]) -> None:
        self.uri = uri
        self._editor = editor
        self._on_refused = on_refused
        self._waiting: list[Made | Piece] = []
        self._in_flight = 0
        self._size = 0
        self._length = 0
        self._doubt: _Doubt | None = None
        self._woken = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._is_told = False
        self._tries_again = False
        self._closing = asyncio.Event()

    def change(self, step: Step) -> asyncio.Event:
        """Have the text changed, after all that waits already; the event says that it was."""
        made = Made(step)
        self._waiting.append(made)
        self._go()
        return made.done

    def write(self, run_id: str, text: str) -> None:
        """Have more of an answer written."""
        if not text or self._size + len(text) > MOST_WAITING:
            return
        self._size += len(text)
        last = self._waiting[-1] if len(self._waiting) > self._in_flight else None
        if isinstance(last, Piece) and last.run_id == run_id:
            self._waiting[-1] = Piece(run_id, last.text + text)
        else:
            self._waiting.append(Piece(run_id, text))
        self._go()

    @property
    def waits(self) -> bool:
        """Whether something is not written yet."""
        return bool(self._waiting)

    def move(self, uri: str) -> None:
        """The document has another name from now on."""
        self.uri = uri
        self._doubt = None
        self.wake()

    def try_again(self) -> None:
        """Send what was refused once more; till then it is not `at_rest`."""
        is_refused = self._doubt is not None and self._doubt.refused is not None
        if is_refused and not self._closing.is_set():
            self._tries_again = True
            self._at_rest.clear()
            self.wake()

    def wake(self) -> None:
        """Look at the document again."""
        self._woken.set()

    def close(self) -> None:
        """End the loop; what waits is not written."""
        self._closing.set()
        self._idle.set()
        self._at_rest.set()
        self._woken.set()

    @property
    def is_closed(self) -> bool:
        """Whether nothing is written any more: the host ends."""
        return self._closing.is_set()

    async def written(self) -> None:
        """Return once nothing waits, or the writer is closed."""
        await self._idle.wait()

    async def at_rest(self) -> None:
        """Return once nothing waits, or what waits was refused and that was told."""
        await self._at_rest.wait()

    def unwritten(self, run_id: str) -> str:
        """What waits of a run's answer."""
        pieces = [each for each in self._waiting if isinstance(each, Piece)]
        return "".join(each.text for each in pieces if each.run_id == run_id).strip()

    async def serve(self) -> None:
        """Write what comes, until closed."""
        loop = asyncio.get_running_loop()
        while not self._closing.is_set():
            self._woken.clear()
            began = loop.time()
            try:
                may_go_on = await self._round()
            except Exception:
                log.exception("writing into a conversation failed")
                may_go_on = False
            if not may_go_on:
                await self._more()
                continue
            pause = min(SECONDS_BETWEEN + self._length / CHARACTERS_A_SECOND, SECONDS_AT_MOST)
            await self._pause(began + pause - loop.time())

    async def _more(self) -> None:
        """Wait until something happens; a refusal that lasts is told."""
        doubt, seconds = self._doubt, None
        if doubt is not None and doubt.refused is not None and not self._is_told:
            seconds = max(0.0, doubt.at + SECONDS_REFUSED - asyncio.get_running_loop().time())
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            self._is_told = True
            self._at_rest.set()
            self._on_refused(doubt.refused if doubt and doubt.refused else "")

    # ---- one batch

    async def _round(self) -> bool:
        """Write what waits; False when there is nothing to do until something happens."""
        document = self._editor.document(self.uri)
        if document is None or not self._waiting:
            return False
        if self._doubt is not None and not self._settle(document.text):
            return False
        sent = tuple(self._waiting)
        self._length = len(document.text)
        after = _changed(document.text, sent)
        if after == document.text:
            self._done(sent)
            return True
        self._in_flight = len(sent)
        edit = BufferEdit(self.uri, document.text, after, label="")
        try:
            outcome = await self._editor.apply(edit)
        finally:
            self._in_flight = 0
        if outcome.status == "applied":
            self._done(sent)
        elif outcome.status == "refused":
            refused = None if outcome.may_come else outcome.reason or "the editor refuses it"
            at = asyncio.get_running_loop().time()
            self._doubt = _Doubt(document.text, after, sent, refused, at)
            if refused is not None and self._is_told:
                self._at_rest.set()
        return True

    def _settle(self, now: str) -> bool:
        """Find out what became of a doubtful edit; False while the text still shows nothing."""
        doubt = self._doubt
        if doubt is None or (now == doubt.before and not self._tries_again):
            return False
        self._doubt, self._tries_again = None, False
        if not is_untouched(doubt.before, doubt.after, now, apart=False) and _holds(now, doubt):
            self._done(doubt.sent)
        return True

    def _done(self, sent: tuple[Made | Piece, ...]) -> None:
        del self._waiting[: len(sent)]
        for each in sent:
            if isinstance(each, Made):
                each.done.set()
        self._size -= sum(len(each.text) for each in sent if isinstance(each, Piece))
        self._is_told = False
        if not self._waiting:
            self._idle.set()
            self._at_rest.set()

    def _go(self) -> None:
        if self._closing.is_set():
            return
        self._idle.clear()
        if not self._is_told:
            self._at_rest.clear()
        self._woken.set()

    async def _pause(self, seconds: float) -> None:
        """Let a batch gather; closing ends the pause."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._closing.wait()


def _changed(text: str, steps: Sequence[Made | Piece]) -> str:
    """The text after these changes; an answer whose place was removed gets no more."""
    for step in steps:
        if isinstance(step, Piece):
            text = appended(text, step.run_id, step.text) or text
        else:
            text = step.step(text)
    return text


def _holds(now: str, doubt: _Doubt) -> bool:
    """Whether the text holds the pieces of an edit, as often as it would after the edit.

    Of an edit without pieces nothing can be told, and nothing has to: it changes nothing twice.
    """
    old, found, wanted = parse(doubt.before), parse(now), parse(doubt.after)
    pieces = [each for each in doubt.sent if isinstance(each, Piece)]
    for each in pieces:
        there, expected = found.answer(each.run_id), wanted.answer(each.run_id)
        if expected is None or (there is None and old.answer(each.run_id) is not None):
            continue  # its place was deleted by the person
        piece = each.text.strip()
        if there is None or there.body.count(piece) < expected.body.count(piece):
            return False
    return bool(pieces)
