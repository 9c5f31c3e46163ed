"""Starts real hosts for the tests and sees them end: exit code 0, no process left."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.e2e.editor import Editor
from tests.e2e.processes import descendants, wait_gone
from tests.e2e.script import Turn, write_script
from tests.e2e.vendor import Vendor

HOST = (sys.executable, "-m", "agent_host", "serve", "--stdio")


class Hosts:
    """Makes editors with a host each, all with the same workspace and the same state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "workspace"
        self.state = folder / "state"
        for path in (self.root, self.state, folder / "home"):
            path.mkdir()
        self.editors: list[Editor] = []
        self._scripts = 0

    def start(
        self,
        client: str = "vscode",
        *,
        handshake: bool = True,
        env: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
        experimental: Mapping[str, object] | None = None,
    ) -> Editor:
        """Start a host with a client of that kind; with the handshake done unless told."""
        editor = Editor(
            HOST,
            client=client,
            root=self.root,
            env=self.environment() | dict(env or {}),
            stderr=self.folder / f"stderr-{len(self.editors)}.log",
            options=options,
            experimental=experimental,
        )
        self.editors.append(editor)
        if handshake:
            editor.initialize()
        return editor

    def environment(self) -> dict[str, str]:
        """All that a host needs of the environment; no keys, and the workspace is trusted."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "AGENT_HOST_HOME": str(self.state),
            "AGENT_HOST_TRUST": "always",
            "AGENT_HOST_TITLE_MODEL": "none",
        }

    def script(self, turns: Sequence[Turn]) -> str:
        """Write a script; returns the model's name."""
        self._scripts += 1
        return write_script(self.folder / f"script-{self._scripts}.yaml", turns)

    def file(self, name: str, text: str) -> Path:
        """Write a file of the workspace, byte for byte."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def finish(self) -> None:
        """End every host that still runs, in good order, and check what it leaves."""
        try:
            for editor in self.editors:
                if editor.process.poll() is None and not editor.process.stdin.closed:
                    below = descendants(editor.process.pid)
                    assert editor.shutdown() == 0, editor.tell()
                    assert wait_gone(below, 3.0) == []
                editor.check()
        finally:
            for editor in self.editors:
                editor.close()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    yield made
    made.finish()


class Shared(Hosts):
    """One host that the tests of a module share, each with an empty workspace."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.editor = self.start()

    def tidy(self) -> None:
        """Leave nothing of one test to the next."""
        self.editor.tidy()
        for path in self.root.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


@pytest.fixture(scope="module")
def one_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    made = Shared(tmp_path_factory.mktemp("shared"))
    yield made
    made.finish()


@pytest.fixture
def shared(one_host: Shared) -> Iterator[Shared]:
    """In place of `hosts`, for tests that neither need a host's start nor what it leaves."""
    yield one_host
    one_host.tidy()


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    made = Vendor()
    yield made
    made.close()
    assert made.refused == []
