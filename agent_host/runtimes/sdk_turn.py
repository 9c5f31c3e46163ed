"""Asks a provider for one turn: retries, prices, and what was said by the time it broke off.

A model is asked again only while nothing that counts was put out; thinking counts for nothing, and
`RunSink.retry` voids it. Not here: the loop over turns, the vendors.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent_host.core.errors import RuntimeFailed
from agent_host.core.model import Usage
from agent_host.core.ports import RunSink, RuntimeRequest
from agent_host.runtimes.advice import advised
from agent_host.runtimes.context import Gauge, fixed_size, size_of
from agent_host.runtimes.conversation import AgentSaid, Item
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
        gauge: Gauge,
    ) -> None:
        self._provider = provider
        self._request = request
        self._sink = sink
        self._price = price
        self._pause = pause
        self._gauge = gauge
        self._draft = Draft(sink)
        self._cached = 0

    @property
    def said(self) -> str:
        """What the model has said so far in this turn, or said in the last one."""
        return self._draft.said

    async def ask(self, items: tuple[Item, ...], turn: int) -> ModelAnswer:
        """The model's answer to the conversation; raises Trouble when there will be none."""
        request = self._request
        ask = ModelAsk(
            model=request.model,
            instructions=request.instructions,
            items=items,
            tools=request.tools,
            session_id=request.session_id,
            cwd=request.cwd,
            turn=turn,
            attempt=0,
            options=request.options,
        )
        return await self._persist(ask)

    async def aside(self, instructions: str, items: tuple[Item, ...]) -> str:
        """The model's answer to a question beside the conversation; nobody hears it while it is
        said. Raises Trouble.
        """
        request = self._request
        ask = ModelAsk(
            model=request.model,
            instructions=instructions,
            items=items,
            tools=(),
            session_id=request.session_id,
            cwd=request.cwd,
            turn=0,
            attempt=0,
            options=replace(request.options, output_schema=None),
            purpose="aside",
        )
        answer = await self._persist(ask)
        text = "".join(item.text for item in answer.items if isinstance(item, AgentSaid)).strip()
        if answer.finish == "refused" or not text:
            raise Trouble(RuntimeFailed(f"{request.model} gave no summary: try again."))
        return text

    async def _persist(self, ask: ModelAsk) -> ModelAnswer:
        attempt = 0
        while True:
            draft = Draft(self._sink, quiet=ask.purpose == "aside")
            try:
                return await self._once(replace(ask, attempt=attempt), draft)
            except Trouble as trouble:
                wait = trouble.after if trouble.after is not None else _back_off(attempt)
                said = draft.said != "" and not draft.quiet
                hopeless = attempt == _RETRIES or wait > _LONGEST_WAIT or said
                if hopeless or not trouble.again:
                    raise await advised(trouble, ask, self._provider) from trouble
                self._sink.retry(trouble.error.message, wait)
                await self._pause(wait)
                attempt += 1

    async def _once(self, ask: ModelAsk, draft: "Draft") -> ModelAnswer:
        if not draft.quiet:
            self._draft = draft
        size = self._gauge.size
        try:
            answer = await self._provider.answer(ask, draft)
        except BaseException as error:
            if draft.heard or draft.used is not None or isinstance(error, asyncio.CancelledError):
                self._tell_usage(self._guessed(ask, draft), size, draft)
            raise
        self._tell_usage(draft.used or Usage(), size, draft)
        return answer

    def _guessed(self, ask: ModelAsk, draft: "Draft") -> Usage:
        """What a call has taken that broke off before its vendor has told all of it."""
        gauge, told = self._gauge, draft.used or Usage()
        sent = fixed_size(ask.instructions, ask.tools) + sum(map(size_of, ask.items))
        heard = gauge.tokens(draft.heard)
        used = replace(told, output_tokens=max(told.output_tokens, heard), estimated=True)
        if told.input_tokens:
            return used
        input_tokens = gauge.tokens(sent)
        cached = min(self._cached, input_tokens)
        return replace(used, input_tokens=input_tokens, cached_tokens=cached)

    def _tell_usage(self, used: Usage, size: int, draft: "Draft") -> None:
        gauge, model = self._gauge, self._request.model
        # What is not counted has no price: nothing is known of it, and it was not for nothing.
        counted = used.input_tokens or used.output_tokens
        cost = used.cost_usd
        if cost is None and counted:
            cost = self._price(model, used)
        used = replace(used, requests=1, cost_usd=cost)
        if not draft.quiet:
            self._cached = used.cached_tokens + used.cache_write_tokens
            if not used.estimated:
                gauge.ratios.learn(model, size, used.input_tokens)
            tokens = used.input_tokens + used.output_tokens or gauge.used
            used = replace(used, context_tokens=tokens, context_window=gauge.window)
        self._sink.usage(used)


class Draft:
    """Passes on what a model says and keeps the text, should the turn never get finished.

    A quiet one passes on nothing. `heard`: characters that came, thinking too.
    """

    __slots__ = ("_pieces", "_sink", "heard", "quiet", "used")

    def __init__(self, sink: RunSink, *, quiet: bool = False) -> None:
        self._sink = sink
        self.quiet = quiet
        self._pieces: list[str] = []
        self.used: Usage | None = None
        self.heard = 0

    @property
    def said(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def text(self, text: str) -> None:
        """More of the answer."""
        if text:
            self.heard += len(text)
            self._pieces.append(text)
            if not self.quiet:
                self._sink.text(text)

    def reasoning(self, text: str) -> None:
        """More of the visible thinking."""
        self.heard += len(text)
        if text and not self.quiet:
            self._sink.reasoning(text)

    def unsaid(self) -> None:
        """What was said was thinking: it is void, and will be told as such."""
        self._pieces.clear()
        if not self.quiet:
            self._sink.retry("what it said so far was thinking", 0.0)

    def usage(self, usage: Usage) -> None:
        """What was used as far as is known by now."""
        self.used = usage


def _back_off(attempt: int) -> float:
    spread = 0.75 + random.random() / 2  # noqa: S311 - so that clients don't come back in step
    return _FIRST_WAIT * 2**attempt * spread
