"""The runtimes `acp:NAME` on real agents, each in a clean home, against vendors on loopback.

Two more are in tests/agents, which is run only if asked for: they are large.
"""

from pathlib import Path

import pytest

from tests.boundary import real_stories
from tests.boundary.real_agents import GEMINI, OPENCODE, Real

each = pytest.mark.parametrize("which", [OPENCODE, GEMINI], ids=str)


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
