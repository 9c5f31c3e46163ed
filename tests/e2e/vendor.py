"""A model server on loopback that speaks chat completions; it keeps every request body.

It plays the turns of script.py, refuses a conversation whose tool calls and results don't pair up,
and can cut its stream. Not here: the vendors' other protocols.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.script import Turn


class Vendor:
    """Serves until `close`. A turn may have `cut`: the stream ends there without its end mark."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.keys: list[str] = []
        self.released = threading.Event()
        self._turns: list[Turn] = []
        self._lock = threading.Lock()
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._json(200, {"object": "list", "data": [{"id": "any", "object": "model"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                vendor.bodies.append(body)
                vendor.keys.append(self.headers["Authorization"].removeprefix("Bearer "))
                if problem := unpaired(body["messages"]):
                    vendor.refused.append(problem)
                    self._json(
                        400, {"error": {"message": problem, "type": "invalid_request_error"}}
                    )
                    return
                turn = vendor._next_turn()
                if turn.status is not None:
                    self._json(turn.status, {"error": {"message": "refused", "type": "x"}})
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for line in events(turn, len(vendor.bodies)):
                    self.wfile.write(line)
                    self.wfile.flush()
                if turn.hang:
                    vendor.released.wait(60)
                self.close_connection = True

            def _json(self, status: int, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def environment(self) -> dict[str, str]:
        """What makes a host use this server for `local/...`."""
        return {"LOCAL_BASE_URL": f"http://127.0.0.1:{self._server.server_port}/v1"}

    def plays(self, turns: list[Turn]) -> None:
        """What to answer, one turn a request."""
        with self._lock:
            self._turns = list(turns)

    def tool_results(self) -> list[str]:
        """All tool results of the last request, as the model read them."""
        return [_plain(m["content"]) for m in self.bodies[-1]["messages"] if m["role"] == "tool"]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next_turn(self) -> Turn:
        with self._lock:
            return self._turns.pop(0) if self._turns else Turn("(the script is over)")


def unpaired(messages: list[dict[str, Any]]) -> str | None:
    """Why a vendor would refuse the conversation: a call without result, or the reverse."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"result without a call: {message['tool_call_id']}"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"calls without results: {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
    return f"calls without results: {open_calls}" if open_calls else None


def events(turn: Turn, number: int) -> Iterator[bytes]:
    """The turn as server-sent events; `number` makes its call ids unlike those of others."""
    cut = turn.cut
    if cut == "nothing":
        return
    if turn.text:
        for word in turn.text.split(" "):
            yield _event({"content": word + " "})
    if cut == "text":
        return
    for index, call in enumerate(turn.calls):
        arguments = json.dumps(call[1])
        function = {"name": call[0], "arguments": arguments[: len(arguments) // 2]}
        start = {"index": index, "id": f"call-{number}-{index}", "type": "function"}
        yield _event({"tool_calls": [start | {"function": function}]})
        if cut == "half a call":
            return
        rest = {"arguments": arguments[len(arguments) // 2 :]}
        yield _event({"tool_calls": [{"index": index, "function": rest}]})
    if cut or turn.hang:
        return
    yield _event({}, "tool_calls" if turn.calls else "stop")
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    yield _line({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _line({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _line(value: dict[str, Any]) -> bytes:
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "any"}
    return b"data: " + json.dumps(base | value).encode() + b"\n\n"


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
