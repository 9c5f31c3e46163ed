"""Asks a provider for one turn: retries, prices, and what was said by the time it broke off.

A model is asked again only while nothing that counts was put out; thinking counts for nothing, and
`RunSink.retry` voids it. Not here: the loop over turns, the vendors.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent_host.core.model import Usage
from agent_host.core.ports import RunSink, RuntimeRequest
from agent_host.runtimes.conversation import Item
from agent_host.runtimes.provider import ModelAnswer, ModelAsk, Provider, Trouble

_RETRIES = 3
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5


class Asker:
    """Puts the turns of one run to its provider, one after the other."""

    def __init__(
        self,
        provider: Provider,
        request: RuntimeRequest,
        sink: RunSink,
        price: Callable[[str, Usage], float | None],
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._provider = provider
        self._request = request
        self._sink = sink
        self._price = price
        self._pause = pause
        self._draft = Draft(sink)

    @property
    def said(self) -> str:
        """What the model has said so far in this turn, or said in the last one."""
        return self._draft.said

    async def ask(self, items: tuple[Item, ...], turn: int) -> ModelAnswer:
        """The model's answer to the conversation; raises Trouble when there will be none."""
        attempt = 0
        while True:
            try:
                return await self._once(items, turn, attempt)
            except Trouble as trouble:
                wait = trouble.after if trouble.after is not None else _back_off(attempt)
                hopeless = attempt == _RETRIES or wait > _LONGEST_WAIT or self._draft.said != ""
                if hopeless or not trouble.again:
                    raise
                self._sink.retry(trouble.error.message, wait)
                await self._pause(wait)
                attempt += 1

    async def _once(self, items: tuple[Item, ...], turn: int, attempt: int) -> ModelAnswer:
        request = self._request
        self._draft = draft = Draft(self._sink)
        ask = ModelAsk(
            model=request.model,
            instructions=request.instructions,
            items=items,
            tools=request.tools,
            session_id=request.session_id,
            cwd=request.cwd,
            turn=turn,
            attempt=attempt,
        )
        try:
            return await self._provider.answer(ask, draft)
        finally:
            if draft.used is not None:
                cost = draft.used.cost_usd
                if cost is None:
                    cost = self._price(request.model, draft.used)
                self._sink.usage(replace(draft.used, requests=1, cost_usd=cost))


class Draft:
    """Passes on what a model says and keeps the text, should the turn never get finished."""

    __slots__ = ("_pieces", "_sink", "used")

    def __init__(self, sink: RunSink) -> None:
        self._sink = sink
        self._pieces: list[str] = []
        self.used: Usage | None = None

    @property
    def said(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def text(self, text: str) -> None:
        """More of the answer."""
        if text:
            self._pieces.append(text)
            self._sink.text(text)

    def reasoning(self, text: str) -> None:
        """More of the visible thinking."""
        if text:
            self._sink.reasoning(text)

    def usage(self, usage: Usage) -> None:
        """What was used as far as is known by now."""
        self.used = usage


def _back_off(attempt: int) -> float:
    spread = 0.75 + random.random() / 2  # noqa: S311 - so that clients don't come back in step
    return _FIRST_WAIT * 2**attempt * spread
