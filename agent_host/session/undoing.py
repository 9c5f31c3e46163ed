"""The content of a file without a run's steps, but with what others changed between them."""

from collections.abc import Awaitable, Callable, Sequence

from agent_host.core.errors import ActionFailed
from agent_host.editing.merge import merged
from agent_host.editing.text import decode
from agent_host.session.nets import Step

Contents = Callable[[str], Awaitable[bytes | None]]


async def undone(steps: Sequence[Step], contents: Contents) -> bytes | None:
    """The bytes; None if what others changed and what the run changed are too close to part.

    Raises ActionFailed for what was not kept, and for bytes that are no text.
    """
    data = await _content(steps[-1].before, contents)
    for step in reversed(steps[:-1]):
        if data is None or step.before is None or step.after is None:
            return None
        base, ours = await _content(step.after, contents), await _content(step.before, contents)
        assert base is not None  # noqa: S101 - only None gives None
        assert ours is not None  # noqa: S101
        shape = decode(data)
        text = merged(base=decode(base).text, ours=decode(ours).text, theirs=shape.text)
        if text is None:
            return None
        data = shape.encoded(text)
    return data


async def _content(sha256: str | None, contents: Contents) -> bytes | None:
    if sha256 is None:
        return None
    data = await contents(sha256)
    if data is None:
        raise ActionFailed("unavailable", "Its earlier content was not kept.")
    return data
