"""`agent-host sidecar`: the same host for programs that speak no LSP, as lines of JSON on stdio.

What can't be understood is answered by a message `error`; nothing ends but what was asked to.
"""

import argparse
import asyncio
import json
import os
import signal
import threading
import uuid
from itertools import count
from pathlib import Path
from typing import cast

from agent_host import __version__
from agent_host.client import AgentHostClient, Answer, Delta, HostError, HostGone, Question, Run
from agent_host.commands.sidecar_input import END, Message, Wrong, decoded, read, text

EPILOG = """\
to it:    {"type": "ping"}
          {"type": "query", "sessionId": "mine", "prompt": "...", "cwd": "/folder", "maxTurns": 9,
           "maxBudgetUsd": 1.5, "resumeSessionId": "...", "role", "model", "runtime"}
          {"type": "answer", "questionId": "q1", "optionId": "...", "reason": "..."}
          {"type": "stop", "sessionId": "mine"}
from it:  ready, pong, agent_started, agent_event, agent_log, agent_question, agent_error,
          agent_stopped {exitCode, signal, status, output, usage, resumeSessionId}, error
sessionId is yours; resumeSessionId is what an earlier query gave. The input's end, or SIGTERM,
stops all of it."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG


def execute(_: argparse.Namespace) -> int:
    code = 0
    try:
        asyncio.run(_Sidecar().serve())
    except* BrokenPipeError:
        code = 1  # nobody hears it any more; its hosts end with its pipes
    os._exit(code)  # the thread that reads may still wait for a line


class _Sidecar:
    def __init__(self) -> None:
        self._hosts: dict[str, asyncio.Future[AgentHostClient]] = {}
        self._queries: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()
        self._questions: dict[str, asyncio.Future[Message]] = {}
        self._numbers = count(1)
        self._closing = asyncio.Event()

    async def serve(self) -> None:
        """Until the input ends; then all is stopped."""
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=read, args=(loop, lines), daemon=True).start()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lines.put_nowait, END)
        async with asyncio.TaskGroup() as tasks:
            _say("ready", version=__version__)
            while line := await lines.get():
                try:
                    self._take(decoded(line), tasks)
                except Wrong as wrong:
                    _say("error", code=wrong.code, error=wrong.sentence)
            for session in tuple(self._queries):
                self._stop(session)
            await asyncio.gather(*self._queries.values(), return_exceptions=True)
            self._closing.set()

    def _stop(self, session: str) -> None:
        if session not in self._stopping:  # a second stop would interrupt the first
            self._stopping.add(session)
            self._queries[session].cancel()

    def _over(self, session: str) -> None:
        self._stopping.discard(session)
        del self._queries[session]

    def _take(self, message: Message, tasks: asyncio.TaskGroup) -> None:
        match message.get("type"):
            case "ping":
                _say("pong")
            case "query":
                session, prompt = text(message, "sessionId"), text(message, "prompt")
                if session in self._queries:
                    raise Wrong("duplicate_session", f"The session {session!r} is running.")
                folder = str(Path(text(message, "cwd", ".")).absolute())
                query = self._query(session, folder, prompt, message, tasks)
                task = self._queries[session] = tasks.create_task(query)
                task.add_done_callback(lambda _: self._over(session))
            case "stop":
                session = text(message, "sessionId")
                if session not in self._queries:
                    raise Wrong("unknown_session", f"There is no running session {session!r}.")
                self._stop(session)
            case "answer":
                question = text(message, "questionId")
                if question not in self._questions:
                    raise Wrong("unknown_question", f"There is no open question {question!r}.")
                self._questions.pop(question).set_result(message)
            case other:
                raise Wrong("unknown_type", f"There is no message of the type {other!r}.")

    async def _query(
        self, session: str, folder: str, prompt: str, message: Message, tasks: asyncio.TaskGroup
    ) -> None:
        ended: Message = {}
        result: Message = {"status": "stopped"}
        try:
            client = await self._host(folder, tasks)
            name = f"{session}:{uuid.uuid4().hex}"
            more = {key: message[key] for key in ("role", "model", "runtime") if message.get(key)}
            limits = {"maxTurns": "maxTurns", "maxBudgetUsd": "maxCostUsd"}
            more["limits"] = {ours: message[key] for key, ours in limits.items() if key in message}
            resumed = text(message, "resumeSessionId", "") or None
            run = await client.run(prompt, run_id=name, session_id=resumed, **more)
            try:
                ended = await _follow(session, run)
            except asyncio.CancelledError:
                await run.stop()
                ended = await _follow(session, run)
            result = (await run.result()).raw
            if (error := result.get("error")) is not None:
                _say("agent_error", sessionId=session, **cast("dict[str, object]", error))
        except (HostError, HostGone, OSError, Wrong) as error:
            if not isinstance(error, HostError):
                self._hosts.pop(folder, None)  # that one is gone
            result = {"status": "failed"}
            code = error.code if isinstance(error, HostError | Wrong) else ""
            _say("agent_error", sessionId=session, error=str(error), code=code or "query_failed")
        finally:
            told = {key: result.get(key) for key in ("status", "output", "usage")}
            told |= {key: ended.get(key) for key in ("exitCode", "signal")}
            told["resumeSessionId"] = result.get("sessionId")
            _say("agent_stopped", sessionId=session, **told)

    async def _host(self, folder: str, tasks: asyncio.TaskGroup) -> AgentHostClient:
        """The host of a folder, started if there is none."""
        if folder not in self._hosts:
            self._hosts[folder] = asyncio.get_running_loop().create_future()
            tasks.create_task(self._keep(folder, self._hosts[folder]))
        return await asyncio.shield(self._hosts[folder])

    async def _keep(self, folder: str, ready: asyncio.Future[AgentHostClient]) -> None:
        try:
            async with AgentHostClient.start(workspace=folder, on_question=self._ask) as client:
                ready.set_result(client)
                await self._closing.wait()
        except (HostError, HostGone, OSError) as error:
            self._hosts.pop(folder, None)  # the next query tries another one
            if not ready.done():
                ready.set_exception(error)
                ready.exception()  # whoever waits is told

    async def _ask(self, question: Question) -> Answer:
        name = f"q{next(self._numbers)}"
        answered = self._questions[name] = asyncio.get_running_loop().create_future()
        answered.add_done_callback(lambda _: self._questions.pop(name, None))
        options = [{"id": o.id, "title": o.title, "kind": o.kind} for o in question.options]
        session = (question.run_id or "").rpartition(":")[0] or None
        shown = {"title": question.title, "detail": question.detail, "diff": question.diff}
        _say("agent_question", sessionId=session, questionId=name, **shown, options=options)
        answer = await answered
        chosen = next((o for o in question.options if o.id == answer.get("optionId")), None)
        return Answer(chosen, text(answer, "reason", "") or None)


async def _follow(session: str, run: Run) -> Message:
    """Pass a run's deltas on; the last one is returned."""
    async for delta in run.deltas:
        if delta.kind == "ended":
            return delta.data
        _tell(session, delta)
    return {}


def _tell(session: str, delta: Delta) -> None:
    data = {key: value for key, value in delta.data.items() if key != "kind"}
    if delta.kind == "started":
        _say("agent_started", sessionId=session, resumeSessionId=delta.session_id, **data)
    elif delta.kind == "log":
        _say("agent_log", sessionId=session, **data)
    else:
        _say("agent_event", sessionId=session, seq=delta.seq, event=delta.data)


def _say(kind: str, **fields: object) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)
