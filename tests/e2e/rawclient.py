"""A bare LSP client over stdio: own framing, own ids, everything received kept in order.

It shares no code with the host, so that a fault there can't cancel itself out. Every wait is for an
event and has a bound. Not here: documents and answers to questions (editor.py).
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

WAIT = float(os.environ.get("TEST_WAIT_SECONDS", "20"))
"""Seconds after which a wait is a failure; a busy machine may set more."""

Message = dict[str, Any]
OMIT = object()
"""Stands for a request without a `params` member."""


class RpcError(Exception):
    """The host answered a request with an error object."""

    def __init__(self, error: Message) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')} {error.get('data')}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class HostGone(Exception):
    """The host closed its stdout while something was waited for."""


class Pending:
    """A request that was sent; `result` waits for its answer."""

    def __init__(self, client: "RawClient", request_id: int | str) -> None:
        self.client = client
        self.id = request_id

    def answer(self, timeout: float = WAIT) -> Message:
        """The whole answer message."""
        return self.client.wait(self._is_mine, timeout, what=f"the answer to {self.id!r}")

    def result(self, timeout: float = WAIT) -> Any:
        """The result; raises RpcError for an error answer."""
        answer = self.answer(timeout)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def answered(self) -> bool:
        return any(self._is_mine(message) for message in self.client.received())

    def _is_mine(self, message: Message) -> bool:
        return "method" not in message and message.get("id") == self.id


class RawClient:
    """Starts a host and talks to it. `on_request` may answer what the host asks."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stderr: Path
    ) -> None:
        self.stderr_path = stderr
        with stderr.open("wb") as log:
            self.process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
            )
        self.on_message: Callable[[Message], None] = lambda _: None
        self.faults: list[str] = []
        self._messages: list[Message] = []
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._reading = threading.Event()
        self._reading.set()
        self._ended = False
        self._next_id = 0
        self._thread = threading.Thread(target=self._read_all, daemon=True)
        self._thread.start()

    # ---- sending

    def request(
        self, method: str, params: Any = OMIT, request_id: int | str | None = None
    ) -> Pending:
        """Send a request; its answer is waited for with `Pending.result`."""
        if request_id is None:
            self._next_id += 1
            request_id = self._next_id
        message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not OMIT:
            message["params"] = params
        self.send(message)
        return Pending(self, request_id)

    def notify(self, method: str, params: Any = OMIT) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not OMIT:
            message["params"] = params
        self.send(message)

    def respond(self, request_id: int | str, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def respond_error(self, request_id: int | str, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self.send({"jsonrpc": "2.0", "id": request_id, "error": error})

    def send(self, message: object) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def send_bytes(self, data: bytes) -> None:
        """Write raw bytes; for messages that no sane client would send."""
        stdin = self.process.stdin
        assert stdin is not None
        with self._writing:
            view = memoryview(data)
            while view:
                view = view[stdin.write(view) or 0 :]

    # ---- waiting

    def received(self, since: int = 0) -> list[Message]:
        """Everything received so far, in order."""
        with self._changed:
            return self._messages[since:]

    def forget(self) -> None:
        """Empty the transcript, for a host that several tests share."""
        with self._changed:
            self._messages.clear()

    def wait(
        self,
        wanted: Callable[[Message], bool],
        timeout: float = WAIT,
        *,
        what: str = "a message",
        since: int = 0,
        count: int = 1,
    ) -> Message:
        """The `count`-th received message that is wanted, from message number `since` on."""
        deadline = time.monotonic() + timeout
        with self._changed:
            seen, position = 0, since
            while True:
                while position < len(self._messages):
                    message = self._messages[position]
                    position += 1
                    seen += wanted(message)
                    if seen == count:
                        return message
                if self._ended:
                    raise HostGone(f"the host ended before {what}\n{self.tell()}")
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"{what} did not come in {timeout} s\n{self.tell()}")

    def wait_for(self, method: str, timeout: float = WAIT, **kwargs: Any) -> Message:
        """The next request or notification of that method."""
        return self.wait(lambda m: m.get("method") == method, timeout, what=method, **kwargs)

    def wait_until(
        self, condition: Callable[[], bool], timeout: float = WAIT, *, what: str
    ) -> None:
        """Wait until a condition holds that only a received message can make true."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not condition():
                if self._ended:
                    raise HostGone(f"the host ended before {what}\n{self.tell()}")
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"{what} did not come in {timeout} s\n{self.tell()}")

    def wait_exit(self, timeout: float = WAIT) -> int:
        """The exit code; also waits until the last of stdout is read."""
        code = self.process.wait(timeout)
        self._thread.join(timeout)
        return code

    # ---- the pipes

    def pause_reading(self) -> None:
        """Stop reading the host's stdout after at most one more message."""
        self._reading.clear()

    def resume_reading(self) -> None:
        self._reading.set()

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close_stdout(self) -> None:
        """Close our end of the host's stdout; what it writes from now on has no reader."""
        assert self.process.stdout is not None
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, self.process.stdout.fileno())
        os.close(nothing)
        self.request("agent/ping")  # its answer wakes the reader, which still holds the pipe
        self._thread.join(WAIT)

    def kill(self) -> None:
        """SIGKILL for the host alone, not for what it started."""
        self.process.kill()
        self.process.wait(WAIT)

    def close(self) -> None:
        """End whatever is left and close the pipes."""
        self._reading.set()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT)
        self._thread.join(WAIT)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def stderr(self) -> str:
        return self.stderr_path.read_text(errors="replace")

    def tell(self, last: int = 12) -> str:
        """The end of the transcript and of stderr, for a failing test."""
        lines = [json.dumps(m, ensure_ascii=False)[:400] for m in self._messages[-last:]]
        return "\n".join(["--- last messages", *lines, "--- stderr", self.stderr()[-3000:]])

    def _read_all(self) -> None:
        try:
            for message in self._frames():
                with self._changed:
                    self._messages.append(message)
                    self._changed.notify_all()
                self.on_message(message)
                with self._changed:
                    self._changed.notify_all()
        except (ValueError, OSError) as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _frames(self) -> Iterator[Message]:
        stdout = self.process.stdout
        assert stdout is not None
        buffer = b""
        while True:
            while (end := buffer.find(b"\r\n\r\n")) < 0:
                if not (data := stdout.read(65536)):
                    if buffer:
                        self.faults.append(f"stdout ended inside a message: {buffer[:200]!r}")
                    return
                buffer += data
            length = _content_length(buffer[:end])
            body = bytearray(buffer[end + 4 :])
            while len(body) < length:
                if not (data := stdout.read(65536)):
                    self.faults.append("stdout ended inside a body")
                    return
                body += data
            buffer = bytes(body[length:])
            yield json.loads(body[:length])
            self._reading.wait()


def _content_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError(f"not a header: {header[:200]!r}")
