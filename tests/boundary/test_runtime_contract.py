"""What every runtime does alike: one set of tests for the SDK, the claude CLI and ACP agents."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from agent_host.app.system_clock import SystemClock
from agent_host.core.errors import AgentHostError
from agent_host.core.model import JsonObject, Limits, Usage
from agent_host.core.ports import Runtime, RuntimeResult
from agent_host.session.watchdog import Watchdog
from tests.boundary.claude_support import Gate, Sink, fake, request
from tests.boundary.test_acp import NAME as ACP
from tests.boundary.test_acp import agent
from tests.vendors.anthropic import AnthropicVendor
from tests.vendors.runs import runtime as sdk_runtime
from tests.vendors.turns import Call, Turn

Part = Literal["answers", "calls", "streams", "falls silent", "dies", "fails"]
"""It says hello, calls a tool and says what came, says a word and goes on or no more, is killed
after a word, can't begin."""


@asynccontextmanager
async def sdk(part: Part) -> AsyncGenerator[Runtime]:
    look = Turn("I look.", calls=(Call("fs_read", {"path": "a.txt"}),))
    turns = {
        "answers": (Turn("Hello.", thinking="Hm."),),
        "calls": (look, Turn("It was read.")),
        "streams": (Turn("Hello, hello.", hang="text"),),
        "falls silent": (Turn("Hello, hello.", hang="text"),),
        "dies": (Turn("Hello, hello.", cut="text"),),
        "fails": (Turn(status=401),),
    }
    async with AnthropicVendor(*turns[part]) as vendor:
        made = sdk_runtime(vendor)
        try:
            yield made
        finally:
            await made.close()


@asynccontextmanager
async def claude(part: Part) -> AsyncGenerator[Runtime]:
    plays = {"fails": "exits", "falls silent": "halts"}
    yield fake(plays.get(part, part), end_seconds=0.5)


@asynccontextmanager
async def acp(part: Part) -> AsyncGenerator[Runtime]:
    plays = {
        "calls": "reads",
        "streams": "hangs",
        "falls silent": "hangs",
        "dies": "is_killed",
        "fails": "usage",
    }
    yield agent(plays.get(part, part), end_seconds=0.5)


@dataclass(frozen=True)
class Kind:
    """A runtime, how it is asked for a model, whether it is a program with sessions of its own."""

    model: str
    make: Callable[[Part], AbstractAsyncContextManager[Runtime]]
    program: bool = True
    reasons: int = 0
    """Tokens of thinking that it tells of."""
    costs: float | None = None
    """US dollars that it tells of; None: it does not know, and so nobody says 0."""


KINDS = (
    Kind("anthropic/test-model", sdk, program=False, reasons=5),
    Kind("claude-code", claude, costs=0.5),
    Kind(ACP, acp, reasons=5),
)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.model)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


async def play(
    kind: Kind, which: Runtime, cwd: Path, gate: Gate | None = None, **more: object
) -> tuple[RuntimeResult, Sink]:
    sink = Sink()
    async with asyncio.timeout(60):
        wish = request(cwd, model=kind.model, **more)
        return await which.run(wish, sink, gate or Gate()), sink


async def stopped(kind: Kind, which: Runtime, cwd: Path, gate: Gate) -> Sink:
    """Stop it once it has spoken, or is in a call that hangs."""
    sink = Sink()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        work = tasks.create_task(which.run(request(cwd, model=kind.model), sink, gate))
        await (gate.entered if gate.hang else sink.spoke).wait()
        assert which.status("s") == "running"
        work.cancel()
    assert work.cancelled()
    return sink


@dataclass
class Ordered(Sink):
    """Keeps in which order things were told, too."""

    order: list[str] = field(default_factory=list)

    def text(self, text: str) -> None:
        self.order.append("text")
        super().text(text)

    def reasoning(self, text: str) -> None:
        self.order.append("reasoning")
        super().reasoning(text)

    def total(self, usage: Usage) -> None:
        self.order.append("usage")
        super().total(usage)

    def usage(self, usage: Usage) -> None:
        self.order.append("usage")
        super().usage(usage)

    def exited(self, exit_code: int | None, signal: str | None) -> None:
        self.order.append("exited")
        super().exited(exit_code, signal)


@dataclass
class Watched(Sink):
    """Every sign of life goes to a watchdog."""

    sign: Callable[[], None] = lambda: None

    def text(self, text: str) -> None:
        self.sign()
        super().text(text)

    def alive(self) -> None:
        self.sign()


def kinds_of(memory: list[JsonObject]) -> list[object]:
    """The order of what is remembered, without what a runtime remembers for itself."""
    told = [item.get("role", item.get("type")) for item in memory]
    return [each for each in told if each not in ("runtime_session", "runtime_knows", "reasoning")]


async def test_an_answer_its_status_usage_and_memory(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("answers") as which:
        assert which.status("s") == "idle"
        result, sink = await play(kind, which, tmp_path)
        assert which.status("s") == "completed"
        assert which.status("another") == "idle"
    assert (result.status, result.error) == ("completed", None)
    assert sink.said.startswith("Hello")
    assert result.output
    used = result.usage or sink.used[-1]
    assert (used.requests, used.output_tokens, used.cached_tokens) == (1, 20, 60)
    assert used.input_tokens == 100 + used.cache_write_tokens
    assert used.reasoning_tokens == kind.reasons
    assert used.cost_usd == kind.costs
    assert kinds_of(sink.memory) == ["user", "assistant"]
    assert (len(sink.exits), bool(result.session)) == (int(kind.program), kind.program)


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_passes_the_gate(kind: Kind, tmp_path: Path, *, allowed: bool) -> None:
    gate = Gate(allows=lambda _: allowed)
    async with kind.make("calls") as which:
        result, sink = await play(kind, which, tmp_path, gate)
    assert [call.name for call in gate.calls] == ["fs_read"]
    assert gate.inside == 0
    assert (result.status == "completed") or not allowed
    if kind.model != ACP:  # whose agent has a method for it, and tells of no call
        order = ["function_call", "function_call_output", "assistant"]
        assert kinds_of(sink.memory)[-3:] == order


async def test_a_stop_in_mid_stream_and_on_from_there(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("streams") as which:
        sink = await stopped(kind, which, tmp_path, Gate())
        assert which.status("s") == "completed", "a stop is no failure"
    (said,) = [item for item in sink.memory if item.get("role") == "assistant"]
    assert said["status"] == "incomplete"
    assert len(sink.exits) == int(kind.program)
    async with kind.make("answers") as which:
        result, _ = await play(kind, which, tmp_path, history=tuple(sink.memory))
    assert result.status == "completed"


async def test_a_stop_in_a_call(kind: Kind, tmp_path: Path) -> None:
    gate = Gate(hang=True)
    async with kind.make("calls") as which:
        sink = await stopped(kind, which, tmp_path, gate)
    assert gate.inside == 0
    assert len(sink.exits) == int(kind.program)
    calls = kinds_of(sink.memory).count("function_call")
    assert kinds_of(sink.memory).count("function_call_output") == calls


async def test_a_beginning_that_fails_says_why(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("fails") as which:
        try:
            result, sink = await play(kind, which, tmp_path)
        except AgentHostError as error:
            told: AgentHostError | None = error
        else:
            told = result.error
            assert result.status == "failed"
            assert [code for code, _ in sink.exits] in ([], [1])
        assert which.status("s") == "failed"
    assert told is not None
    assert " " in told.message


async def test_the_order_in_which_it_tells(kind: Kind, tmp_path: Path) -> None:
    sink = Ordered()
    async with kind.make("answers") as which, asyncio.timeout(60):
        await which.run(request(tmp_path, model=kind.model), sink, Gate())
    texts = [number for number, each in enumerate(sink.order) if each == "text"]
    if "reasoning" in sink.order:
        assert sink.order.index("reasoning") < texts[0]
    after = sink.order[texts[-1] + 1 :]
    assert set(after) == {"usage", *(["exited"] * kind.program)}
    assert after[-1] == ("exited" if kind.program else "usage"), "nothing comes after its end"


async def test_it_goes_back_to_the_session_of_its_own(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("answers") as which:
        first, before = await play(kind, which, tmp_path)
    async with kind.make("answers") as which:
        again, after = await play(kind, which, tmp_path, history=tuple(before.memory))
    assert (again.status, again.output) == ("completed", first.output)
    assert again.session == first.session
    sessions = [each["id"] for each in before.memory if each.get("type") == "runtime_session"]
    assert sessions == [first.session] * kind.program
    assert kinds_of(after.memory) == ["user", "assistant"], "what was before is told once"


async def test_its_silence_ends_it(kind: Kind, tmp_path: Path) -> None:
    ends: list[str] = []
    async with kind.make("falls silent") as which, asyncio.timeout(60):
        sink = Watched()
        run = which.run(request(tmp_path, model=kind.model), sink, Gate())
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(run)

            def at_limit(limit: str, reason: str) -> None:
                ends.append(limit)
                work.cancel()

            limits = Limits(inactivity_seconds=1.0)
            dog = Watchdog(
                limits, SystemClock(), busy=lambda: False, asked=float, at_limit=at_limit
            )
            sink.sign = dog.active
            dog.start()
        dog.cancel()
        assert which.status("s") == "completed"
    assert ends == ["inactivitySeconds"]
    assert sink.said
    assert len(sink.exits) == int(kind.program)


async def test_the_signal_that_ended_it_is_told(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("dies") as which:
        result, sink = await play(kind, which, tmp_path)
        assert which.status("s") == "failed"
    assert result.error is not None
    assert sink.exits == [(None, "SIGKILL")] * kind.program
    assert not kind.program or "SIGKILL" in result.error.message


async def test_no_turn_is_left(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("answers") as which:
        result, sink = await play(kind, which, tmp_path, limits=Limits(max_turns=0))
    if kind.program:  # else the session refuses it
        assert (result.status, result.limit, sink.said) == ("limit", "maxTurns", "")


async def test_sessions_do_not_disturb_each_other(kind: Kind, tmp_path: Path) -> None:
    async with kind.make("streams") as which, asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        sink = Sink()
        wish = request(tmp_path, model=kind.model, session_id="long")
        work = tasks.create_task(which.run(wish, sink, Gate()))
        await sink.spoke.wait()
        assert (which.status("long"), which.status("s")) == ("running", "idle")
        work.cancel()
