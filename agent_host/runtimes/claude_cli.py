"""Runtime `claude-code`: the claude CLI, one process for each run, behind our gate.

By default it has our tools only, offered by a loopback MCP server; its own are judged by the gate
if the user wants them. It sees no key of ours and none of its own settings. Not here: what is said
(claude_talk.py), and how (claude_wire.py, claude_events.py), what all programs share
(program_runtime.py).
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from agent_host.core.errors import AgentHostError, ModelNotFound
from agent_host.core.model import RuntimeOptions, ToolCall, ToolResult, Usage
from agent_host.core.ports import (
    RunSink,
    RuntimeRequest,
    RuntimeResult,
    ToolGate,
)
from agent_host.process import ChildExit, ChildProcess
from agent_host.runtimes import CLAUDE as NAME
from agent_host.runtimes import VENDORS, Environment
from agent_host.runtimes.claude_info import PROGRAM
from agent_host.runtimes.claude_steering import Steering
from agent_host.runtimes.claude_talk import Talk, Terms
from agent_host.runtimes.claude_trouble import outcome_of
from agent_host.runtimes.claude_wire import INHERITED, arguments, environment, write_files
from agent_host.runtimes.loopback import Address
from agent_host.runtimes.mcp_tools import CallTool, offered
from agent_host.runtimes.program_runtime import END_SECONDS, START_SECONDS, ProgramRuntime
from agent_host.runtimes.program_trouble import gone
from agent_host.runtimes.programs import find_program
from agent_host.runtimes.resume import OwnSession, Past


class ClaudeRuntime(ProgramRuntime):
    """The Runtime port over the claude CLI."""

    def __init__(
        self,
        environment: Environment,
        options: Callable[[], RuntimeOptions],
        *,
        price: Callable[[str, Usage], float | None],
        start_seconds: float = START_SECONDS,
        end_seconds: float = END_SECONDS,
    ) -> None:
        super().__init__(
            NAME,
            environment,
            options,
            start_seconds=start_seconds,
            end_seconds=end_seconds,
            patience=end_seconds,
        )
        self._price = price

    @property
    def steers(self) -> bool:
        """Whether it takes what the user says meanwhile; see the port."""
        return True

    def _check(self, request: RuntimeRequest) -> None:
        _model(request.model)

    async def _once(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate, past: Past
    ) -> RuntimeResult | None:
        # The first question takes a while, and would be asked on the loop's thread.
        await asyncio.to_thread(self._price, "anthropic/any", Usage())
        options = self._options()
        times = (self._start_seconds, self._end_seconds)
        terms = Terms(options.tools == "native", *times, self._price)
        steering = Steering(request.take_steering)

        async def call(wish: ToolCall) -> ToolResult:
            result = await gate.call(wish)
            await steering.pass_on()
            return result

        async with self._prepared(request, call, native=terms.native) as folder:
            child = await self._start(request, sink, options, past.session, folder)
            talk = Talk(child, request, sink, gate, terms, steering, past)
            ended = await self._held(child, talk, sink)
        return None if talk.lost else _result(talk, ended, child.stderr_tail)

    @asynccontextmanager
    async def _prepared(
        self, request: RuntimeRequest, call: CallTool, *, native: bool
    ) -> AsyncGenerator[Path]:
        """The folder with what the process is told by files; its tools' server runs meanwhile."""
        with tempfile.TemporaryDirectory(prefix="agent-host-") as name:
            folder = Path(name)
            async with contextlib.AsyncExitStack() as stack:
                address: Address | None = None
                if not native and request.tools:
                    served = offered(request.tools, call)
                    address = await stack.enter_async_context(served)
                write_files(folder, request.instructions, address)
                yield folder

    async def _start(
        self,
        request: RuntimeRequest,
        sink: RunSink,
        options: RuntimeOptions,
        own: OwnSession | None,
        folder: Path,
    ) -> ChildProcess:
        passed = self._environment((*INHERITED, *options.inherit))
        env = environment(passed, options)
        program = await asyncio.to_thread(find_program, PROGRAM, options.command, env)
        wanted = arguments(options, _model(request.model), request.limits, own, folder)
        return await self._started(request, sink, options, env, (*program, *wanted))


def _model(name: str) -> str | None:
    """The model in the CLI's words; None: its own choice. Raises ModelNotFound."""
    model = name.removeprefix(NAME).removeprefix("/").removeprefix("anthropic/")
    vendor, slash, _ = model.partition("/")
    if slash and vendor in VENDORS:
        raise ModelNotFound(
            f"The runtime {NAME} runs models of Anthropic only, not {model!r}: name one as "
            f"`{NAME}/opus`, or leave it out."
        )
    return model or None


def _result(talk: Talk, ended: ChildExit, stderr: str) -> RuntimeResult:
    error: AgentHostError | None = talk.trouble
    if error is None and talk.finished is None:
        error = gone("claude", ended, stderr, talk.remark)
    usage = talk.used
    if error is not None or talk.finished is None:
        return RuntimeResult("failed", "", error=error, usage=usage, session=talk.session)
    return replace(outcome_of(talk.finished), usage=usage, session=talk.session)
