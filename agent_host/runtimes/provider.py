"""What a vendor has to do for the runtime `sdk`: answer one turn of a conversation.

A provider asks once and maps every failure to `Trouble`. Not here: retries, tool calls, prices and
what is remembered; those are the same for all and live in sdk_turn.py and sdk_loop.py.
"""

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent_host.core.errors import AgentHostError
from agent_host.core.model import ModelOptions, ToolSpec, Usage
from agent_host.runtimes.conversation import Item

Finish = Literal["stop", "length", "refused"]
"""Why the model ended its turn: by itself (or to call tools), at its output limit, or refusing."""


@dataclass(frozen=True, slots=True)
class ModelAsk:
    """One turn to answer. `model` is `vendor/name`, `items` what `repaired` returns.

    `turn` counts from 0 in a run and `attempt` from 0 in a turn; `cwd` is the run's. `purpose`
    aside: it is no turn of the conversation, but a question beside it.
    """

    model: str
    instructions: str
    items: tuple[Item, ...]
    tools: tuple[ToolSpec, ...]
    session_id: str
    cwd: str
    turn: int
    attempt: int
    options: ModelOptions = field(default_factory=ModelOptions)
    purpose: Literal["turn", "aside"] = "turn"

    @property
    def name(self) -> str:
        """The model's name as its vendor knows it."""
        return self.model.partition("/")[2]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A whole turn; `items` in the order in which the model made them."""

    items: tuple[Item, ...]
    finish: Finish = "stop"
    detail: str | None = None


class Emit(Protocol):
    """Where a provider tells while the model speaks."""

    def text(self, text: str) -> None:
        """More of the answer."""

    def reasoning(self, text: str) -> None:
        """More of the visible thinking."""

    def unsaid(self) -> None:
        """What was said so far was no part of the answer, but thinking."""

    def usage(self, usage: Usage) -> None:
        """What this call has used as far as is known by now; replaces what was told before."""


class Trouble(Exception):
    """The turn could not be answered.

    `again`: asking again may help. `after`: the wait in seconds that the vendor asks for.
    `hidden`: what the vendor itself had hidden in earlier turns is what it does not take.
    """

    def __init__(
        self,
        error: AgentHostError,
        *,
        again: bool = False,
        after: float | None = None,
        hidden: bool = False,
    ) -> None:
        super().__init__(error.message)
        self.hidden = hidden
        self.error = error
        self.again = again
        self.after = after


class Provider(Protocol):
    """A model vendor."""

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Ask the model once. Cancelling closes the connection. Raises Trouble."""
        ...

    async def names(self) -> list[str]:
        """The models that there are, by the vendor's own names; empty if it does not tell.

        Raises Trouble.
        """
        ...


_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(slots=True)
class CallIds:
    """Call ids that every vendor accepts and that are unique in the conversation."""

    used: set[str] = field(default_factory=set[str])

    @classmethod
    def of(cls, ids: Collection[str]) -> "CallIds":
        """With the ids that are taken already."""
        return cls(set(ids))

    def take(self, wished: str | None) -> str:
        """The vendor's id if it can be used, else a new one."""
        good = wished is not None and _CALL_ID.match(wished) and wished not in self.used
        call_id = wished if good and wished else f"call_{uuid.uuid4().hex[:24]}"
        self.used.add(call_id)
        return call_id
