"""JSON-RPC over two streams with Content-Length frames: requests both ways, notifications, cancel.

Every request ends: with its result, a HostError, or HostGone once the other side is gone. Not
here: what the methods mean (host.py), processes.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

from agent_host.client.json_values import JsonObject, as_object, as_text

CANCELLED = -32800
_INTERNAL = -32603
_NO_METHOD = -32601


class HostError(Exception):
    """The host answered with an error. `number` is the JSON-RPC code, `code` the host's own word.

    `message` is one sentence that says what to do.
    """

    def __init__(self, number: int, message: str, data: object = None) -> None:
        details = as_object(data)
        self.number = number
        self.message = as_text(details.get("error")) or message
        self.code = as_text(details.get("code"))
        self.data = data
        super().__init__(self.message)


class HostGone(Exception):
    """The host has ended or can't be understood; nothing more comes from it."""


class MethodUnknown(Exception):
    """To be raised while answering a request whose method is not known here."""


AnswerRequest = Callable[[str, JsonObject], Awaitable[object]]
HearNotification = Callable[[str, JsonObject], None]


class Connection:
    """One peer. `serve` must run for anything to arrive."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: AnswerRequest,
        hear: HearNotification,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._hear = hear
        self._last_id = 0
        self._pending: dict[int, asyncio.Future[object]] = {}
        self._answering: dict[str | int, asyncio.Task[None]] = {}
        self._gone: HostGone | None = None

    async def serve(self) -> None:
        """Take messages until the peer closes. Raises HostGone when it sends nonsense.

        Also raises whatever answering a request raised; the peer was told of a failure then.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                while (message := await _read(self._reader)) is not None:
                    self._take(message, tasks)
                for task in self._answering.values():
                    task.cancel()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    def fail(self, gone: HostGone) -> None:
        """End every open request, and refuse new ones, with this reason."""
        self._gone = gone
        for future in self._pending.values():
            if not future.done():
                future.set_exception(gone)
                future.exception()  # nobody need be waiting for it
        self._pending.clear()

    def send(self, method: str, params: object = None) -> tuple[int, asyncio.Future[object]]:
        """Send a request; returns its id and what will hold the result."""
        if self._gone is not None:
            raise self._gone
        self._last_id += 1
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._pending[self._last_id] = future
        message = {"id": self._last_id, "method": method}
        self._write(message if params is None else {**message, "params": params})
        return self._last_id, future

    async def request(self, method: str, params: object = None) -> object:
        """Ask and wait. Cancelling withdraws the request. Raises HostError or HostGone."""
        request_id, future = self.send(method, params)
        try:
            await self.drain()
            return await future
        except asyncio.CancelledError:
            self.cancel(request_id)
            raise

    def cancel(self, request_id: int) -> None:
        """Withdraw a request; its answer, if one comes, is dropped."""
        if self._pending.pop(request_id, None) is not None:
            self.notify("$/cancelRequest", {"id": request_id})

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification; does nothing once the peer is gone."""
        message: dict[str, object] = {"method": method}
        self._write(message if params is None else {**message, "params": params})

    async def drain(self) -> None:
        """Wait until the peer keeps up with what was sent."""
        try:
            await self._writer.drain()
        except OSError:
            return  # `serve` sees the end of the stream and says so

    def close(self) -> None:
        """Close our side: the peer reads the end of its input."""
        self._writer.close()

    def _write(self, message: JsonObject) -> None:
        if self._gone is not None or self._writer.is_closing():
            return
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    # ---- what arrives

    def _take(self, message: JsonObject, tasks: asyncio.TaskGroup) -> None:
        method, message_id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._take_answer(message_id, message)
            return
        params = as_object(message.get("params"))
        if isinstance(message_id, str | int):
            task = tasks.create_task(self._answer_one(message_id, method, params))
            self._answering[message_id] = task
        elif method == "$/cancelRequest":
            self._withdrawn(params.get("id"))
        else:
            self._hear(method, params)

    def _take_answer(self, message_id: object, message: JsonObject) -> None:
        future = self._pending.pop(message_id, None) if isinstance(message_id, int) else None
        if future is None or future.done():
            return
        if "error" in message:
            error = as_object(message["error"])
            number = error.get("code")
            number = number if isinstance(number, int) else _INTERNAL
            sentence = as_text(error.get("message")) or "unknown error"
            future.set_exception(HostError(number, sentence, error.get("data")))
            future.exception()  # nobody need be waiting for it
        else:
            future.set_result(message.get("result"))

    async def _answer_one(self, message_id: str | int, method: str, params: JsonObject) -> None:
        try:
            result = await self._answer(method, params)
        except MethodUnknown:
            self._refuse(message_id, _NO_METHOD, f"{method} is not known here")
        except Exception:
            self._refuse(message_id, _INTERNAL, "the client failed to answer")
            raise
        else:
            self._write({"id": message_id, "result": result})
        finally:
            self._answering.pop(message_id, None)

    def _withdrawn(self, message_id: object) -> None:
        if not isinstance(message_id, str | int):
            return
        task = self._answering.pop(message_id, None)
        if task is not None:
            task.cancel()
            self._refuse(message_id, CANCELLED, "withdrawn")

    def _refuse(self, message_id: str | int, number: int, message: str) -> None:
        self._write({"id": message_id, "error": {"code": number, "message": message}})


async def _read(reader: asyncio.StreamReader) -> JsonObject | None:
    """The next message; None at the end of the stream."""
    try:
        header = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(_length(header))
        message: object = json.loads(body)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise HostGone("The host sent something that is not a message.") from error
    return as_object(message)


def _length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    raise ValueError("no Content-Length")
