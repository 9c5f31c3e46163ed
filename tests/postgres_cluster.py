"""A PostgreSQL server of the tests' own: a new cluster in a temporary folder, on a socket there.

It runs as an ordinary user (PostgreSQL refuses root) and dies with the tests.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY = "ready to accept connections"
USER = "postgres"


class Cluster:
    """A running server; `fresh` gives a URL with an empty place of its own."""

    def __init__(self, folder: Path) -> None:
        self.url = f"postgresql://{USER}@/postgres?host={folder}"
        self._count = 0

    def fresh(self) -> str:
        """A schema rather than a database, which takes seconds on a slow disk."""
        import psycopg

        self._count += 1
        name = f"test{self._count}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}&options=-csearch_path%3D{name}"


@contextmanager
def cluster() -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="agent-host-pg-"))
    try:
        as_user = _as_user(folder)
        data = folder / "data"
        _run([*as_user, _program("initdb"), "-D", data, "-U", USER, "-A", "trust", "-N"], folder)
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
        options += [
            "-c",
            "fsync=off",
            "-c",
            "logging_collector=off",
            "-c",
            "log_destination=stderr",
        ]
        server = subprocess.Popen(
            [*as_user, _program("postgres"), "-D", data, *options],
            cwd=folder,
            env=_environment(folder),
            stderr=subprocess.PIPE,
            text=True,
        )
        log = _Log(server)
        try:
            log.wait_until_ready()
            yield Cluster(folder)
        finally:
            # At once: nothing of it is needed any more.
            server.send_signal(signal.SIGQUIT)
            server.wait(timeout=30)
            log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Log:
    """Reads what a server says, so that it is never held up by a full pipe."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stderr is not None
        self._stream = server.stderr
        self._said: list[str] = []
        self._told = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_until_ready(self) -> None:
        self._told.wait(timeout=120)
        assert any(READY in line for line in self._said), "".join(self._said)

    def close(self) -> None:
        self._thread.join(timeout=30)
        self._stream.close()

    def _read(self) -> None:
        for line in self._stream:
            self._said.append(line)
            if READY in line:
                self._told.set()
        self._told.set()


def _as_user(folder: Path) -> list[str]:
    """What has to come before a command so that it doesn't run as root, and dies with us."""
    dying = ["setpriv", "--pdeathsig", "INT"]
    if os.geteuid() != 0:
        return dying
    user = next(
        entry for name in (USER, "nobody") for entry in pwd.getpwall() if entry.pw_name == name
    )
    os.chown(folder, user.pw_uid, user.pw_gid)
    return [*dying, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _program(name: str) -> str:
    """The newest installed; Debian keeps them outside the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=_major)
    program = str(found[-1]) if found else shutil.which(name)
    assert program, f"{name} is missing: install the package postgresql"
    return program


def _major(path: Path) -> int:
    return int(path.parent.parent.name.partition(".")[0])


def _run(command: list[object], folder: Path) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"}
