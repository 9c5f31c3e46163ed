"""A host program around the real edge, with an application that does what its prompts say.

`python edge_host.py [--tcp HOST:PORT]`. Not a test: it is what the edge's tests start.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from agent_host.lsp.early import Opening, open_stdio
from agent_host.session.manager import Stopped

if __name__ == "__main__":
    OPENING = Opening(listen=sys.argv[2]) if "--tcp" in sys.argv else open_stdio()

from agent_host.core.actions import ActionServerStatus
from agent_host.core.document import Position, Range
from agent_host.core.errors import RunNotFound, SessionBusy
from agent_host.core.events import Delta, Ended, NumberedDelta, Started, Text, ToolRequested
from agent_host.core.model import (
    JsonObject,
    ModelInfo,
    Origin,
    RunRequest,
    RunResult,
    RunStatus,
    SessionStatus,
    TextPart,
    Usage,
)
from agent_host.lsp.host import (
    ClientInfo,
    ContentChange,
    Edge,
    EditorError,
    Folder,
    HostStatus,
    RoleList,
)
from agent_host.lsp.loop import serve

ODD = {"jsonrpc": "2.0", "method": "x", "class": 1, "type_name": "T", "_p": None, "n": float("nan")}
SECRET = "sk-secret in /home/somebody"


class EdgeHost:
    """A Host whose runs are commands: see `_perform`."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._runs: dict[str, asyncio.Event] = {}
        self._events: list[object] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self._ready = asyncio.Event()
        self._on_close = ""
        self._seq = 0

    async def initialized(self, client: ClientInfo) -> None:
        await asyncio.sleep(0)
        self._ready.set()

    async def ready(self) -> None:
        await self._ready.wait()

    async def run(self, request: RunRequest) -> RunResult:
        run_id = request.run_id or f"r{len(self._runs) + 1}"
        self._runs[run_id] = asyncio.Event()
        first = request.prompt[0]
        words = first.text if isinstance(first, TextPart) else "?"
        try:
            status, output = await self._perform(words, run_id, request)
        finally:
            del self._runs[run_id]
        return RunResult("s1", run_id, status, output, Usage(requests=1))

    async def _perform(self, words: str, run_id: str, request: RunRequest) -> tuple[RunStatus, str]:
        command, _, rest = words.partition(" ")
        match command:
            case "hello":
                self._say(run_id, Started("coder", "scripted/x", "sdk"))
                self._say(run_id, Text("héllo \U0001f600"))
                self._say(run_id, ToolRequested("c1", "fs_read", ODD, "Read", "low"))
                self._say(run_id, Ended("completed"))
            case "wait":
                self._say(run_id, Started("coder", "scripted/x", "sdk"))
                try:
                    await self._runs[run_id].wait()
                except asyncio.CancelledError:
                    self._edge.notify("test/cancelled", {"runId": run_id})
                    raise
                return "stopped", ""
            case "stubborn":
                self._say(run_id, Started("coder", "scripted/x", "sdk"))
                try:
                    await self._runs[run_id].wait()
                except asyncio.CancelledError:
                    return "stopped", "and said so"
            case "raise":
                raise ValueError(SECRET)
            case "busy":
                raise SessionBusy("The session is busy. Stop its run first.", runId="r0")
            case "print":
                print("stray print", flush=True)
                os.write(1, b"stray write\n")
                subprocess.run(["sh", "-c", "echo stray child; cat"], check=True, timeout=10)
            case "ask":
                return "completed", await self._ask(float(rest) if rest else None)
            case "flood":
                for _ in range(int(rest)):
                    self._say(run_id, Text("x" * 1000))
                return "completed", str(self._edge.backlog())
            case "child":
                child = subprocess.Popen(["sleep", "600"])
                self._children.append(child)
                return "completed", str(child.pid)
            case "close":
                self._on_close = rest
            case "crash":
                self._edge.tasks.create_task(_crash())
                await asyncio.Event().wait()
            case "events":
                return "completed", json.dumps(self._events)
            case "request":
                return "completed", repr(request)
            case _:
                return "completed", words
        return "completed", ""

    async def _ask(self, timeout: float | None) -> str:
        params = {"type": 3, "message": "May I?", "actions": [{"title": "Yes"}]}
        try:
            answer = await self._edge.ask("window/showMessageRequest", params, timeout)
        except EditorError as error:
            return f"error {error.number} {error.message}"
        except TimeoutError:
            return "nobody answered"
        return json.dumps(answer)

    def _say(self, run_id: str, delta: Delta) -> None:
        self._seq += 1
        origin = Origin("agent", "coder", "scripted/x")
        self._edge.send_delta(NumberedDelta("s1", run_id, self._seq, origin, delta))

    async def stop(self, run_id: str | None, session_id: str | None) -> Stopped:
        if run_id is not None and run_id not in self._runs:
            raise RunNotFound(f"There is no run {run_id}.")
        stopped = tuple(self._runs) if run_id is None else (run_id,)
        for each in stopped:
            self._runs[each].set()
        return Stopped(stopped)

    async def status(self) -> HostStatus:
        sessions = (SessionStatus("s1", "running" if self._runs else "idle"),)
        return HostStatus(sessions, ActionServerStatus(1, 0, "none"), ("sdk",))

    async def roles(self) -> RoleList:
        return RoleList((), ())

    async def models(self) -> Sequence[ModelInfo]:
        return (ModelInfo("openai/*", "openai", usable=False, reason="no key"),)

    async def command(self, name: str, arguments: Sequence[object]) -> object:
        return {"name": name, "arguments": list(arguments)}

    def in_code_points(self, uri: str, range: Range) -> Range:  # noqa: A002
        return range

    def code_actions(
        self,
        uri: str,
        range: Range,  # noqa: A002
        context: JsonObject,
    ) -> Sequence[JsonObject]:
        return [{"title": "Explain", "command": {"title": "Explain", "command": uri}}]

    def code_lenses(self, uri: str) -> Sequence[JsonObject]:
        return []

    async def completion(self, uri: str, position: Position) -> JsonObject | None:
        del uri, position
        return None

    def folding_ranges(self, uri: str) -> Sequence[JsonObject] | None:
        del uri
        return None

    def document_symbols(self, uri: str) -> Sequence[JsonObject] | None:
        del uri
        return None

    def did_open(self, uri: str, language_id: str, version: int, text: str) -> None:
        self._events.append(["open", uri, language_id, version, text])

    def did_change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> None:
        self._events.append(["change", uri, version, [change.text for change in changes]])

    def did_close(self, uri: str) -> None:
        self._events.append(["close", uri])

    def did_save(self, uri: str, text: str | None) -> None:
        self._events.append(["save", uri])

    def folders_changed(self, added: Sequence[Folder], removed: Sequence[Folder]) -> None:
        self._events.append(["folders", [f.uri for f in added], [f.uri for f in removed]])

    def settings_changed(self, settings: JsonObject) -> None:
        self._events.append(["settings", settings])

    def own_settings_changed(self, settings: JsonObject) -> Sequence[str]:
        self._events.append(["own settings", settings])
        return ["`x` is no known key."]

    def files_changed(self, uris: Sequence[str]) -> None:
        self._events.append(["files", list(uris)])

    def progress_cancelled(self, token: str | int) -> None:
        self._events.append(["progress", token])

    def editor_stuck(self) -> None:
        self._events.append(["stuck"])

    async def close(self) -> None:
        for run in self._runs.values():
            run.set()
        for child in self._children:
            child.kill()
            child.wait()
        if self._on_close == "hangs":
            await asyncio.Event().wait()
        if self._on_close == "blocks":
            time.sleep(60)
        if self._on_close == "raises":
            raise ValueError(SECRET)


async def _crash() -> None:
    raise RuntimeError("a part of the host fails")


if __name__ == "__main__":
    serve(EdgeHost, OPENING)
