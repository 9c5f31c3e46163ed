"""One unified diff of all that a run changed, made at its end from what the ledger wrote down.

What somebody else changed between two edits of the run is not in it: then the file is in the diff
more than once. What is left out is named with the reason.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_host.core.actions import OmittedFile, RunDiff
from agent_host.core.errors import ActionFailed, AgentHostError
from agent_host.core.records import SessionStore
from agent_host.core.uris import beneath, uri_to_path
from agent_host.editing.diff import unified
from agent_host.editing.text import decode
from agent_host.session.ledger import Made

log = logging.getLogger(__name__)

MOST_CHARACTERS = 256 * 1024
"""How long the whole diff may be; a file that does not fit any more is left out."""

MOST_BYTES = 4 * 1024 * 1024
"""Larger files are not compared."""

SECONDS = 10.0
"""How long a run's end waits for the store and the comparison."""

_DELETED = "it was deleted, and is a directory, a link or large: it lies in the trash"
_NOT_KEPT = "its content was not kept"


async def whole_diff(
    made: Sequence[Made], store: SessionStore, show: Callable[[str], str]
) -> RunDiff | None:
    """The diff, None if nothing was changed. Never raises but CancelledError."""
    steps = joined(made)
    if not steps:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            return await _compared(steps, store, show)
    except TimeoutError:
        reason = "it could not be compared in time"
    except Exception:
        # The run's result must not be lost over its diff.
        log.exception("the diff of a run could not be made")
        reason = "it could not be compared; the host's log says why"
    return RunDiff(
        "", tuple(OmittedFile(uri, reason) for uri in {step.uri: None for step in steps})
    )


@dataclass(frozen=True, slots=True)
class Step:
    """A file's way from one content, and perhaps name, to another; a hash is None for no file."""

    uri: str
    before: str | None
    after: str | None
    was: str
    is_directory: bool = False


def joined(made: Sequence[Made]) -> list[Step]:
    """The changes by file, those made one because each began where the one before had ended.

    What was moved goes on under its new name.
    """
    steps: dict[str, list[Step]] = {}
    for each in made:
        if each.moved_to is not None:
            _follow(steps, each, each.moved_to)
            continue
        if each.is_directory:
            if each.kind == "delete":
                steps.setdefault(each.uri, []).append(
                    Step(each.uri, None, None, each.uri, is_directory=True)
                )
            continue
        of_file = steps.setdefault(each.uri, [])
        first, was = each.before_sha256, each.uri
        if of_file and of_file[-1].after == each.before_sha256:
            last = of_file.pop()
            first, was = last.before, last.was
        of_file.append(Step(each.uri, first, each.after_sha256, was))
    return [
        step
        for of_file in steps.values()
        for step in of_file
        if step.before != step.after
        or (step.was != step.uri and step.before is not None)
        or step.is_directory
    ]


def _follow(steps: dict[str, list[Step]], move: Made, to: str) -> None:
    """Let a move's files, and what is in its directories, have their new names."""
    is_directory = move.is_directory
    if is_directory:
        steps.setdefault(to, []).append(Step(to, None, None, move.uri, is_directory=True))
    elif not steps.get(move.uri):
        steps[move.uri] = [Step(move.uri, move.before_sha256, move.after_sha256, move.uri)]
    for uri in tuple(steps):
        rest = beneath(uri, move.uri)
        if rest is None or not (is_directory or not rest):
            continue
        *earlier, last = steps.pop(uri)
        if earlier:
            steps[uri] = earlier
        steps.setdefault(to + rest, []).append(replace(last, uri=to + rest))


async def _compared(
    steps: Sequence[Step], store: SessionStore, show: Callable[[str], str]
) -> RunDiff:
    parts: list[str] = []
    omitted: list[OmittedFile] = []
    room = MOST_CHARACTERS
    for step in steps:
        name, old_name = _name(step.uri, show), _name(step.was, show)
        if step.is_directory and name == old_name:
            omitted.append(OmittedFile(step.uri, _DELETED))
            continue
        try:
            moved = f"rename from {old_name}\nrename to {name}\n" if name != old_name else ""
            part = ""
            if step.before != step.after:
                before = await _content(store, step.before)
                after = await _content(store, step.after)
                part = await asyncio.to_thread(_diff_of, before, after, name, old_name)
            part = moved + part
        except ActionFailed as failure:
            omitted.append(OmittedFile(step.uri, failure.reason))
            continue
        if len(part) > room:
            omitted.append(OmittedFile(step.uri, f"its diff is long: {len(part):,} characters"))
            continue
        room -= len(part)
        parts.append(part)
    return RunDiff("".join(parts), tuple(omitted))


async def _content(store: SessionStore, sha256: str | None) -> bytes | None:
    """The bytes of a hash, None for no file."""
    if sha256 is None:
        return None
    try:
        data = await store.contents(sha256)
    except AgentHostError:
        data = None
    if data is None:
        raise ActionFailed("unavailable", _NOT_KEPT)
    if len(data) > MOST_BYTES:
        raise ActionFailed("too_large", f"it is large: {len(data):,} bytes")
    return data


def _name(uri: str, show: Callable[[str], str]) -> str:
    path = uri_to_path(uri)
    return show(path) if path else uri


def _diff_of(before: bytes | None, after: bytes | None, name: str, old_name: str) -> str:
    return unified(
        None if before is None else decode(before).text,
        None if after is None else decode(after).text,
        name,
        old_name=old_name,
    )
