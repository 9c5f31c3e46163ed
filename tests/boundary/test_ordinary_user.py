"""The tables of permissions, paths, seals, faults and sandbox once more, as an ordinary user.

Root hides faults (modes, /proc, limits), and often it is root that runs the tests.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
NOBODY = 65534
TABLES = (
    "unit/test_permissions_engine.py",
    "unit/test_permissions_paths.py",
    "unit/test_permissions_shell.py",
    "unit/test_permissions_spelled.py",
    "unit/test_permissions_rules.py",
    "unit/test_permissions_grants.py",
    "unit/test_permissions_prompts.py",
    "unit/test_seals.py",
    "session/test_fault_points.py",
    "session/test_secrets.py",
    "boundary/test_paths_race.py",
    "boundary/test_paths_deep.py",
    "boundary/test_action_files.py",
    "boundary/test_sandbox.py",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may write in, and reach."""
    with tempfile.TemporaryDirectory(prefix="agent-host-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def interpreter() -> str:
    """A Python that everybody may start: ours, or the system's if ours lies in a closed home."""
    real = Path(sys.executable).resolve()
    is_open = all(each.stat().st_mode & 0o005 == 0o005 for each in (real, *real.parents))
    return str(real) if is_open else "/usr/bin/python3"


@pytest.mark.timeout(600)
def test_every_table_holds_for_an_ordinary_user(folder: Path) -> None:
    if os.geteuid() != 0:
        return  # then all of them are run by one anyway
    done = subprocess.run(
        [
            *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
            *(interpreter(), "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            f"--basetemp={folder / 't'}",
            *(str(PROJECT / "tests" / name) for name in TABLES),
        ],
        cwd=PROJECT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            # The packages that these tests run with.
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if "site-packages" in each),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
