"""The content without a run's steps keeps what others changed between them, or is not known."""

from collections.abc import Sequence
from hashlib import sha256

import pytest

from agent_host.core.errors import ActionFailed
from agent_host.session.nets import Step
from agent_host.session.undoing import undone


async def result(*texts: tuple[str | None, str | None], kept: bool = True) -> bytes | None:
    """What is undone of steps between these texts."""
    contents: dict[str, bytes] = {}

    def name(text: str | None) -> str | None:
        if text is None:
            return None
        data = text.encode()
        contents[sha256(data).hexdigest()] = data
        return sha256(data).hexdigest()

    async def look(sha: str) -> bytes | None:
        return contents.get(sha) if kept else None

    steps: Sequence[Step] = [Step(name(before), name(after)) for before, after in texts]
    return await undone(steps, look)


async def test_one_step_is_undone_to_where_it_began() -> None:
    assert await result(("old\r\n", "new\r\n")) == b"old\r\n"
    assert await result((None, "new\n")) is None


async def test_what_others_changed_between_two_steps_stays() -> None:
    steps = (
        ("a\n1\n2\n3\nb\n", "A\n1\n2\n3\nb\n"),
        ("A\n1\nperson\n3\nb\n", "A\n1\nperson\n3\nB\n"),
    )
    assert await result(*steps) == b"a\n1\nperson\n3\nb\n"


async def test_changes_at_one_place_are_not_parted() -> None:
    assert await result(("a\n", "A\n"), ("A, person\n", "B\n")) is None


async def test_a_file_that_was_made_or_gone_between_is_not_parted() -> None:
    assert await result((None, "a\n"), ("b\n", "c\n")) is None
    assert await result(("a\n", "b\n"), (None, "c\n")) is None


async def test_what_was_not_kept_or_is_no_text_is_told() -> None:
    with pytest.raises(ActionFailed, match="was not kept"):
        await result(("a\n", "b\n"), kept=False)
    with pytest.raises(ActionFailed, match="binary"):
        await result(("a\n", "b\n"), ("b\0", "c\n"))
