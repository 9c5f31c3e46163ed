"""The Neovim plugin in the oldest Neovim that it is for: it shows what the newest one shows."""

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.editors import test_nvim_reading, test_nvim_talk
from tests.editors.conftest import make_job
from tests.editors.test_nvim_talk import PLUGIN, SCRIPTS, drive
from tests.old_neovim import NVIM as OLD

Seen = dict[str, Any]


def shown_by(module: object) -> list[Callable[[Seen], None]]:
    """Those that only look at what the module's script has seen."""
    named = [each for name, each in vars(module).items() if name.startswith("test_")]
    return [each for each in named if list(each.__annotations__) == ["seen", "return"]]


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return drive(make_job(tmp_path_factory.mktemp("nvim")), "talk.lua", SCRIPTS, nvim=OLD)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return drive(make_job(tmp_path_factory.mktemp("nvim")), "reading.lua", nvim=OLD)


def test_it_is_as_old_as_the_plugin_says() -> None:
    said = subprocess.run([OLD, "--version"], capture_output=True, text=True, check=True).stdout
    oldest = re.search(
        r"has\('nvim-(\d+\.\d+)'\) == 0", (PLUGIN / "plugin" / "agent_host.lua").read_text()
    )
    assert oldest is not None
    assert said.startswith(f"NVIM v{oldest[1]}.")


@pytest.mark.parametrize("shows", shown_by(test_nvim_talk))
def test_a_persons_first_hour(talked: Seen, shows: Callable[[Seen], None]) -> None:
    shows(talked)


@pytest.mark.parametrize("shows", shown_by(test_nvim_reading))
def test_a_transcript_is_read(read: Seen, shows: Callable[[Seen], None]) -> None:
    shows(read)
