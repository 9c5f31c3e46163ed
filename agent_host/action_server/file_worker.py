"""The file worker: a process of its own that does all file calls, several at once.

It reads calls from its stdin and answers on its stdout in the order of their ends. It dies with
the action server; a hang or crash here costs the calls that were in it.
"""

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_host.action_server import files, landlock, listing, moving, search, trash, watch, writing
from agent_host.action_server.failure import Failure
from agent_host.action_server.ripgrep import Job
from agent_host.action_server.roots import Roots
from agent_host.action_wire import (
    Call,
    Cancel,
    CreateDirectory,
    Delete,
    Done,
    Failed,
    FileCall,
    Inspect,
    Lines,
    ListDirectory,
    Move,
    Name,
    Read,
    Restore,
    Result,
    Run,
    Search,
    Start,
    Tidy,
    ToHost,
    Watch,
    Write,
    decode_to_server,
    encode,
)

_THREADS = 8


def serve(stdin: int, stdout: int) -> None:
    """Serve until stdin ends."""
    worker: _Worker | None = None
    pool = ThreadPoolExecutor(_THREADS)
    for line in _lines(stdin):
        match decode_to_server(line):
            case Start() as start:
                worker = _Worker(start, stdout)
            case Call(id=call_id, call=call) if worker is not None and not isinstance(call, Run):
                pool.submit(worker.answer, call_id, worker.begin(call_id), call)
            case Cancel(id=call_id) if worker is not None:
                worker.cancel(call_id)
            case _:
                pass
    # Nobody is there to hear of what still runs, and threads can't be interrupted.
    os._exit(0)


class _Worker:
    def __init__(self, start: Start, stdout: int) -> None:
        self._start = start
        self._roots = Roots(start.roots)
        if start.confine and sys.platform == "linux":
            _confine(start, self._roots)
        self._stdout = stdout
        self._writing = threading.Lock()
        # Changes are made one at a time: each compares before it swaps.
        self._changing = threading.Lock()
        self._jobs: dict[int, Job] = {}
        # Only to be read by setting it; no thread runs yet.
        self._umask = os.umask(0o077)
        os.umask(self._umask)

    def begin(self, call_id: int) -> Job:
        job = self._jobs[call_id] = Job()
        return job

    def cancel(self, call_id: int) -> None:
        if job := self._jobs.get(call_id):
            job.cancel()

    def answer(self, call_id: int, job: Job, call: FileCall) -> None:
        try:
            reply: ToHost = Done(call_id, self._perform(call, job))
        except Failure as failure:
            reply = Failed(call_id, failure.code, failure.reason)
        except Exception as error:  # noqa: BLE001 - a fault of ours costs this call only
            print(f"{type(call).__name__}: {error!r}", file=sys.stderr)  # noqa: T201
            reply = Failed(call_id, "io", f"the action server failed: {type(error).__name__}")
        finally:
            self._jobs.pop(call_id, None)
        self._send(encode(reply))

    def _perform(self, call: FileCall, job: Job) -> Result:
        start, roots = self._start, self._roots
        match call:
            case Inspect(path):
                return files.inspect(roots, path)
            case Read(path):
                return files.read(roots, path)
            case ListDirectory():
                return listing.list_directory(roots, call, start.rg, job)
            case Search():
                return search.search(roots, call, start.rg, start.secret, job)
            case Watch():
                return watch.watch(roots, call, job)
            case Tidy(paths):
                watch.tidy(roots, paths)
                return Name()
            case _:
                with self._changing:
                    return Name(self._change(call))

    def _change(self, call: Write | CreateDirectory | Delete | Restore | Move) -> str:
        start, roots = self._start, self._roots
        match call:
            case Write(path, data, expected):
                return writing.write(roots, path, data, expected, self._umask)
            case CreateDirectory(path):
                writing.create_directory(roots, path)
                return ""
            case Delete(path, identity, trash_id):
                return trash.delete(roots, start.trash, path, identity, trash_id)
            case Restore(trash_id):
                trash.restore(roots, start.trash, trash_id)
                return ""
            case Move(path, identity, to):
                moving.move(roots, path, identity, to)
                return ""

    def _send(self, line: bytes) -> None:
        with self._writing:
            view = memoryview(line)
            while view:
                view = view[os.write(self._stdout, view) :]


def _confine(start: Start, roots: Roots) -> None:
    # What this process still needs: its own modules, ripgrep and what that is linked with.
    own = Path(__file__).resolve().parents[1]
    programs = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/nix/store")
    rg = () if start.rg is None else (start.rg, os.path.realpath(start.rg))
    readable = (str(own), sys.base_prefix, *programs, *rg)
    writable = (*roots.true_paths(), start.trash, "/dev/null")
    if not landlock.restrict(readable=readable, writable=writable, network=False):
        print("the file worker runs without Landlock", file=sys.stderr)  # noqa: T201


def _lines(descriptor: int) -> Iterator[bytes]:
    framing = Lines()
    while data := os.read(descriptor, 1024 * 1024):
        yield from framing.feed(data)
