"""One run as a script sees it: its deltas, its result, and how to stop it.

The deltas end, always: after `ended`, when the run is answered, or when the host is gone.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from agent_host.client.connection import Connection
from agent_host.client.json_values import JsonObject, as_object, as_objects, as_text, as_whole


@dataclass(frozen=True, slots=True)
class Delta:
    """One step of a run. `data` is the delta's JSON, `kind` included; `raw` all of the message.

    Of the past, one delta may stand for several: those numbered `seq` to `through`.
    """

    session_id: str
    run_id: str
    seq: int
    kind: str
    origin: JsonObject
    data: JsonObject
    raw: JsonObject
    through: int = 0

    @classmethod
    def of(cls, params: JsonObject) -> "Delta":
        """From the params of `agent/delta`."""
        data = as_object(params.get("delta"))
        return cls(
            session_id=as_text(params.get("sessionId")),
            run_id=as_text(params.get("runId")),
            seq=as_whole(params.get("seq")),
            through=as_whole(params.get("through") or params.get("seq")),
            kind=as_text(data.get("kind")),
            origin=as_object(params.get("origin")),
            data=data,
            raw=params,
        )


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `status`: completed, stopped, failed, limit or refused.

    `diff` is all that it changed, unified; `error` is `{error, code}` of a failed run; `raw` the
    whole answer.
    """

    session_id: str
    run_id: str
    status: str
    output: str
    usage: JsonObject
    edits: Sequence[JsonObject]
    diff: str
    error: JsonObject | None
    raw: JsonObject

    @classmethod
    def of(cls, raw: JsonObject) -> "RunResult":
        """From the result of `agent/run`."""
        return cls(
            session_id=as_text(raw.get("sessionId")),
            run_id=as_text(raw.get("runId")),
            status=as_text(raw.get("status")),
            output=as_text(raw.get("output")),
            usage=as_object(raw.get("usage")),
            edits=as_objects(raw.get("edits")),
            diff=as_text(as_object(raw.get("diff")).get("text")),
            error=as_object(raw.get("error")) or None,
            raw=raw,
        )


class Run:
    """A run that was started; made by `AgentHostClient.run`."""

    def __init__(self, connection: Connection, run_id: str, answer: asyncio.Future[object]) -> None:
        self.run_id = run_id
        self._connection = connection
        self._answer = answer
        self._queue: asyncio.Queue[Delta | None] = asyncio.Queue()
        answer.add_done_callback(lambda _: self._queue.put_nowait(None))

    @property
    def deltas(self) -> AsyncIterator[Delta]:
        """The deltas that were not taken yet, as they come."""
        return _taken(self._queue)

    async def result(self) -> RunResult:
        """Wait for the end. Raises HostError when the run could not begin, or HostGone."""
        return RunResult.of(as_object(await asyncio.shield(self._answer)))

    async def stop(self) -> None:
        """Stop it and wait until all of it is gone. Raises HostError or HostGone."""
        await self._connection.request("agent/stop", {"runId": self.run_id})

    def put(self, delta: Delta) -> None:
        """For the client: one more delta has come."""
        self._queue.put_nowait(delta)


class Following:
    """A session that is followed; made by `AgentHostClient.follow`.

    `run_id` is the run that went on when all of the past had come, `reason` why the host has
    ended it, if it has.
    """

    def __init__(self) -> None:
        self.run_id: str | None = None
        self.reason: str | None = None
        self._queue: asyncio.Queue[Delta | None] = asyncio.Queue()

    @property
    def deltas(self) -> AsyncIterator[Delta]:
        """The deltas that were not taken yet, as they come, until it is followed no more."""
        return _taken(self._queue)

    def put(self, delta: Delta) -> None:
        """For the client: one more delta has come."""
        self._queue.put_nowait(delta)

    def end(self, reason: str | None = None) -> None:
        """For the client: no more will come."""
        self.reason = self.reason or reason
        self._queue.put_nowait(None)


async def _taken(queue: "asyncio.Queue[Delta | None]") -> AsyncIterator[Delta]:
    while (delta := await queue.get()) is not None:
        yield delta
    queue.put_nowait(None)  # so that looking again ends too
