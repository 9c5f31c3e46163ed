"""The action server's loop: takes calls, hands them on, beats. Ends with its stdin.

File calls go to the file worker as they came; each command is a task here. Nothing is decided.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence

from agent_host.action_server.commands import CommandRun, launcher_argv
from agent_host.action_server.failure import Failure
from agent_host.action_server.file_link import FileLink
from agent_host.action_server.pipes import LineReader, LineWriter
from agent_host.action_server.seals import Seals
from agent_host.action_wire import (
    BEAT_SECONDS,
    Beat,
    Call,
    Cancel,
    Done,
    Failed,
    Output,
    Ready,
    Run,
    Start,
    decode_to_server,
    encode,
    head,
)

_END_SECONDS = 3.0


class Server:
    """One action server; `python` is the call that starts another process of this program."""

    def __init__(self, python: Sequence[str], writer: LineWriter, group: asyncio.TaskGroup) -> None:
        self._python = python
        self._writer = writer
        self._group = group
        self._start: Start | None = None
        self._files: FileLink | None = None
        self._commands: dict[int, CommandRun] = {}
        self._seals = Seals()
        self._tasks: set[asyncio.Task[None]] = set()
        writer.on_pause = self._pause

    async def handle(self, line: bytes) -> None:
        """Take one message of the host."""
        told = head(line)
        if told.type == "Call" and told.call != "Run" and told.id is not None:
            await self._file_call(told.id, line)
            return
        match decode_to_server(line):
            case Start() as start:
                await self._begin(start)
            case Call(id=call_id, call=Run() as run):
                self._run(call_id, run)
            case Cancel(id=call_id):
                if command := self._commands.get(call_id):
                    command.stop()
                elif self._files is not None:
                    self._files.pass_on(line + b"\n")
            case Call():
                pass

    async def beat(self) -> None:
        """Tell for ever that the loop turns."""
        while True:
            self._writer.send(encode(Beat()))
            await asyncio.sleep(BEAT_SECONDS)

    async def end(self) -> None:
        """Kill every command and the file worker; what that leaves is for the guard."""
        for command in self._commands.values():
            command.kill()
        if self._files is not None:
            self._files.kill()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_END_SECONDS)

    async def _begin(self, start: Start) -> None:
        if self._files is not None:
            self._files.retire()
        first = self._start is None
        self._start = start
        self._files = await self._new_files(start)
        if first:
            self._writer.send(encode(Ready(os.getpid())))

    async def _new_files(self, start: Start) -> FileLink:
        link = FileLink(start, self._writer.send)
        await link.open((*self._python, "files", str(os.getpid())))
        return link

    async def _file_call(self, call_id: int, line: bytes) -> None:
        if self._start is None or self._files is None:
            self._writer.send(encode(Failed(call_id, "unavailable", "it was not started yet")))
            return
        try:
            if self._files.ended.done():
                self._files = await self._new_files(self._start)
        except OSError as error:
            reason = f"the file worker can't be started: {error}"
            self._writer.send(encode(Failed(call_id, "unavailable", reason)))
            return
        self._files.submit(call_id, line + b"\n")

    def _run(self, call_id: int, run: Run) -> None:
        if self._start is None:
            self._writer.send(encode(Failed(call_id, "unavailable", "it was not started yet")))
            return
        try:
            self._seals.take(run)
        except Failure as failure:
            self._writer.send(encode(Failed(call_id, failure.code, failure.reason)))
            return
        command = CommandRun(
            run, self._teller(call_id), self._start.scratch, launcher_argv(self._python)
        )
        self._commands[call_id] = command
        task = self._group.create_task(self._finish(call_id, command))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, call_id: int, command: CommandRun) -> None:
        try:
            reply = encode(Done(call_id, await command.result()))
        except Failure as failure:
            reply = encode(Failed(call_id, failure.code, failure.reason))
        except Exception as error:  # noqa: BLE001 - a fault of ours costs this command only
            print(f"command: {error!r}", file=sys.stderr)  # noqa: T201
            reply = encode(Failed(call_id, "io", f"the action server failed: {error}"))
        finally:
            self._commands.pop(call_id, None)
        self._writer.send(reply)

    def _teller(self, call_id: int) -> Callable[[str, str], None]:
        def tell(stream: str, text: str) -> None:
            self._writer.send(
                encode(Output(call_id, "stdout" if stream == "stdout" else "stderr", text))
            )

        return tell

    def _pause(self, paused: bool) -> None:  # noqa: FBT001 - a callback
        for command in self._commands.values():
            command.pause(paused=paused)


async def serve(python: Sequence[str], stdin: int, stdout: int) -> None:
    """Serve until stdin ends or the host stops listening; then leave nothing running."""
    writer = await LineWriter.open(stdout)
    reader = await LineReader.open(stdin)
    async with asyncio.TaskGroup() as group:
        server = Server(python, writer, group)
        beat = group.create_task(server.beat())
        writer.on_lost = reader.end
        while (line := await reader.next()) is not None:
            await server.handle(line)
        beat.cancel()
        await server.end()
