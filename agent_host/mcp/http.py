"""A server that is reached by streamable HTTP: each message is a POST, answered by JSON or events.

Redirects are not followed, since headers may hold keys. A stream that breaks is resumed where the
server allows it; nothing is sent twice.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, cast

from agent_host.core.model import JsonObject
from agent_host.mcp.events import Event, TooLong, events
from agent_host.mcp.transport import MAX_MESSAGE, Hear, ServerGone, as_object

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
RESUMES = 5
"""How often a stream of one answer is taken up again."""
MAX_LISTENS = 1000
_LEAST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_BYE_SECONDS = 1.0
_SESSION, _VERSION, _LAST = "mcp-session-id", "mcp-protocol-version", "last-event-id"


class HttpTransport:
    """See transport.Transport. `http` is this connection's own; `tasks` owns its listening."""

    def __init__(
        self, http: "httpx2.AsyncClient", url: str, hear: Hear, tasks: asyncio.TaskGroup
    ) -> None:
        self.pid: int | None = None
        self._http = http
        self._url = url
        self._hear = hear
        self._tasks = tasks
        self._session: dict[str, str] = {}
        self._gone: asyncio.Future[ServerGone] = asyncio.get_running_loop().create_future()
        self._listening: asyncio.Task[None] | None = None

    async def request(self, message: JsonObject) -> JsonObject:
        """Send a request; its answer."""
        try:
            answer = await self._answer(message)
        except TooLong:
            limit = MAX_MESSAGE // 1024 // 1024
            raise ServerGone(f"it sent a message of more than {limit} MiB") from None
        if message["method"] == "initialize":
            version = as_object(answer.get("result")).get("protocolVersion")
            if isinstance(version, str) and version.isascii() and version.isprintable():
                self._session[_VERSION] = version
        return answer

    async def notify(self, message: JsonObject) -> None:
        """Send what has no answer."""
        async with self._post(message) as response:
            self._check(response, may_be_error=False)
        if message.get("method") == "notifications/initialized":
            self._listening = self._tasks.create_task(self._listen())

    async def ended(self) -> ServerGone:
        """Wait until it can't be reached any more."""
        return await asyncio.shield(self._gone)

    async def close(self) -> None:
        """End the session, if the server has one, and the connections."""
        if self._listening is not None:
            self._listening.cancel()
        try:
            if _SESSION in self._session and not self._gone.done():
                with contextlib.suppress(Exception):  # it is over in any case
                    async with asyncio.timeout(_BYE_SECONDS):
                        await self._http.delete(self._url, headers=self._session)
        finally:
            await self._http.aclose()

    # ---- one answer

    async def _answer(self, message: JsonObject) -> JsonObject:
        number = message["id"]
        last: str | None = None
        pause = _LEAST_PAUSE
        async with self._post(message) as response:
            self._check(response, may_be_error=True)
            if response.headers.get(_SESSION):
                self._session[_SESSION] = response.headers[_SESSION]
            if not _is_stream(response):
                return _whole(await _body(response), response.status_code)
            async for event in self._events(response):
                last, pause = event.identity or last, event.retry or pause
                if (answer := self._take(event, number)) is not None:
                    return answer
        for _ in range(RESUMES if last is not None else 0):
            await asyncio.sleep(min(pause, _LONGEST_PAUSE))
            async with self._get({_LAST: last or ""}) as response:
                self._check(response, may_be_error=False)
                async for event in self._events(response):
                    last, pause = event.identity or last, event.retry or pause
                    if (answer := self._take(event, number)) is not None:
                        return answer
        raise ServerGone("its answer broke off")

    def _take(self, event: Event, number: object) -> JsonObject | None:
        """The answer to the request of that number, if the event is that."""
        message = _decoded(event.data)
        if "method" in message:
            self._hear(message)
        elif message.get("id") == number:
            return message
        return None

    async def _events(self, response: "httpx2.Response") -> AsyncIterator[Event]:
        """Its events until the stream ends; one that breaks off has ended, too."""
        import httpx2

        with contextlib.suppress(httpx2.TransportError):
            async for event in events(response.aiter_bytes(), MAX_MESSAGE):
                yield event

    # ---- what the server says on its own

    async def _listen(self) -> None:
        last: dict[str, str] = {}
        for _ in range(MAX_LISTENS):
            pause = _LEAST_PAUSE
            try:
                async with self._get(last) as response:
                    if response.status_code != 200 or not _is_stream(response):
                        return  # it has nothing to say, which most haven't
                    async for event in self._events(response):
                        pause = event.retry or pause
                        last = {_LAST: event.identity} if event.identity else last
                        self._take(event, None)
            except (ServerGone, TooLong):
                pause = _LONGEST_PAUSE
            await asyncio.sleep(min(pause, _LONGEST_PAUSE))

    # ---- requests

    @contextlib.asynccontextmanager
    async def _post(self, message: JsonObject) -> AsyncGenerator["httpx2.Response"]:
        body = json.dumps(message).encode()
        async with self._sent("POST", body, {"content-type": "application/json"}) as response:
            yield response

    @contextlib.asynccontextmanager
    async def _get(self, more: Mapping[str, str]) -> AsyncGenerator["httpx2.Response"]:
        async with self._sent("GET", None, more) as response:
            yield response

    @contextlib.asynccontextmanager
    async def _sent(
        self, method: str, body: bytes | None, more: Mapping[str, str]
    ) -> AsyncGenerator["httpx2.Response"]:
        import httpx2

        accepted = (
            "application/json, text/event-stream" if body is not None else "text/event-stream"
        )
        headers = {"accept": accepted, **self._session, **more}
        try:
            async with self._http.stream(
                method, self._url, content=body, headers=headers
            ) as response:
                yield response
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise self._end(f"it can't be reached ({_words(error)})", "correct `url`") from None
        except httpx2.TransportError as error:
            raise ServerGone(f"the connection broke ({_words(error)})") from None

    def _check(self, response: "httpx2.Response", *, may_be_error: bool) -> None:
        status = response.status_code
        if status in (401, 403):
            remedy = "give it a valid key by `headers`, such as Authorization"
            raise self._end(f"it does not let us in (HTTP {status})", remedy)
        if status == 404 and _SESSION in self._session:
            raise self._end("it has ended the session", None)
        if 300 <= status < 400:
            place = response.headers.get("location", "another address")
            raise self._end(f"it redirects to {place[:200]}", "use that address as `url`")
        if status == 202 and may_be_error:
            raise ServerGone("it answered a request with nothing (HTTP 202)")
        is_json = response.headers.get("content-type", "").startswith("application/json")
        if status >= 400 and not (may_be_error and is_json):
            raise ServerGone(
                f"it answered HTTP {status}", "correct `url`" if status == 404 else None
            )

    def _end(self, reason: str, remedy: str | None) -> ServerGone:
        """Have the connection count as ended."""
        gone = ServerGone(reason, remedy)
        if not self._gone.done():
            self._gone.set_result(gone)
        return gone


def _is_stream(response: "httpx2.Response") -> bool:
    return response.headers.get("content-type", "").startswith("text/event-stream")


async def _body(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_MESSAGE:
            raise TooLong
    return bytes(body)


def _whole(body: bytes, status: int) -> JsonObject:
    message = _decoded(body)
    if "result" in message or "error" in message:
        return message
    raise ServerGone(f"its answer is no JSON-RPC (HTTP {status})", "correct `url`")


def _decoded(data: str | bytes) -> JsonObject:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _words(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]
