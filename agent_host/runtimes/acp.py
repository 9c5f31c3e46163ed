"""Runtimes `acp:NAME`: any agent that speaks the Agent Client Protocol, one process for each run.

It reads, writes and runs commands through the gate, and asks it before it acts itself. It sees no
key of ours. Not here: what is said (acp_talk.py), which agents there are (acp_agents.py), what all
programs share (program_runtime.py).
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from agent_host.core.errors import AgentHostError, ModelNotFound
from agent_host.core.model import RuntimeOptions
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.process import ChildExit, ChildProcess
from agent_host.runtimes import Environment
from agent_host.runtimes.acp_agents import (
    INHERITED,
    KNOWN,
    UNKNOWN,
    environment_of,
    program_of,
)
from agent_host.runtimes.acp_begin import Terms
from agent_host.runtimes.acp_talk import Talk
from agent_host.runtimes.acp_trouble import outcome_of
from agent_host.runtimes.mcp_tools import of_servers, offered
from agent_host.runtimes.program_runtime import END_SECONDS, START_SECONDS, ProgramRuntime
from agent_host.runtimes.program_trouble import gone
from agent_host.runtimes.resume import Past

PATIENCE_SECONDS = 1.0
"""So long it may take to end by itself once its input is closed."""


class AcpRuntime(ProgramRuntime):
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
        super().__init__(
            name,
            environment,
            options,
            start_seconds=start_seconds,
            end_seconds=end_seconds,
            patience=PATIENCE_SECONDS,
        )

    @property
    def steers(self) -> bool:
        """Whether it takes what the user says meanwhile; the protocol has no word for that."""
        return False

    def _check(self, request: RuntimeRequest) -> None:
        if request.model != self._name:
            raise ModelNotFound(
                f"{self._name} chooses its own model, not {request.model!r}: leave it out, and "
                f'name it by `runtimes: {{"{self._name}": {{args: [...]}}}}` in the settings.'
            )

    async def _once(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate, past: Past
    ) -> RuntimeResult | None:
        options = self._options()
        agent = KNOWN.get(self._name, UNKNOWN)
        external = of_servers(request.tools)
        async with AsyncExitStack() as stack:
            served = offered(external, gate.call) if external else None
            tools = await stack.enter_async_context(served) if served else None
            child = await self._start(request, sink, options)
            native = options.tools == "native"
            terms = Terms(self._name, agent, native, self._start_seconds, tools)
            talk = Talk(child, request, sink, gate, terms, past)
            ended = await self._held(child, talk, sink)
        return None if talk.lost else self._result(talk, ended, child.stderr_tail)

    async def _start(
        self, request: RuntimeRequest, sink: RunSink, options: RuntimeOptions
    ) -> ChildProcess:
        passed = self._environment((*INHERITED, *options.inherit))
        env = environment_of(self._name, passed, options)
        program = await asyncio.to_thread(program_of, self._name, options, env)
        return await self._started(request, sink, options, env, program)

    def _result(self, talk: Talk, ended: ChildExit, stderr: str) -> RuntimeResult:
        error: AgentHostError | None = talk.trouble
        if error is None and talk.stop_reason is None:
            error = gone(self._name, ended, stderr, talk.remark)
        if error is not None or talk.stop_reason is None:
            outcome = RuntimeResult("failed", "", error=error)
        else:
            reason, denied = talk.stop_reason, talk.denied
            outcome = outcome_of(self._name, reason, talk.answer, denied=denied)
        return replace(outcome, usage=talk.spending.usage, session=talk.session)
