"""Compacts the conversation of one run: when it is nearly full, when it was too long, on wish.

The model itself writes the summary. One try for each overflow, and none that could win nothing:
what does not fit then ends the run with its reason.
"""

from typing import Literal, Protocol

from agent_host.core.errors import ContextOverflow
from agent_host.core.events import Compacted
from agent_host.runtimes.compaction import INSTRUCTIONS, Cut, asking, compacted, cut, whole
from agent_host.runtimes.context import Gauge
from agent_host.runtimes.conversation import Item
from agent_host.runtimes.provider import Trouble

FULL = 0.8
"""The part of the window above which a conversation is compacted before the next call."""
TAIL = 0.2
"""The part of the window that stays as it is, of the latest."""
LEAST = 0.1
"""What must have come since the last compaction, as a part of the window, to try it again."""

Why = Literal["full", "overflow", "asked"]


class Conversation(Protocol):
    """What is compacted."""

    @property
    def items(self) -> list[Item]: ...

    def replace(self, how: Compacted, items: tuple[Item, ...]) -> None:
        """The conversation is this from now on."""


class Summarises(Protocol):
    """Who asks the model for a summary; raises Trouble."""

    async def aside(self, instructions: str, items: tuple[Item, ...]) -> str: ...


class Compactor:
    """Compacts one run's conversation."""

    def __init__(
        self, conversation: Conversation, gauge: Gauge, asker: Summarises, model: str
    ) -> None:
        self._conversation = conversation
        self._gauge = gauge
        self._asker = asker
        self._model = model
        self._after = 0
        self._tried = "there is nothing to compact"

    async def if_full(self) -> str | None:
        """Compact what is nearly full. Returns why it could not, though the run may go on."""
        window = self._gauge.window
        if window is None or self._gauge.used < FULL * window:
            return None
        if self._gauge.used < self._after + LEAST * window:
            return None  # it was just compacted, and that could not win more
        try:
            await self._compact("full", self._cut(window), window)
        except Trouble as trouble:
            return f"The conversation could not be compacted: {trouble.error.message}"
        finally:
            self._after = self._gauge.used
        return None

    async def on_overflow(self) -> bool:
        """Compact what the vendor found too long; False: there is nothing to win."""
        window = min(self._gauge.window or self._gauge.used, self._gauge.used)
        return await self._compact("overflow", self._cut(window), window) is not None

    async def on_wish(self, focus: str) -> Compacted | None:
        """Compact everything; None if there is nothing to compact. Raises Trouble."""
        window = self._gauge.window or max(self._gauge.used, 1)
        parts = whole(self._conversation.items)
        return await self._compact("asked", parts, window, focus) if parts else None

    def overflow(self) -> Trouble:
        """It does not fit, whatever is done."""
        gauge = self._gauge
        fixed = gauge.tokens(gauge.fixed)
        size = f"of {gauge.window:,} tokens" if gauge.window else "(its size is not known)"
        return Trouble(
            ContextOverflow(
                f"The conversation does not fit into the context of {self._model} {size}, and "
                f"{self._tried}: it takes about {gauge.used:,} tokens, {fixed:,} of them for the "
                "role, instructions and tools. Shorten these or the prompt, or use a model with a "
                "larger context.",
                used=gauge.used,
                window=gauge.window,
            )
        )

    def _cut(self, window: int) -> Cut | None:
        return cut(self._conversation.items, self._gauge.bytes_of(TAIL * window))

    async def _compact(
        self, why: Why, parts: Cut | None, window: int, focus: str = ""
    ) -> Compacted | None:
        if parts is None:
            return None
        before = self._gauge.used
        room = self._gauge.bytes_of(window / 2)
        summary = await self._asker.aside(INSTRUCTIONS, asking(parts.head, room, focus))
        items = compacted(summary, parts)
        after = self._gauge.after(items)
        how = Compacted(why, before, after, summary.strip())
        self._conversation.replace(how, items)
        self._tried = "compacting it did not help"
        return how
