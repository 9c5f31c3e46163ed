"""One unified diff of all that a run changed, made at its end from what the ledger wrote down.

What somebody else changed between two edits of the run is not in it: then the file is in the diff
more than once. What is left out is named with the reason.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from agent_host.core.actions import OmittedFile, RunDiff
from agent_host.core.errors import ActionFailed, AgentHostError
from agent_host.core.records import SessionStore
from agent_host.core.uris import uri_to_path
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


def joined(made: Sequence[Made]) -> list[Made]:
    """The changes by file, those made one because each began where the one before had ended."""
    steps: dict[str, list[Made]] = {}
    for each in made:
        if each.is_directory:
            continue
        of_file = steps.setdefault(each.uri, [])
        if of_file and of_file[-1].after_sha256 == each.before_sha256:
            first = of_file.pop().before_sha256
            each = Made(each.uri, each.kind, first, each.after_sha256)  # noqa: PLW2901
        of_file.append(each)
    return [
        step
        for of_file in steps.values()
        for step in of_file
        if step.before_sha256 != step.after_sha256
    ]


async def _compared(
    steps: Sequence[Made], store: SessionStore, show: Callable[[str], str]
) -> RunDiff:
    parts: list[str] = []
    omitted: list[OmittedFile] = []
    room = MOST_CHARACTERS
    for step in steps:
        path = uri_to_path(step.uri)
        name = show(path) if path else step.uri
        try:
            before = await _content(store, step.before_sha256)
            after = await _content(store, step.after_sha256)
            part = await asyncio.to_thread(_diff_of, before, after, name)
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


def _diff_of(before: bytes | None, after: bytes | None, name: str) -> str:
    return unified(
        None if before is None else decode(before).text,
        None if after is None else decode(after).text,
        name,
    )
