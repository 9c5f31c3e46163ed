"""For every test: no network but loopback, no keys in the environment, an own home."""

import ipaddress
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

SCRUBBED = ("_API_KEY", "_BASE_URL", "_AUTH_TOKEN", "_PROXY", "_proxy")
HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.endswith(SCRUBBED)]:
        del os.environ[name]
    home = Path(tempfile.mkdtemp(prefix="agent-host-tests-"))
    config.stash[HOME] = home
    os.environ["HOME"] = str(home)
    os.environ["AGENT_HOST_HOME"] = str(home / "state")
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    sys.addaudithook(_loopback_only)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that no worker begins one when the others are done."""
    items.sort(key=_time_limit, reverse=True)


def _time_limit(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return marker.args[0] if marker else 0.0


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[HOME], ignore_errors=True)


def _loopback_only(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and not _is_loopback(str(address[0])):
        raise PermissionError(f"tests reach nothing but loopback, not {address!r}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
