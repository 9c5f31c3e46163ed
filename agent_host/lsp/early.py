"""Answers `initialize` before anything heavy is imported, and keeps what was read for the rest.

From here on fds 0 and 1 are not the editor's any more, so that no child and no stray print can
touch the protocol. Standard library only, and little of it. Not here: anything but `initialize`.
"""

import os
import select
import signal

from agent_host.lsp.capabilities import initialize_result
from agent_host.lsp.framing import FrameError, Framer
from agent_host.lsp.message import MessageId, decode, encode, is_id, is_object

_CHUNK = 64 * 1024


class Opening:
    """How the connection stands when the rest of the program takes over.

    `received` is all that was read from `source`, and is to be read again; when `answered`, the
    answer to the `initialize` in it was sent. `editor_seen`: its processId was alive then.
    `listen` is HOST:PORT to wait for one client at; then there are no fds yet (-1).
    """

    __slots__ = ("answered", "editor_seen", "listen", "received", "sink", "source")

    def __init__(self, source: int = -1, sink: int = -1, listen: str | None = None) -> None:
        self.source = source
        self.sink = sink
        self.listen = listen
        self.received = b""
        self.answered = False
        self.editor_seen = False


def open_stdio() -> Opening:
    """Take stdin and stdout away from everybody else and answer `initialize` if it comes first."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback while the rest is imported
    opening = Opening(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2 if _is_open(2) else nothing, 1)
    os.close(nothing)
    answer_initialize(opening)
    return opening


def answer_initialize(opening: Opening) -> None:
    """Block until the first message is there; if it is a sound `initialize`, answer it."""
    framer = Framer()
    found: list[bytes | FrameError] = []
    while not found:
        chunk = _read(opening.source)
        if not chunk:
            return
        opening.received += chunk
        found = framer.feed(chunk)
    request = _initialize(found[0])
    if request is None:
        return
    msg_id, params = request
    opening.editor_seen = is_alive(params.get("processId"))
    answer = {"jsonrpc": "2.0", "id": msg_id, "result": initialize_result(params)}
    opening.answered = _write(opening.sink, encode(answer))


def is_alive(pid: object) -> bool:
    """Whether a process of that number can be seen from here."""
    if type(pid) is not int or pid <= 0:
        return False
    if os.name == "nt":
        return True  # signal 0 is no question there, but Ctrl-C
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _initialize(first: bytes | FrameError) -> tuple[MessageId, dict[str, object]] | None:
    """Id and params, if that is a sound `initialize`; everything else is for the full path."""
    if isinstance(first, FrameError):
        return None
    try:
        message = decode(first)
    except ValueError:
        return None
    if not is_object(message) or message.get("jsonrpc") != "2.0":
        return None
    msg_id, params = message.get("id"), message.get("params")
    if params is None:
        params = dict[str, object]()
    if message.get("method") != "initialize" or not is_id(msg_id) or not is_object(params):
        return None
    return msg_id, params


def _read(source: int) -> bytes:
    while True:
        try:
            return os.read(source, _CHUNK)
        except BlockingIOError:
            select.select([source], [], [])
        except OSError:
            return b""


def _write(sink: int, data: bytes) -> bool:
    """Write all of it; False when nobody is there to read it."""
    while data:
        try:
            data = data[os.write(sink, data) :]
        except BlockingIOError:
            select.select([], [sink], [])
        except OSError:
            return False
    return True


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
