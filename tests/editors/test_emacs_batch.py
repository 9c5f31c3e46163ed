"""Emacs 30 in batch with the README's lines: a conversation by eglot alone, without a terminal."""

import base64
import json
import subprocess
from pathlib import Path

from tests.editors.conftest import DISK, Job, readme_lines
from tests.editors.test_bare_neovim import EDIT

DRIVE = Path(__file__).with_name("emacs_batch.el")
TURNS = [
    [{"text": "I change it."}, {"call": {"name": "fs_edit", "arguments": EDIT}}],
    [{"expect": {"result": "hanged"}}, {"text": "It is done."}, {"hang": True}],
]


def test_a_prompt_is_answered_asked_about_stopped_and_undone(job: Job, tmp_path: Path) -> None:
    init = tmp_path / "init.el"
    init.write_text(readme_lines("elisp"))
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", init, "-l", DRIVE],
        env=job.with_host(tmp_path / "script.yaml", TURNS),
        cwd=job.root,
        input="Allow once\n",
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(base64.b64decode(done.stdout.split()[-1]))
    assert "> Allow once\n> changed tidy.py (+1 -1)\n\nIt is done.\n\n> stopped" in seen["talk"]
    assert seen["edited"] == "name = 'agent'\n"
    assert seen["disk"] == seen["undone"] == job.file.read_text() == DISK
