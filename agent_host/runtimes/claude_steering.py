"""What the user says while the claude CLI works: told to it as a further message of theirs.

The CLI takes one before its next call of the model. One that comes too late for that is a turn of
its own after its answer. It repeats each message when it takes it, by which we know.
"""

import contextlib
from collections.abc import Awaitable, Callable
from uuid import uuid4

from agent_host.core.model import PromptPart
from agent_host.process import ChildGone
from agent_host.runtimes import claude_wire
from agent_host.runtimes.conversation import Item, user_said


class Steering:
    """What is said to one run; `take` gives what has not been taken yet."""

    def __init__(self, take: Callable[[], tuple[PromptPart, ...]]) -> None:
        self._take = take
        self._send: Callable[[bytes], Awaitable[None]] | None = None
        self._remember: Callable[[Item], None] | None = None
        self._unheard: set[str] = set()

    @property
    def waits(self) -> bool:
        """Whether the CLI has not taken all that it was told."""
        return bool(self._unheard)

    def attach(
        self, send: Callable[[bytes], Awaitable[None]], remember: Callable[[Item], None]
    ) -> None:
        """The CLI is there: from now on `pass_on` sends."""
        self._send, self._remember = send, remember

    async def pass_on(self) -> None:
        """Tell what was said meanwhile; called before the CLI calls its model again."""
        if self._send is None or self._remember is None or not (said := self._take()):
            return
        name = str(uuid4())
        self._unheard.add(name)
        self._remember(user_said(said))
        with contextlib.suppress(ChildGone):
            await self._send(claude_wire.prompt(said, "", name))

    def heard(self, name: str) -> None:
        """The CLI has taken a message."""
        self._unheard.discard(name)
