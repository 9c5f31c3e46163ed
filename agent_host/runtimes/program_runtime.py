"""What the runtimes that are programs share: one process for each run, from its start to its end.

Whatever happens, the process and all that it has started are gone when a run is over, and how it
ended is told. A session of its own that a program has lost is told anew, once. Not here: what is
said to a program (a Talk), and how one is found (programs.py).
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from agent_host.core.errors import AgentHostError, RuntimeFailed
from agent_host.core.model import RuntimeOptions
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, RuntimeStatus, ToolGate
from agent_host.core.secret_names import is_secret_name
from agent_host.process import ChildExit, ChildProcess
from agent_host.runtimes import Environment
from agent_host.runtimes.conversation import encode, user_said
from agent_host.runtimes.masking import masked
from agent_host.runtimes.programs import not_started
from agent_host.runtimes.resume import Past, end_item, past_of, told
from agent_host.runtimes.statuses import Statuses

START_SECONDS = 60.0
"""Within so long a program has to answer its first messages."""

END_SECONDS = 5.0
"""So long it may take to end after SIGTERM."""


class Talk(Protocol):
    """What is said to one process in one run."""

    trouble: AgentHostError | None

    @property
    def lost(self) -> bool:
        """Whether the program no longer has the session that it was to go on with."""
        ...

    @property
    def spent(self) -> float | None:
        """What its session has cost by its own account, in US dollars; None: it does not tell."""
        ...

    async def hold(self) -> None:
        """Until the program has answered, has gone wrong (`trouble`) or is gone."""

    async def interrupt(self) -> None:
        """Tell it to stop, without waiting for it."""


class ProgramRuntime(ABC):
    """The Runtime port over a program.

    `patience`: so many seconds it may take to end by itself once its input is closed.
    """

    def __init__(
        self,
        name: str,
        environment: Environment,
        options: Callable[[], RuntimeOptions],
        *,
        start_seconds: float,
        end_seconds: float,
        patience: float,
    ) -> None:
        self._name = name
        self._environment = environment
        self._options = options
        self._start_seconds = start_seconds
        self._end_seconds = end_seconds
        self._patience = patience
        self._statuses = Statuses()

    def status(self, session_id: str) -> RuntimeStatus:
        """What goes on for a session; see the port."""
        return self._statuses.of(session_id)

    async def run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        """Run one prompt; see the port."""
        return await self._statuses.follow(request.session_id, self._run(request, sink, gate))

    async def close(self) -> None:  # noqa: B027 - the port has it
        """Nothing is shared between runs."""

    @abstractmethod
    def _check(self, request: RuntimeRequest) -> None:
        """Raise ModelNotFound for a model that it can't have."""

    @abstractmethod
    async def _once(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate, past: Past
    ) -> RuntimeResult | None:
        """One process from start to end; None: it no longer has the session of `past`."""

    async def _run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        if request.purpose == "compact":
            own = RuntimeFailed(f"{self._name} compacts its own conversation by itself.")
            return RuntimeResult("failed", "", error=own)
        if request.limits.max_turns == 0:
            return RuntimeResult("limit", "", limit="maxTurns", reason="no turn is left")
        self._check(request)
        result = await self._answered(request, sink, gate)
        if result.error is not None:
            options = self._options()
            given = {**self._environment(options.inherit), **options.env}
            result.error.message = masked(result.error.message, _keys(given))
        return result

    async def _answered(
        self, request: RuntimeRequest, sink: RunSink, gate: ToolGate
    ) -> RuntimeResult:
        past = past_of(request.history, self._name, request.session_id)
        sink.remember([encode(user_said(request.prompt))])
        result = await self._once(request, sink, gate, past)
        if result is None:
            anew = f"{self._name} can't go back to its session; it is told what was said."
            sink.log(self._name, anew)
            past = Past(None, told(request.history))
            result = await self._once(request, sink, gate, past)
        lost = RuntimeFailed(f"{self._name} does not find its own session: start a new one.")
        return result or RuntimeResult("failed", "", error=lost)

    async def _started(
        self,
        request: RuntimeRequest,
        sink: RunSink,
        options: RuntimeOptions,
        env: Mapping[str, str],
        program: Sequence[str],
    ) -> ChildProcess:
        """Its process. Raises RuntimeFailed."""
        keys = _keys(env)
        try:
            return await ChildProcess.start(
                tuple(program),
                env=env,
                cwd=request.cwd,
                on_stderr=lambda line: sink.log(self._name, masked(line, keys)),
                guarded=True,
                pty=options.pty,
            )
        except OSError as error:
            raise not_started(self._name, request.cwd, env.get("HOME", ""), error) from error

    async def _held(self, child: ChildProcess, talk: Talk, sink: RunSink) -> ChildExit:
        """Hold the talk, and end the process, which is told first if the run was stopped."""
        patience = 0.0
        try:
            await talk.hold()
            patience = self._patience if talk.trouble is None else 0.0
        except asyncio.CancelledError:
            await talk.interrupt()
            patience = self._patience
            raise
        finally:
            ended = await child.close(grace=self._end_seconds, eof_grace=patience)
            if not talk.lost:
                sink.exited(ended.code, ended.signal)
                sink.remember([end_item(self._name, talk.spent)])
        return ended


def _keys(env: Mapping[str, str]) -> list[str]:
    """What the program was given and nobody else is to see."""
    return [value for name, value in env.items() if is_secret_name(name)]
