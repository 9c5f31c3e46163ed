"""pygls' protocol, repaired: every request gets exactly one answer, params are what was sent.

Messages are plain JSON here; nested objects are never taken for messages and no key is renamed.
Not here: what the methods do (server.py), bytes on their way (framing.py, writer.py, loop.py).
"""

import asyncio
import inspect
import itertools
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from pygls.exceptions import JsonRpcMethodNotFound
from pygls.protocol import LanguageServerProtocol

from agent_host.core.errors import AgentHostError, ShuttingDown
from agent_host.core.events import NumberedDelta
from agent_host.core.model import JsonObject
from agent_host.lsp.convert import error_data
from agent_host.lsp.delta_encoder import DeltaEncoder
from agent_host.lsp.framing import FrameError
from agent_host.lsp.host import ClientInfo, EditorError
from agent_host.lsp.message import MessageId, decode, encode, is_id, is_object
from agent_host.lsp.writer import Writer

log = logging.getLogger(__name__)

Handler = Callable[[object], object]
"""A method's work: takes the params as they came ({} if absent), returns JSON, or a coroutine."""

_GONE = "The editor is gone."
_PARSE_ERROR = (-32700, "parse_error")
_INVALID_REQUEST = (-32600, "invalid_request")
_NO_METHOD = (-32601, "method_not_found")
_INTERNAL = (-32603, "internal_error")
_NOT_INITIALIZED = (-32002, "not_initialized")
_CANCELLED = (-32800, "cancelled")


class EdgeProtocol(LanguageServerProtocol):
    """The connection to one editor; it is also the Edge that the Host sees.

    `state` is `new` until `initialize`, then `open`, and `over` from `shutdown` on. `tasks`,
    `output` and `on_exit` are set by the loop before the first message.
    """

    tasks: asyncio.TaskGroup
    output: Writer
    on_exit: Callable[[], None]

    def __init__(self, server: Any, converter: Any) -> None:  # noqa: ANN401
        super().__init__(server, converter)
        self.client = ClientInfo()
        self.state = "new"
        self.answered_early = False
        self._asked: dict[object, asyncio.Future[object]] = {}
        self._running: set[asyncio.Task[object]] = set()
        self._by_id: dict[MessageId, asyncio.Task[object]] = {}
        self._numbers = itertools.count(1)
        self._deltas = DeltaEncoder()
        self._gone = False

    # ---- the Edge

    async def ask(self, method: str, params: JsonObject, timeout: float | None) -> object:
        """See Edge."""
        if self._gone:
            raise EditorError(-32099, _GONE)
        msg_id = f"agent-host:{next(self._numbers)}"
        future = asyncio.get_running_loop().create_future()
        self._asked[msg_id] = future
        self._send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout):
                return await future
        finally:
            if self._asked.pop(msg_id, None) is not None:
                self.notify("$/cancelRequest", {"id": msg_id})

    def notify(self, method: str, params: Any = None) -> None:  # noqa: ANN401
        """See Edge."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def send_delta(self, delta: NumberedDelta) -> None:
        """See Edge."""
        self.output.write(self._deltas.encode(delta))

    def backlog(self) -> int:
        """See Edge."""
        return self.output.backlog

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        """See Edge."""
        return self.output.on_drained(callback)

    # ---- for the loop

    def receive(self, item: bytes | FrameError) -> None:
        """Handle one message, or say why it could not be taken for one."""
        if isinstance(item, FrameError):
            self._refuse(None, (item.number, "bad_frame"), item.message)
            return
        try:
            message = decode(item)
        except ValueError as error:
            self._refuse(None, _PARSE_ERROR, str(error))
        else:
            self.handle_message(message)

    def editor_gone(self) -> None:
        """Nobody will answer any more: settle what was asked."""
        self._gone = True
        for future in self._asked.values():
            if not future.done():
                future.set_exception(EditorError(-32099, _GONE))
        self._asked.clear()

    async def finish(self, seconds: float) -> None:
        """Wait for what is being answered, then cancel the rest, so that it is answered too."""
        self.state = "over"
        late = self._running - {asyncio.current_task()}
        if late:
            _, late = await asyncio.wait(late, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=0.1)

    # ---- pygls' own ways, replaced

    def _register_builtin_features(self) -> None:
        """None: pygls' mirror of documents corrupts text, and its `exit` always says 0."""

    def handle_message(self, message: Any) -> None:  # noqa: ANN401
        """Handle one decoded message of any shape."""
        value = cast("object", message)
        if isinstance(value, list):
            text = "Batches are not part of LSP. Send the messages one by one."
            self._refuse(None, _INVALID_REQUEST, text)
        elif not is_object(value):
            self._refuse(None, _INVALID_REQUEST, "A message is a JSON object.")
        elif "method" in value:
            self._handle_call(value)
        else:
            self._settle(value)

    # ---- requests and notifications

    def _handle_call(self, message: dict[str, object]) -> None:
        msg_id, method, params = message.get("id"), message["method"], message.get("params")
        if "id" in message and not is_id(msg_id):
            self._refuse(None, _INVALID_REQUEST, "The id of a request is a string or a number.")
        elif message.get("jsonrpc") != "2.0":
            self._refuse(msg_id, _INVALID_REQUEST, 'A message needs "jsonrpc": "2.0".')
        elif not isinstance(method, str):
            self._refuse(msg_id, _INVALID_REQUEST, "The method of a message is a string.")
        elif is_id(msg_id):
            self._handle_request(msg_id, method, params)
        else:
            self._handle_notification(method, params)

    def _handle_request(self, msg_id: Any, method_name: str, params: Any) -> None:  # noqa: ANN401
        if self.state == "over":
            self._refuse(msg_id, _INVALID_REQUEST, "The server is shutting down.")
        elif self.state == "new" and method_name != "initialize":
            self._refuse(msg_id, _NOT_INITIALIZED, "Send `initialize` first.")
        elif self.state == "open" and method_name == "initialize":
            self._refuse(msg_id, _INVALID_REQUEST, "`initialize` was sent before.")
        elif (handler := self._handler(method_name)) is None:
            self._refuse(msg_id, _NO_METHOD, f"There is no method {method_name[:100]!r}.")
        else:
            if method_name == "shutdown":
                self.state = "over"
            if method_name == "initialize" and self.answered_early:
                msg_id = None
            self._start(msg_id, method_name, handler, params)

    def _handle_notification(self, method_name: str, params: Any) -> None:  # noqa: ANN401
        if method_name == "exit":
            self.on_exit()
        elif method_name == "$/cancelRequest":
            self._cancel(params)
        elif self.state == "open" and (handler := self._handler(method_name)) is not None:
            self._start(None, method_name, handler, params)

    def _handler(self, method: str) -> Handler | None:
        try:
            return cast("Handler", self._get_handler(method))
        except JsonRpcMethodNotFound:
            return None

    def _start(
        self, msg_id: MessageId | None, method: str, handler: Handler, params: object
    ) -> None:
        """Do the work, at once or as a task, and answer (a notification has no `msg_id`)."""
        params = {} if params is None else params
        if inspect.iscoroutinefunction(handler):
            task = self.tasks.create_task(_outcome(handler, params), name=method)
            self._running.add(task)
            if msg_id is not None:
                self._by_id[msg_id] = task
            task.add_done_callback(partial(self._done, msg_id, method))
        else:
            try:
                result = handler(params)
            except Exception as error:  # noqa: BLE001 - a bug in one handler must not end the others
                self._answer_error(msg_id, method, error)
            else:
                self._answer(msg_id, method, result)

    def _done(self, msg_id: MessageId | None, method: str, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if msg_id is not None and self._by_id.get(msg_id) is task:
            del self._by_id[msg_id]
        if task.cancelled() or task.cancelling():
            if self.state == "over":
                self._answer_error(msg_id, method, ShuttingDown("The server is shutting down."))
            else:
                self._refuse_call(msg_id, _CANCELLED, "The request was cancelled.")
        elif isinstance(result := task.result(), _Failed):
            self._answer_error(msg_id, method, result.error)
        else:
            self._answer(msg_id, method, result)

    def _cancel(self, params: object) -> None:
        msg_id = params.get("id") if is_object(params) else None
        task = self._by_id.get(msg_id) if is_id(msg_id) else None
        if task is not None and self.state != "over":
            task.cancel()

    # ---- answers

    def _answer(self, msg_id: MessageId | None, method: str, result: object) -> None:
        if msg_id is None:
            return
        try:
            self._send({"jsonrpc": "2.0", "id": msg_id, "result": result})
        except TypeError as error:
            self._answer_error(msg_id, method, error)

    def _answer_error(self, msg_id: MessageId | None, method: str, error: Exception) -> None:
        if isinstance(error, AgentHostError):
            if msg_id is None:
                log.warning("%s: %s", method, error.message)
                return
            answer = {"code": error.number, "message": error.message, "data": error_data(error)}
            self._send({"jsonrpc": "2.0", "id": msg_id, "error": answer})
            return
        log.error("%s failed", method, exc_info=error)
        self._refuse_call(
            msg_id, _INTERNAL, "agent-host failed at this; its log (stderr) says where."
        )

    def _refuse_call(self, msg_id: MessageId | None, error: tuple[int, str], text: str) -> None:
        if msg_id is not None:
            self._refuse(msg_id, error, text)

    def _refuse(self, msg_id: object, error: tuple[int, str], text: str) -> None:
        """Answer with an error; `msg_id` None when it can't be known."""
        number, code = error
        answer = {"code": number, "message": text, "data": {"error": text, "code": code}}
        self._send({"jsonrpc": "2.0", "id": msg_id, "error": answer})

    def _send(self, message: JsonObject) -> None:
        self.output.write(encode(message))

    # ---- what the editor answers

    def _settle(self, message: dict[str, object]) -> None:
        """Give an answer to who waits for it; a late one is nobody's."""
        msg_id = message.get("id")
        future = self._asked.pop(msg_id, None) if isinstance(msg_id, str) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None and "result" in message and message.get("jsonrpc") == "2.0":
            future.set_result(message["result"])
        elif is_object(error) and isinstance(number := error.get("code"), int | float):
            future.set_exception(EditorError(int(number), str(error.get("message", ""))))
        else:
            text = "The editor's answer is no JSON-RPC answer."
            future.set_exception(EditorError(-32600, text))


class _Failed:
    """What a handler raised, kept from its task, so that no handler ends the TaskGroup."""

    def __init__(self, error: Exception) -> None:
        self.error = error


async def _outcome(handler: Handler, params: object) -> object:
    try:
        return await cast("Awaitable[object]", handler(params))
    except Exception as error:  # noqa: BLE001 - answered as an internal error by the caller
        return _Failed(error)
