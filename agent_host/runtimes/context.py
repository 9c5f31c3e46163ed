"""How full a model's context is, estimated from bytes, and set right by what the vendor counts.

No tokenizer is needed and nobody is asked: after the first call the estimate is as good as the
vendor's own count of that call. Not here: what is done about it (compactor.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from agent_host.core.model import ImagePart, TextPart, ToolSpec
from agent_host.runtimes.conversation import (
    AgentSaid,
    Called,
    Item,
    Opaque,
    Reasoned,
    Returned,
    UserSaid,
)

TOKENS_PER_BYTE = 0.3
"""Before anything is known of a model; code has about 3.5 bytes a token."""
_LEAST, _MOST = 0.05, 1.0
_ITEM = 24
"""Bytes that an item costs beside its text."""
_IMAGE = 5000
"""An image counts as so many bytes of text, whatever its size."""


@dataclass(slots=True)
class Ratios:
    """Tokens per byte by model, learnt from call to call and from run to run."""

    known: dict[str, float] = field(default_factory=dict[str, float])

    def of(self, model: str) -> float:
        return self.known.get(model, TOKENS_PER_BYTE)

    def learn(self, model: str, size: int, tokens: int) -> None:
        """`size` bytes were counted as so many tokens by the vendor."""
        if size > 0 and tokens > 0:
            self.known[model] = min(max(tokens / size, _LEAST), _MOST)


@dataclass(slots=True)
class Gauge:
    """The context of one conversation: `fixed` bytes of instructions and tools, and its items.

    `window` is what the model holds in tokens, None: nobody knows.
    """

    model: str
    window: int | None
    ratios: Ratios
    fixed: int
    items: int = 0

    def add(self, items: Iterable[Item]) -> None:
        """More of the conversation; the cost does not depend on what is there already."""
        self.items += sum(map(size_of, items))

    def reset(self, items: Iterable[Item]) -> None:
        """The conversation is this now."""
        self.items = 0
        self.add(items)

    @property
    def size(self) -> int:
        """Bytes of everything that is sent."""
        return self.fixed + self.items

    @property
    def used(self) -> int:
        """Tokens of everything that is sent, estimated."""
        return self.tokens(self.size)

    def after(self, items: Iterable[Item]) -> int:
        """Tokens of everything that would be sent with these items."""
        return self.tokens(self.fixed + sum(map(size_of, items)))

    def tokens(self, size: int) -> int:
        """So many bytes in tokens."""
        return round(size * self.ratios.of(self.model))

    def bytes_of(self, tokens: float) -> int:
        """So many tokens in bytes."""
        return int(tokens / self.ratios.of(self.model))


def fixed_size(instructions: str, tools: Iterable[ToolSpec]) -> int:
    """Bytes of what is sent with every call."""
    sizes = (_text(t.name) + _text(t.description) + len(repr(t.parameters)) + _ITEM for t in tools)
    return _text(instructions) + sum(sizes)


def size_of(item: Item) -> int:
    """Bytes that an item costs."""
    match item:
        case UserSaid(parts):
            return _ITEM + sum(map(_part, parts))
        case AgentSaid(text, _, opaque) | Reasoned(text, opaque):
            return _ITEM + _text(text) + _opaque(opaque)
        case Called(_, name, arguments, opaque):
            return 2 * _ITEM + _text(name) + _text(arguments) + _opaque(opaque)
        case Returned(_, output, _, images):
            return _ITEM + _text(output) + _IMAGE * len(images)
    assert_never(item)


def _part(part: TextPart | ImagePart) -> int:
    return _text(part.text) if isinstance(part, TextPart) else _IMAGE


def _opaque(opaque: Opaque | None) -> int:
    return 0 if opaque is None else sum(len(str(value)) for value in opaque.data.values())


def _text(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
