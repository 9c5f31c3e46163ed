"""One JSON-lines file for each run, for people who look into what happened. Written as it happens.

The files are their owner's alone. A log that can't be written is reported once and left.
"""

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_host.core.records import StoredDelta, StoreProblem
from agent_host.store import codec, transfer
from agent_host.store.folder import make_private_folder
from agent_host.store.writes import Append, EndRun, StartRun, Write

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RunLogs:
    """The logs in the folder that `folder` gives at the time, which is made when the first is
    written; None: none is wanted. Used by one thread.
    """

    def __init__(
        self, folder: Callable[[], Path | None], report: Callable[[StoreProblem], None]
    ) -> None:
        self._folder = folder
        self._report = report
        self._failed = False

    def add(self, writes: Sequence[Write]) -> None:
        """Append what concerns a run to its file."""
        folder = self._folder()
        if self._failed or folder is None:
            return
        lines: dict[str, list[str]] = {}
        for write in writes:
            for run_id, line in _lines(write):
                lines.setdefault(run_id, []).append(line)
        if not lines:
            return
        try:
            make_private_folder(folder)
            for run_id, some in lines.items():
                _append(folder / f"{_file_name(run_id)}.jsonl", "".join(some))
        except OSError as error:
            self._failed = True
            reason = error.strerror or type(error).__name__
            self._report(StoreProblem("failed", f"The logs of runs can't be written: {reason}."))


def _lines(write: Write) -> list[tuple[str, str]]:
    match write:
        case StartRun(run):
            return [(run.run_id, transfer.run_line(run))]
        case Append(numbered, at):
            delta = StoredDelta(
                session_id=numbered.session_id,
                run_id=numbered.run_id,
                seq=numbered.seq,
                through=numbered.seq,
                origin=numbered.origin,
                delta=numbered.delta,
                at=at,
            )
            return [(numbered.run_id, transfer.delta_line(delta))]
        case EndRun(result, at):
            ended = {"kind": "ended", "at": at, "result": codec.plain(result)}
            return [(result.run_id, codec.dumps(ended) + "\n")]
        case _:
            return []


def _append(file: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    descriptor = os.open(file, flags, 0o600)
    with os.fdopen(descriptor, "ab") as stream:
        stream.write(text.encode())


def _file_name(run_id: str) -> str:
    """The id itself where it is harmless: an editor may have chosen it."""
    if _SAFE.fullmatch(run_id):
        return run_id
    return hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
