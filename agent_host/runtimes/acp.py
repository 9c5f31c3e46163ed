"""Runtimes `acp:NAME`: any agent that speaks the Agent Client Protocol, one process for each run.

It reads, writes and runs commands through the gate, and asks it before it acts itself. It sees no
key of ours. Not here: what is said (acp_talk.py), which agents there are (acp_agents.py).
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from agent_host.core.errors import AgentHostError, ModelNotFound, RuntimeFailed
from agent_host.core.model import RuntimeOptions
from agent_host.core.ports import (
    RunSink,
    RuntimeRequest,
    RuntimeResult,
    RuntimeStatus,
    ToolGate,
)
from agent_host.process import ChildExit, ChildProcess
from agent_host.runtimes import Environment
from agent_host.runtimes.acp_agents import (
    INHERITED,
    KNOWN,
    UNKNOWN,
    environment_of,
    program_of,
)
from agent_host.runtimes.acp_begin import LostSession, Terms
from agent_host.runtimes.acp_talk import Talk
from agent_host.runtimes.acp_trouble import gone, outcome_of, silent
from agent_host.runtimes.conversation import encode, user_said
from agent_host.runtimes.loopback import Address
from agent_host.runtimes.mcp_tools import of_servers, offered
from agent_host.runtimes.programs import not_started
from agent_host.runtimes.resume import Past, end_item, past_of, told
from agent_host.runtimes.statuses import Statuses

START_SECONDS = 60.0
"""Within so long it has to answer its first messages."""

END_SECONDS = 5.0
"""So long it may take to end after SIGTERM."""

PATIENCE_SECONDS = 1.0
"""So long it may take to end by itself once its input is closed."""


class AcpRuntime:
    """The Runtime port over one agent."""

    def __init__(
        self,
        name: str,
        environment: Environment,
        options: Callable[[], RuntimeOptions],
        *,
        start_seconds: float = START_SECONDS,
        end_seconds: float = END_SECONDS,
    ) -> None:
        self._name = name
        self._environment = environment
        self._options = options
        self._start_seconds = start_seconds
        self._end_seconds = end_seconds
        self._statuses = Statuses()

    @property
    def steers(self) -> bool:
        """Whether it takes what the user says meanwhile; see the port."""
        return False

    def status(self, session_id: str) -> RuntimeStatus:
        """What goes on for a session; see the port."""
        return self._statuses.of(session_id)

    async def run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        """Run one prompt; see the port."""
        return await self._statuses.follow(request.session_id, self._run(request, sink, gate))

    async def close(self) -> None:
        """Nothing is shared between runs."""

    async def _run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        if request.purpose == "compact":
            own = RuntimeFailed(f"{self._name} compacts its own conversation by itself.")
            return RuntimeResult("failed", "", error=own)
        if request.limits.max_turns == 0:
            return RuntimeResult("limit", "", limit="maxTurns", reason="no turn is left")
        if request.model != self._name:
            raise ModelNotFound(
                f"{self._name} chooses its own model, not {request.model!r}: leave it out, and "
                f'name it by `runtimes: {{"{self._name}": {{args: [...]}}}}` in the settings.'
            )
        past = past_of(request.history, self._name, request.session_id)
        sink.remember([encode(user_said(request.prompt))])
        try:
            return await self._once(request, sink, gate, past)
        except LostSession:
            told_anew = f"{self._name} can't go back to its session; it is told what was said."
            sink.log(self._name, told_anew)
            return await self._once(request, sink, gate, Past(None, told(request.history)))

    async def _once(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate, past: Past
    ) -> RuntimeResult:
        """One process from start to end, with the tools of MCP servers. Raises LostSession."""
        external = of_servers(request.tools)
        if not external:
            return await self._one(request, sink, gate, past, None)
        async with offered(external, gate.call) as address:
            return await self._one(request, sink, gate, past, address)

    async def _one(
        self,
        request: RuntimeRequest,
        sink: RunSink,
        gate: ToolGate,
        past: Past,
        tools: Address | None,
    ) -> RuntimeResult:
        options = self._options()
        child = await self._start(request, sink, options)
        agent = KNOWN.get(self._name, UNKNOWN)
        native = options.tools == "native"
        terms = Terms(self._name, agent, native, self._start_seconds, tools)
        talk = Talk(child, request, sink, gate, terms, past)
        patience = 0.0
        lost = False
        try:
            await talk.hold()
            patience = PATIENCE_SECONDS if talk.trouble is None and not talk.silent else 0.0
        except LostSession:
            lost = True
        except asyncio.CancelledError:
            await talk.interrupt()
            patience = PATIENCE_SECONDS
            raise
        finally:
            ended = await child.close(grace=self._end_seconds, eof_grace=patience)
            if not lost:
                sink.exited(ended.code, ended.signal)
                sink.remember([end_item(self._name, talk.spending.total)])
        if lost:
            raise LostSession
        return self._result(talk, ended, child.stderr_tail)

    async def _start(
        self, request: RuntimeRequest, sink: RunSink, options: RuntimeOptions
    ) -> ChildProcess:
        passed = self._environment((*INHERITED, *options.inherit))
        env = environment_of(self._name, passed, options)
        program = await asyncio.to_thread(program_of, self._name, options, env)
        try:
            return await ChildProcess.start(
                program,
                env=env,
                cwd=request.cwd,
                on_stderr=lambda line: sink.log(self._name, line),
                guarded=True,
                pty=options.pty,
            )
        except OSError as error:
            home = env.get("HOME", "")
            raise not_started(self._name, request.cwd, home, error) from error

    def _result(self, talk: Talk, ended: ChildExit, stderr: str) -> RuntimeResult:
        error: AgentHostError | None = talk.trouble
        if error is None and talk.silent:
            error = silent(self._name, self._start_seconds, stderr)
        if error is None and talk.stop_reason is None:
            error = gone(self._name, ended, stderr, talk.remark)
        if error is not None or talk.stop_reason is None:
            outcome = RuntimeResult("failed", "", error=error)
        else:
            reason, denied = talk.stop_reason, talk.denied
            outcome = outcome_of(self._name, reason, talk.answer, denied=denied)
        return replace(outcome, usage=talk.spending.usage, session=talk.session)
