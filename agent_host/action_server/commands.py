"""One command: started with nothing of ours, bounded in time and output, ended for sure.

It is over when its first process is; whatever still runs then is killed. Not here: what sandbox
it runs in (its argv says so) and whether it may run.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from agent_host.action_server.failure import Failure
from agent_host.action_server.processes import descendants
from agent_host.action_server.search import tempfile_of
from agent_host.action_server.spawned import Emit, Spawned
from agent_host.action_wire import (
    GRACE_SECONDS,
    MAX_DATA,
    OUTPUT_BYTES,
    TOKEN_COPY,
    TOKEN_INFO,
    TOKEN_SECCOMP,
    Ran,
    Run,
)

_DRAIN_SECONDS = 0.5
_KILL_SECONDS = 12.0

_Ending = Literal["ended", "timeout", "flooded", "stopped"]


@dataclass(slots=True)
class _Supplies:
    """What a command gets from us: argv, inherited descriptors, private files, a way to tell."""

    argv: list[str]
    descriptors: list[int] = field(default_factory=list[int])
    told: int | None = None
    copies: list[Path] = field(default_factory=list[Path])


class CommandRun:
    """One command at work; `result` is called once."""

    def __init__(self, run: Run, emit: Emit, scratch: str, launcher: Sequence[str]) -> None:
        """`launcher` is an argv that wants a confinement, a descriptor and the command after it.

        Where it is empty the command is started directly and only its process group is killed.
        """
        loop = asyncio.get_running_loop()
        self._run = run
        self._emit = emit
        self._scratch = scratch
        self._launcher = () if run.namespaced else launcher
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._hurried: asyncio.Future[None] = loop.create_future()
        self._spawned: Spawned | None = None

    def stop(self) -> None:
        """End it: SIGTERM, the grace, SIGKILL."""
        if not self._stopped.done():
            self._stopped.set_result(None)

    def kill(self) -> None:
        """End it at once."""
        self.stop()
        if not self._hurried.done():
            self._hurried.set_result(None)

    def pause(self, *, paused: bool) -> None:
        """Read no more of its output for now; the command then waits in its writes."""
        if self._spawned is not None:
            self._spawned.pause(paused=paused)

    async def result(self) -> Ran:
        """Run it to its end. Raises Failure when it can't be started or was stopped."""
        with _supplied(self._run, self._scratch, self._launcher) as supplies:
            spawned = self._spawned = await self._start(supplies)
            ending = await self._watch(spawned)
            await self._end(spawned, ending)
            if ending == "stopped":
                raise Failure("timeout", "the command was stopped")
            if isinstance(error := spawned.told.get("error"), str):
                raise Failure("not_found", f"can't run {error}")
            return _result(spawned, ending, _changed(self._run, supplies))

    async def _start(self, supplies: _Supplies) -> Spawned:
        loop = asyncio.get_running_loop()
        try:
            _, spawned = await loop.subprocess_exec(
                lambda: Spawned(loop, self._emit),
                *supplies.argv,
                stdin=asyncio.subprocess.DEVNULL,
                env=dict(self._run.env),
                cwd=self._run.cwd,
                start_new_session=True,
                pass_fds=supplies.descriptors,
            )
        except (OSError, ValueError) as error:
            raise Failure("not_found", f"can't run {supplies.argv[0]}: {error}") from None
        while supplies.descriptors:
            os.close(supplies.descriptors.pop())
        if supplies.told is not None:
            spawned.listen(supplies.told, namespaced=self._run.namespaced)
            supplies.told = None
        return spawned

    async def _watch(self, spawned: Spawned) -> _Ending:
        await asyncio.wait(
            [spawned.exited, spawned.flooded, self._stopped],
            timeout=self._run.timeout,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if spawned.flooded.done():
            return "flooded"
        if spawned.exited.done():
            return "ended"
        return "stopped" if self._stopped.done() else "timeout"

    async def _end(self, spawned: Spawned, ending: _Ending) -> None:
        if ending in ("timeout", "stopped"):
            self._ask_to_end(spawned)
            await asyncio.wait(
                [spawned.exited, self._hurried],
                timeout=GRACE_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        if not spawned.exited.done():
            self._kill(spawned)
            await asyncio.wait([spawned.exited], timeout=_KILL_SECONDS)
        if not spawned.exited.done():
            _send_group(spawned.pid, signal.SIGKILL)
            await asyncio.wait([spawned.exited], timeout=_KILL_SECONDS)
        await asyncio.wait([spawned.gone], timeout=_KILL_SECONDS)
        spawned.pause(paused=False)
        await asyncio.wait([spawned.closed], timeout=_DRAIN_SECONDS)
        spawned.close()

    def _ask_to_end(self, spawned: Spawned) -> None:
        if self._run.namespaced:
            # SIGTERM to bubblewrap itself would be the instant death of all.
            for pid in descendants(spawned.init or spawned.pid):
                _send(pid, signal.SIGTERM)
        elif self._launcher:
            _send(spawned.pid, signal.SIGTERM)
        else:
            _send_group(spawned.pid, signal.SIGTERM)

    def _kill(self, spawned: Spawned) -> None:
        if self._run.namespaced:
            # The init: the kernel ends all of the namespace before bubblewrap hears of its end.
            _send(spawned.init or spawned.pid, signal.SIGKILL)
        elif self._launcher:
            _send(spawned.pid, signal.SIGINT)
        else:
            _send_group(spawned.pid, signal.SIGKILL)


@contextmanager
def _supplied(run: Run, scratch: str, launcher: Sequence[str]) -> Generator[_Supplies]:
    supplies = _Supplies(list(run.argv))
    with ExitStack() as stack:
        words: dict[str, str] = {}
        if run.copies:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            for number, data in enumerate(run.copies):
                copy = folder / str(number)
                copy.write_bytes(data)
                copy.chmod(_mode_behind(run.argv, TOKEN_COPY % number))
                supplies.copies.append(copy)
                words[TOKEN_COPY % number] = str(copy)
        if run.seccomp:
            program = stack.enter_context(tempfile_of(run.seccomp))
            supplies.descriptors.append(os.dup(program))
            words[TOKEN_SECCOMP] = str(supplies.descriptors[-1])
        if run.namespaced or launcher:
            supplies.told, writer = os.pipe()
            supplies.descriptors.append(writer)
            words[TOKEN_INFO] = str(writer)
        stack.callback(_close_all, supplies)
        supplies.argv[:] = [words.get(word, word) for word in supplies.argv]
        if launcher:
            confine = "" if run.confine is None else json.dumps(asdict(run.confine))
            supplies.argv[:0] = [*launcher, confine, str(supplies.descriptors[-1])]
        yield supplies


def _mode_behind(argv: Sequence[str], token: str) -> int:
    """The mode of the file that a copy stands for: the word behind the copy's token."""
    try:
        return stat.S_IMODE(os.stat(argv[argv.index(token) + 1]).st_mode)  # noqa: PTH116
    except (OSError, ValueError, IndexError):
        return 0o644


def _close_all(supplies: _Supplies) -> None:
    for descriptor in (*supplies.descriptors, supplies.told):
        if descriptor is not None:
            os.close(descriptor)


def _changed(run: Run, supplies: _Supplies) -> dict[str, bytes]:
    changed: dict[str, bytes] = {}
    size = 0
    for number, (before, path) in enumerate(zip(run.copies, supplies.copies, strict=True)):
        with contextlib.suppress(OSError), path.open("rb") as file:
            after = file.read(MAX_DATA + 1)
            size += len(after) if after != before else 0
            if after != before and size <= 2 * MAX_DATA:
                changed[str(number)] = after
    return changed


def _result(spawned: Spawned, ending: _Ending, copies: dict[str, bytes]) -> Ran:
    output, omitted = spawned.kept.text()
    code = spawned.code
    if isinstance(told := spawned.told.get("code"), int):
        code = told
    name = None
    if code is not None and code < 0:
        name, code = _signal_name(-code), None
    elif code is not None and code > 128:
        # Both shells and bubblewrap tell a signal so.
        name = _signal_name(code - 128)
    return Ran(
        output,
        code,
        signal=name,
        timed_out=ending == "timeout",
        omitted=omitted,
        note=_note(spawned, ending),
        copies=copies,
    )


def _note(spawned: Spawned, ending: _Ending) -> str | None:
    if ending == "flooded":
        return f"it was killed: it printed more than {OUTPUT_BYTES // 1024 // 1024} MiB"
    left = spawned.told.get("left")
    if ending == "ended" and isinstance(left, int) and left > 0:
        return f"{left} of its processes were still running and were killed"
    return None


def _signal_name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def _send(pid: int, number: signal.Signals) -> None:
    if pid > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _send_group(pid: int, number: signal.Signals) -> None:
    if pid > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)


def launcher_argv(python: Sequence[str]) -> tuple[str, ...]:
    """How to start the launcher with the interpreter call `python`; empty where there is none."""
    return (*python, "launch", str(os.getpid())) if sys.platform == "linux" else ()
