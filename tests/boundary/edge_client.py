"""Talks raw bytes to the edge's test host; keeps everything received, in order, and checks framing.

It shares no code with the host. Every wait is for an event and has a bound.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

WAIT = 20.0
ABSENT = object()
PROGRAM = Path(__file__).with_name("edge_host.py")

Message = dict[str, Any]


class EdgeClient:
    """One client of one host process."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.process = process
        self.received: list[Message] = []
        self.stderr = ""
        self.broken: str | None = None
        self.reader = reader
        self._writer = writer
        self._news = asyncio.Condition()
        self._stderr_news = asyncio.Event()
        self._ids = 0
        self._reading: asyncio.Task[None] | None = None

    # ---- sending

    def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    def send(self, message: object) -> None:
        self.send_body(json.dumps(message).encode())

    def send_body(self, body: bytes) -> None:
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: object = ABSENT) -> None:
        self.send(_message(method, params))

    def request(self, method: str, params: object = ABSENT) -> int:
        self._ids += 1
        self.send({**_message(method, params), "id": self._ids})
        return self._ids

    def run(self, words: str, **more: object) -> int:
        return self.request("agent/run", {"prompt": words, **more})

    def close_stdin(self) -> None:
        self._writer.close()

    # ---- receiving

    def start_reading(self, tasks: asyncio.TaskGroup) -> None:
        self._reading = tasks.create_task(self._read())

    async def _read(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await self.reader.readuntil(b"\r\n\r\n")
                name, _, size = header.strip().partition(b": ")
                if name != b"Content-Length" or not size.isdigit():
                    self.broken = repr(header)
                    break
                body = await self.reader.readexactly(int(size))
                async with self._news:
                    self.received.append(json.loads(body))
                    self._news.notify_all()
        async with self._news:
            self.broken = self.broken or "the host closed its stdout"
            self._news.notify_all()

    async def wait(self, wanted: Callable[[Message], bool], what: str = "a message") -> Message:
        """The first message, received by now or later, that is wanted."""

        def found() -> Message | None:
            return next((message for message in self.received if wanted(message)), None)

        async with asyncio.timeout(WAIT), self._news:
            await self._news.wait_for(lambda: found() is not None or self.broken is not None)
        message = found()
        assert message is not None, f"{what} did not come: {self.broken}\n{self.stderr}"
        return message

    async def answer(self, msg_id: object) -> Message:
        return await self.wait(
            lambda m: "method" not in m and m["id"] == msg_id, f"the answer to {msg_id}"
        )

    async def result(self, msg_id: object) -> Any:
        answer = await self.answer(msg_id)
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, msg_id: object) -> Message:
        answer = await self.answer(msg_id)
        assert "error" in answer, answer
        return answer["error"]

    async def delta(self, kind: str) -> Message:
        message = await self.wait(
            lambda m: m.get("method") == "agent/delta" and m["params"]["delta"]["kind"] == kind
        )
        return message["params"]

    async def asked(self, method: str = "window/showMessageRequest") -> Message:
        return await self.wait(lambda m: m.get("method") == method and "id" in m, method)

    async def collect_stderr(self, stderr: asyncio.StreamReader) -> None:
        while line := await stderr.readline():
            self.stderr += line.decode(errors="replace")
            self._stderr_news.set()

    async def stderr_with(self, text: str) -> None:
        """Wait until the host has written that."""
        async with asyncio.timeout(WAIT):
            while text not in self.stderr:
                self._stderr_news.clear()
                await self._stderr_news.wait()

    async def initialize(self, **params: object) -> Message:
        result = await self.result(self.request("initialize", {"capabilities": {}, **params}))
        self.notify("initialized", {})
        return result

    async def check_unharmed(self) -> None:
        """The stream is in step, and nobody was bothered with a popup."""
        assert await self.result(self.request("agent/ping")) == {"pong": True}
        popups = ("window/showMessage", "window/logMessage")
        assert [m for m in self.received if m.get("method") in popups] == []

    async def exit_code(self) -> int:
        """Wait for the end of the process."""
        async with asyncio.timeout(WAIT):
            code = await self.process.wait()
            if self._reading is not None:
                await self._reading
        return code


@asynccontextmanager
async def edge(
    *, read: bool = True, stdout: int = asyncio.subprocess.PIPE
) -> AsyncIterator[EdgeClient]:
    """A host over pipes. `read` False: its stdout is not read until `start_reading`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    client = EdgeClient(process, process.stdout or asyncio.StreamReader(), process.stdin)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(client.collect_stderr(process.stderr))
            if read:
                client.start_reading(tasks)
            try:
                yield client
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
    finally:
        await process.wait()


def _message(method: str, params: object) -> Message:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not ABSENT:
        message["params"] = params
    return message
