"""The runtimes `acp:NAME` on more real agents: `python3 tests/run.py agents` (840 MB from npm)."""

from pathlib import Path

import pytest

from tests.boundary import real_stories
from tests.boundary.real_agents import CLAUDE, CODEX, Real

each = pytest.mark.parametrize("which", [CODEX, CLAUDE], ids=str)


@pytest.mark.timeout(300)  # four starts of a large program
@each
async def test_stops_and_resumes(which: Real, tmp_path: Path) -> None:
    await real_stories.stops_and_resumes(which, tmp_path)


@each
async def test_asks_for_each(which: Real, tmp_path: Path) -> None:
    await real_stories.asks_for_each(which, tmp_path)


@each
async def test_says_what_fails(which: Real, tmp_path: Path) -> None:
    await real_stories.says_what_fails(which, tmp_path)
