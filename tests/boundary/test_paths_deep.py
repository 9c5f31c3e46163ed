"""Odd places in a root: the kernel's own files mounted there, paths too long to be told, links
that wait at the name of a temporary file, and more secrets than can be hidden."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_host.action_server import files, writing
from agent_host.action_server.failure import Failure
from agent_host.action_server.roots import O_FOLDER, Roots
from agent_host.actions.probe import bubblewraps
from agent_host.actions.ripgrep import find_ripgrep
from tests.boundary.action_support import action_bench

PROJECT = Path(__file__).parents[2]

INSIDE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from agent_host.action_server import files, listing, search, trash, writing
from agent_host.action_server.failure import Failure
from agent_host.action_server.ripgrep import Job
from agent_host.action_server.roots import Roots
from agent_host.action_wire import ListDirectory, Search
root, rg = sys.argv[2:]
def query(pattern, path):
    return Search(pattern, f"{root}/{path}".rstrip("/"), None, False, 99, {})
for kernel in (True, False):
    roots = Roots([root], kernel=kernel)
    assert files.read(roots, root + "/plain").data == b"Linux version plain\\n"
    for path in ("p/version", "p/1/environ", "p", "bo [u]nd/version", "s/kernel/ostype", "s"):
        for call in (
            lambda: files.read(roots, f"{root}/{path}"),
            lambda: files.inspect(roots, f"{root}/{path}"),
            lambda: writing.write(roots, f"{root}/{path}/x", b"x", None, 0o22),
            lambda: listing.list_directory(roots, ListDirectory(f"{root}/{path}", 1, 9), rg, Job()),
            lambda: search.search(roots, query("Linux", path), rg, (), Job()),
        ):
            try:
                call()
            except Failure as failure:
                # A file in the middle of a path looks like a link to the walk.
                codes = ("denied", "not_found", "not_regular", "outside")
                assert failure.code in codes, (path, failure.code)
            else:
                raise AssertionError(path)
    found = search.search(roots, query("Linux version", ""), rg, (".env",), Job())
    assert [hit.path for hit in found.hits] == [root + "/plain"], found
    names = listing.list_directory(roots, ListDirectory(root, 3, 999), rg, Job()).entries
    assert names == ("plain",), names
print("refused")
"""


def test_the_kernels_own_files_are_refused_wherever_they_are_mounted(tmp_path: Path) -> None:
    """In namespaces of its own: /proc anew, /proc and /sys bound, each in the root."""
    for name in ("p", "bo [u]nd", "s"):
        (tmp_path / name).mkdir()
    (tmp_path / "plain").write_text("Linux version plain\n")
    mounts = ("--proc", "p"), ("--ro-bind", "/proc", "bo [u]nd"), ("--ro-bind", "/sys", "s")
    words = [word for *how, name in mounts for word in (*how, str(tmp_path / name))]
    (bwrap, *_) = bubblewraps()
    done = subprocess.run(
        [
            *(bwrap, "--unshare-pid", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", *words),
            *("--", sys.executable, "-c", INSIDE, str(PROJECT), str(tmp_path)),
            str(find_ripgrep()),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("refused\n", 0), done.stderr[-3000:]


def deeper(folder: int, letter: str) -> int:
    """Directories of 3,000 bytes beneath a directory; the innermost."""
    for _ in range(15):
        os.mkdir(letter * 200, dir_fd=folder)
        folder = os.open(letter * 200, O_FOLDER, dir_fd=folder)
    return folder


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "walk"])
def test_what_is_behind_a_path_that_is_too_long_is_not_reached(
    tmp_path: Path, *, kernel: bool
) -> None:
    """Two short links lead to 6,000 bytes of directories, and there a link leads out."""
    root = tmp_path / "root"
    root.mkdir()
    top = os.open(root, O_FOLDER)
    first = deeper(top, "a")
    last = deeper(first, "b")
    os.symlink("/".join(["a" * 200] * 15), "one", dir_fd=top)
    os.symlink("/".join(["b" * 200] * 15), "two", dir_fd=first)
    os.symlink("/etc", "out", dir_fd=last)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=last))
    roots = Roots([str(root)], kernel=kernel)
    long = "/".join(["a" * 200] * 15 + ["b" * 200] * 15)
    for path in ("one/two/file", "one/two/out/passwd", f"{long}/out/passwd", f"{long}/file"):
        for call in (
            lambda place: files.read(roots, place),
            lambda place: files.inspect(roots, place),
            lambda place: writing.write(roots, place, b"x", None, 0o022),
        ):
            with pytest.raises(Failure) as failed:
                call(f"{root}/{path}")
            assert failed.value.code in ("outside", "invalid"), failed.value.reason


@pytest.mark.parametrize("waiting", ["link", "dangling", "file", "hard link", "pipe"])
def test_nothing_that_waits_at_the_name_of_a_temporary_file_is_written(
    tmp_path: Path, waiting: str
) -> None:
    """Its name can't be guessed; and if it were, what is there already is left alone."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    trap = tmp_path / "trap"
    match waiting:
        case "link":
            trap.symlink_to(victim)
        case "dangling":
            trap.symlink_to(tmp_path / "made")
        case "hard link":
            trap.hardlink_to(victim)
        case "pipe":
            os.mkfifo(trap)
        case _:
            trap.write_text("mine")
    folder = os.open(tmp_path, O_FOLDER)
    with pytest.raises(FileExistsError):
        writing._write_temporary(folder, "trap", "target", b"evil", None, 0o022)
    assert victim.read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["trap", "victim"]


async def test_where_not_all_secrets_can_be_hidden_what_reads_all_is_not_run(
    tmp_path: Path,
) -> None:
    """A command that nobody was asked about runs only if it can't see them."""
    async with action_bench(tmp_path) as bench:
        (bench.root / "keys").mkdir()
        for number in range(501):
            (bench.root / f"keys/{number}.pem").write_text("hush")
        failure = await bench.fails(
            bench.sh("cat keys/*", hide_secrets=True, reads_all=True), "denied"
        )
        assert "secret" in failure.reason
        assert "hush" in (await bench.sh("cat keys/*", reads_all=True)).output
        (bench.root / "keys/0.pem").unlink()
        ran = await bench.sh("cat keys/* 2>/dev/null", hide_secrets=True, reads_all=True)
        assert ran.output == ""
