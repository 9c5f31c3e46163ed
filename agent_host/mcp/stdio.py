"""A server that is a child process and speaks JSON-RPC by lines.

It has a process group of its own and a scrubbed environment, and dies with this process. A line
that is no message is no reason to end it; one that is too long is.
"""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from agent_host.action_wire import WireError
from agent_host.core.external import ServerConfig
from agent_host.core.model import JsonObject
from agent_host.mcp.transport import MAX_MESSAGE, Hear, ServerGone
from agent_host.process import ChildGone, ChildProcess

EOF_SECONDS = 1.0
"""So long a server has to end by itself when its input is closed."""
TERM_SECONDS = 2.0
_SHOWN = 300
_LARGE = 1024 * 1024
"""Longer lines are decoded beside the event loop."""


class StdioTransport:
    """See transport.Transport. Make it with `start`."""

    def __init__(self, child: ChildProcess, hear: Hear, odd: Callable[[str], None]) -> None:
        self.pid = child.pid
        self._child = child
        self._hear = hear
        self._odd = odd
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._gone: asyncio.Future[ServerGone] = asyncio.get_running_loop().create_future()

    @classmethod
    async def start(
        cls,
        config: ServerConfig,
        env: Mapping[str, str],
        cwd: str,
        *,
        hear: Hear,
        log: Callable[[str], None],
        tasks: asyncio.TaskGroup,
    ) -> "StdioTransport":
        """Start the program. `log` gets lines of its stderr. Raises ServerGone."""
        folder = _folder(config.cwd or cwd)
        try:
            child = await ChildProcess.start(
                _argv(config, folder),
                env=env,
                cwd=folder,
                max_line=MAX_MESSAGE,
                on_stderr=log,
                guarded=True,
            )
        except FileNotFoundError:
            raise ServerGone(
                f"there is no program `{config.command[0]}` on the PATH",
                "install it, or give its full path as `command`",
            ) from None
        except (OSError, ValueError) as error:
            raise ServerGone(f"it can't be started: {error}", "correct `command`") from None
        transport = cls(child, hear, lambda text: log(f"[no message, on stdout] {text}"))
        tasks.create_task(transport._listen())
        return transport

    async def request(self, message: JsonObject) -> JsonObject:
        """Send a request and wait for its answer."""
        number = cast("int", message["id"])
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self.notify(message)
            return await answer
        finally:
            del self._waiting[number]

    async def notify(self, message: JsonObject) -> None:
        """Send what has no answer."""
        if self._gone.done():
            raise self._gone.result()
        try:
            await self._child.send(json.dumps(message).encode() + b"\n")
        except ChildGone:
            # What it said last, and how it ended, is told by who listens.
            raise await asyncio.shield(self._gone) from None

    async def ended(self) -> ServerGone:
        """Wait until it has ended by itself."""
        return await asyncio.shield(self._gone)

    async def close(self) -> None:
        """End it and all that it started."""
        await self._child.close(eof_grace=EOF_SECONDS, grace=TERM_SECONDS)

    async def _listen(self) -> None:
        gone = ServerGone("it was ended")
        try:
            async for line in self._child.lines():
                if len(line) > _LARGE:
                    self._take(line, await asyncio.to_thread(_decoded, line))
                elif line.strip():
                    self._take(line, _decoded(line))
            gone = ServerGone(await self._how_it_ended(), "try its command by hand")
        except WireError:
            gone = ServerGone(
                f"it sent a message of more than {MAX_MESSAGE // 1024 // 1024} MiB",
                "ask for less at once",
            )
        finally:
            self._gone.set_result(gone)
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(gone)

    def _take(self, line: bytes, value: object) -> None:
        if not isinstance(value, dict):
            self._odd(line[:_SHOWN].decode("utf-8", "replace"))
            return
        message = cast("JsonObject", value)
        if "method" in message:
            self._hear(message)
            return
        number = message.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is not None and not answer.done():
            answer.set_result(message)

    async def _how_it_ended(self) -> str:
        try:
            async with asyncio.timeout(EOF_SECONDS):
                found = await self._child.wait()
        except TimeoutError:
            return "it closed its output"  # without that it is of no use
        how = f"by {found.signal}" if found.signal else f"with exit code {found.code}"
        lines = [line for line in self._child.stderr_tail.splitlines() if line.strip()]
        said = f": {lines[-1].strip()[:_SHOWN]}" if lines else ""
        return f"it ended {how}{said}"


def _decoded(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _folder(folder: str) -> str:
    if not Path(folder).is_dir():
        raise ServerGone(f"there is no folder {folder}", "correct `cwd`")
    return folder


def _argv(config: ServerConfig, folder: str) -> tuple[str, ...]:
    """The command; a path is meant from the server's folder or the home, a name from the PATH."""
    program, *args = config.command
    if os.sep in program:
        program = str(Path(folder, Path(program).expanduser()))
    return (program, *args)
