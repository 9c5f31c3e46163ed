"""A bare Neovim, headless and without any plugin, does the main job."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.editors.conftest import TYPED, Job

NVIM = Path(sys.executable).parent / "nvim"
SCRIPT = Path(__file__).parent / "main_job.lua"


def drive(job: Job, *, way: str, answer: str) -> dict[str, Any]:
    """Run the script; returns what Neovim saw."""
    config = job.root.parent / "config.json"
    settings = {
        "command": [sys.executable, "-m", "agent_host", "serve", "--stdio"],
        "root": str(job.root),
        "file": str(job.file),
        "typed": [*TYPED.splitlines(), ""],
        "way": way,
        "answer": answer,
        "run": {"prompt": "tidy up", "model": job.model},
    }
    config.write_text(json.dumps(settings))
    done = subprocess.run(
        [NVIM, "--clean", "--headless", "-l", SCRIPT, config],
        env=job.environment | {"XDG_STATE_HOME": str(job.root.parent / "nvim")},
        cwd=job.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("way", ["request", "command"])
def test_a_prompt_is_answered_and_one_undo_takes_the_edit_back(job: Job, way: str) -> None:
    seen = drive(job, way=way, answer="Allow once")
    assert seen.get("error") is None
    assert (seen["result"]["status"], seen["result"]["output"]) == ("completed", "All done.")
    assert seen["before"] + "\n" == job.before
    assert seen["after"] + "\n" == job.after
    assert seen["undone"] == seen["before"]
    assert seen["modified"] is True
    assert len(seen["questions"]) == 2
    assert (job.root / "ran").exists()
    assert [delta["seq"] for delta in seen["deltas"]] == list(range(1, len(seen["deltas"]) + 1))
    assert seen["deltas"][-1]["delta"]["kind"] == "ended"
    assert seen["stopped"] is True


@pytest.mark.parametrize("answer", ["Deny", "dismissed"])
def test_nothing_changes_when_the_user_says_no(job: Job, answer: str) -> None:
    seen = drive(job, way="request", answer=answer)
    assert seen["result"]["status"] == "completed"
    assert seen["after"] == seen["before"]
    assert len(seen["questions"]) == 2
    assert not (job.root / "ran").exists()
