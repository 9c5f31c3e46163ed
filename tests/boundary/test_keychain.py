"""Keys in an OS keyring: kept, used, named and forgotten, and never found anywhere else.

The keyring is a real backend that keeps a file, so that no desktop session is needed.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from agent_host.core.errors import KeyringFailed
from agent_host.keychain import Keychain
from tests.e2e.script import says
from tests.e2e.vendor import Vendor

KEY = "sk-of-the-keyring"
FILE = "keyrings.alt.file.PlaintextKeyring"


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    made = Vendor()
    yield made
    made.close()


def agent_host(folder: Path, *arguments: str, given: str = "", **more: str) -> tuple[int, str]:
    """Its exit code, and all that it prints."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "keyring"),
        "AGENT_HOST_HOME": str(folder / "home"),
        "PYTHON_KEYRING_BACKEND": FILE,
    }
    done = subprocess.run(
        [sys.executable, "-m", "agent_host", *arguments],
        check=False,
        cwd=folder,
        env=environment | more,
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_kept_key_is_used_and_found_nowhere_else(tmp_path: Path, vendor: Vendor) -> None:
    said = [agent_host(tmp_path, "auth", "set", "local", given=f"{KEY}\n")]
    vendor.plays([says("hello")])
    run = agent_host(tmp_path, "run", "--model", "local/any", "hi", **vendor.environment)
    said += [run, agent_host(tmp_path, "auth", "list"), agent_host(tmp_path, "doctor")]
    assert set(vendor.keys) == {KEY}, run  # a title may be asked for, too
    assert [code for code, _ in said[:3]] == [0, 0, 0]
    assert "local: from the OS keyring" in said[2][1]
    assert KEY not in str(said)
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert agent_host(tmp_path, "auth", "remove", "local")[0] == 0
    assert "keyring" not in agent_host(tmp_path, "auth", "list")[1].split("local:")[1]
    assert agent_host(tmp_path, "auth", "remove", "local")[0] == 1


def test_the_environment_hides_a_kept_key_and_that_is_said(tmp_path: Path) -> None:
    agent_host(tmp_path, "auth", "set", "openai", given=KEY)
    listed = agent_host(tmp_path, "auth", "list", OPENAI_API_KEY="sk-else")[1]
    assert "openai: from OPENAI_API_KEY; not used: the OS keyring" in listed


@pytest.mark.parametrize(
    ("arguments", "given", "more", "told"),
    [
        (["auth", "set", "openai"], "\n", {}, "No key was given"),
        (
            ["auth", "set", "openai"],
            KEY,
            {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"},
            "Set the key in the environment",
        ),
    ],
)
def test_what_can_not_be_kept_is_told(
    tmp_path: Path, arguments: list[str], given: str, more: dict[str, str], told: str
) -> None:
    code, said = agent_host(tmp_path, *arguments, given=given, **more)
    assert (code, told in said, KEY in said) == (1, True, False), said
    assert "openai: no key" in agent_host(tmp_path, "auth", "list")[1]


def test_a_keyring_that_never_answers_is_left(tmp_path: Path) -> None:
    released = threading.Event()

    def locked() -> NoReturn:
        released.wait(60)
        raise KeyringFailed("locked")

    keychain = Keychain(tmp_path, seconds=0.1, keyring=locked)
    with pytest.raises(KeyringFailed, match="did not answer"):
        keychain.get("openai")
    released.set()
