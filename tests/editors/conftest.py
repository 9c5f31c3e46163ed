"""A workspace and the main job's script for real editors and clients."""

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DISK = "name = 'disk'\n"
TYPED = "# größe 🐍: not saved\n"


Turns = list[list[dict[str, Any]]]


def readme_lines(language: str) -> str:
    """The README's first code block in a language: what a person is told to put into a file."""
    readme = (ROOT / "README.md").read_text()
    block = re.search(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1]


@dataclass(frozen=True, slots=True)
class Job:
    """Read an unsaved buffer, edit it, run a command: `model` plays it, with a question for two."""

    root: Path
    file: Path
    model: str
    environment: dict[str, str]

    @property
    def before(self) -> str:
        return TYPED + DISK

    @property
    def after(self) -> str:
        return TYPED + "name = 'agent'\n"

    def with_host(self, script: Path, turns: Turns) -> dict[str, str]:
        """An environment in which the host is found, and its model takes these turns."""
        script.write_text(json.dumps(turns))
        return self.environment | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "AGENT_HOST_MODEL": f"scripted/{script}",
        }


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return make_job(tmp_path)


def make_job(tmp_path: Path) -> Job:
    """A workspace in a folder, and the script that works in it."""
    root = tmp_path / "workspace"
    root.mkdir()
    file = root / "tidy.py"
    file.write_text(DISK)
    turns = [
        [{"call": {"name": "fs_read", "arguments": {"path": "tidy.py"}}}],
        [
            {"expect": {"result": "not saved"}},
            {"text": "I see the unsaved text."},
            {
                "call": {
                    "name": "fs_edit",
                    "arguments": {"path": "tidy.py", "edits": [{"old": "disk", "new": "agent"}]},
                }
            },
        ],
        [{"call": {"name": "terminal_run", "arguments": {"command": "touch ran"}}}],
        [{"text": "All done."}],
    ]
    script = tmp_path / "script.yaml"
    script.write_text(json.dumps(turns))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "AGENT_HOST_HOME": str(tmp_path / "state"),
        "AGENT_HOST_TRUST": "always",
    }
    return Job(root, file, f"scripted/{script}", environment)
