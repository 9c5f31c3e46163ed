"""The model that plays a script: for demos, tests, and people who write for editors.

It needs no key and no network, and is never used unless it is asked for by name. In texts and
arguments `{{prompt}}` is what the user said. Not here: the format of scripts (script.py).
"""

import asyncio
import json
from collections.abc import Iterator
from typing import assert_never

from agent_host.core.errors import ModelNotFound, RuntimeFailed
from agent_host.core.model import TextPart, Usage
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.conversation import AgentSaid, Called, Item, Reasoned, Returned, UserSaid
from agent_host.runtimes.provider import CallIds, Emit, Finish, ModelAnswer, ModelAsk, Trouble
from agent_host.runtimes.script import (
    Call,
    End,
    Expect,
    Fail,
    Say,
    Script,
    Step,
    Use,
    Wait,
    load_script,
)
from agent_host.runtimes.trouble import Complaint, Vendor, trouble_of_status, trouble_of_stream

_SCRIPT = Vendor("The script", ())


class ScriptedProvider:
    """Plays the script's turn with the number of the run's turn."""

    async def names(self) -> list[str]:
        """None: a script is a file; see Provider."""
        return []

    async def answer(self, ask: ModelAsk, emit: Emit) -> ModelAnswer:
        """Play one turn; see Provider."""
        try:
            script = await asyncio.to_thread(load_script, ask.name, ask.cwd)
        except ModelNotFound as error:
            raise Trouble(error) from error
        performance = _Performance(ask, emit, script)
        emit.usage(Usage(requests=1))
        if ask.purpose == "aside":
            text = script.aside or f"(an answer about {_last_prompt(ask.items)[:40]!r})"
            emit.text(text)
            return ModelAnswer((AgentSaid(text),))
        return await performance.play(_turn(script, ask.turn))


def _turn(script: Script, number: int) -> tuple[Step, ...]:
    count = len(script.turns)
    if number >= count and not script.repeat:
        error = RuntimeFailed(
            f"The script {script.source} has {count} turns, but the run goes on: add a turn that "
            "only says something, or set `repeat: yes`."
        )
        raise Trouble(error)
    return script.turns[number % count]


class _Performance:
    """One turn being played."""

    def __init__(self, ask: ModelAsk, emit: Emit, script: Script) -> None:
        self._ask = ask
        self._emit = emit
        self._script = script
        self._ids = CallIds.of([i.call_id for i in ask.items if isinstance(i, Called)])
        self._prompt = _last_prompt(ask.items)
        self._items: list[Item] = []
        self._finish: Finish = "stop"
        self._detail: str | None = None

    async def play(self, steps: tuple[Step, ...]) -> ModelAnswer:
        for step in steps:
            if await self._play(step):
                break
        return ModelAnswer(tuple(self._items), self._finish, self._detail)

    async def _play(self, step: Step) -> bool:
        """Whether this was the end of the turn."""
        match step:
            case Say():
                if self._fits(step):
                    await self._say(step)
            case Call(name, arguments):
                told = arguments.replace("{{prompt}}", json.dumps(self._prompt)[1:-1])
                self._items.append(Called(self._ids.take(None), name, told))
            case Use(usage):
                self._emit.usage(usage)
            case Fail():
                self._fail(step)
            case Wait(seconds):
                await _wait(seconds)
            case End(finish, detail):
                self._finish, self._detail = finish, detail
                return True
            case Expect():
                self._check(step)
            case _:
                assert_never(step)
        return False

    def _fits(self, step: Say) -> bool:
        results = "\n".join(_results_since_prompt(self._ask.items))
        missing = step.when is not None and step.when.search(results) is None
        return not missing and (step.unless is None or step.unless.search(results) is None)

    async def _say(self, step: Say) -> None:
        text = step.text.replace("{{prompt}}", self._prompt)
        tell = self._emit.reasoning if step.thinking else self._emit.text
        for number, piece in enumerate(_pieces(text, step.characters)):
            if number:
                await asyncio.sleep(step.seconds)
            tell(piece)
        self._items.append(Reasoned(text) if step.thinking else AgentSaid(text))

    def _fail(self, step: Fail) -> None:
        if self._ask.attempt >= step.times:
            return
        if step.status is None:
            raise trouble_of_stream(_SCRIPT, step.message)
        complaint = Complaint(step.status, step.message, step.retry_after)
        raise trouble_of_status(_SCRIPT, ProviderConfig(), self._ask.name, complaint)

    def _check(self, step: Expect) -> None:
        results = [item.output for item in self._ask.items if isinstance(item, Returned)]
        for what, pattern, said in (
            ("prompt", step.prompt, self._prompt),
            ("result", step.result, results[-1] if results else ""),
        ):
            if pattern is not None and pattern.search(said) is None:
                raise Trouble(
                    RuntimeFailed(
                        f"The script {self._script.source} expects in line {step.line} that the "
                        f"{what} matches {pattern.pattern!r}, but it is {said[:200]!r}."
                    )
                )


def _results_since_prompt(items: tuple[Item, ...]) -> list[str]:
    found: list[str] = []
    for item in items:
        if isinstance(item, UserSaid):
            found.clear()
        elif isinstance(item, Returned):
            found.append(item.output)
    return found


def _last_prompt(items: tuple[Item, ...]) -> str:
    for item in reversed(items):
        if isinstance(item, UserSaid):
            return "\n".join(part.text for part in item.parts if isinstance(part, TextPart))
    return ""


async def _wait(seconds: float | None) -> None:
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)


def _pieces(text: str, characters: int | None) -> Iterator[str]:
    """The text in pieces that give it again when joined: words with the space after them."""
    if characters is not None:
        yield from (text[i : i + characters] for i in range(0, len(text), characters))
        return
    start = 0
    for i in range(1, len(text)):
        if text[i - 1].isspace() and not text[i].isspace():
            yield text[start:i]
            start = i
    if text:
        yield text[start:]
