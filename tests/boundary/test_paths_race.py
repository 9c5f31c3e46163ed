"""Paths that try to leave the roots, and directories that are swapped while they are opened."""

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.action_server.failure import Failure
from agent_host.action_server.roots import O_FOLDER, O_PATH, Roots
from agent_host.core.actions import SearchQuery
from agent_host.core.errors import ActionFailed
from tests.boundary.action_support import Bench, action_bench

PROJECT = Path(__file__).parents[2]


@pytest.fixture
async def bench(tmp_path: Path):
    async with action_bench(tmp_path) as bench:
        root = bench.root
        evil = tmp_path / "workspace-evil"
        for folder in (evil, root / "sub", root / ".git"):
            folder.mkdir()
        (evil / "secret").write_text("hush")
        (root / "sub/f").write_text("inside")
        os.symlink("../../workspace-evil", root / "sub/out")  # noqa: PTH211
        os.symlink("/etc", root / "etc")  # noqa: PTH211
        os.symlink("/proc/self/root", root / "proc")  # noqa: PTH211
        os.symlink("/proc/self/fd", root / "fds")  # noqa: PTH211
        os.symlink("sub", root / "in")  # noqa: PTH211
        os.symlink(root / "sub", root / "absolute")  # noqa: PTH211
        os.symlink("loop", root / "loop")  # noqa: PTH211
        os.symlink("../workspace-evil/new", root / "dangling")  # noqa: PTH211
        yield bench


OUTSIDE = [
    "../workspace-evil/secret",
    "../workspace-evil/none",
    "sub/../../workspace-evil/secret",
    "sub/out/secret",
    "sub/out/none",
    "etc/passwd",
    "etc/none",
    "proc/etc/passwd",
    "fds/0",
    "loop",
    "loop/x",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_call_leaves_the_roots(bench: Bench, path: str) -> None:
    whole = f"{bench.root}/{path}"
    client = bench.client
    codes = ("outside", "invalid", "denied", "not_found")
    for call in (client.read(whole), client.list(whole), client.inspect(whole)):
        error = await bench.fails(call, "outside", "not_regular")
        assert "hush" not in error.reason
    await bench.fails(client.write(whole, b"x", expected_sha256=None), *codes)
    await bench.fails(client.create_directory(f"{whole}/d"), *codes)
    if path != "loop":
        await bench.fails(client.delete(whole, identity="1:1:1"), *codes, "stale")
    evil = bench.root.parent / "workspace-evil"
    assert [each.name for each in evil.iterdir()] == ["secret"]


async def test_a_search_follows_no_link(bench: Bench) -> None:
    for word in ("hush", "root:"):
        found = await bench.client.search(SearchQuery(word, str(bench.root)))
        assert found.matches == ()
    found = await bench.client.search(SearchQuery("inside", str(bench.root)))
    assert [hit.path for hit in found.matches] == [bench.path("sub/f")]
    for path in OUTSIDE:
        query = SearchQuery("hush", f"{bench.root}/{path}")
        await bench.fails(bench.client.search(query), "outside", "not_regular")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/", "etc/passwd", "", "~/x", "file:///etc/passwd", "/tmp"]
)
async def test_what_is_no_path_of_the_workspace(bench: Bench, path: str) -> None:
    for call in (bench.client.read(path), bench.client.inspect(path), bench.client.list(path)):
        await bench.fails(call, "outside", "invalid")


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\x7fb", "\udcff", "x" * 256, "d/" * 2100])
async def test_names_that_no_sane_file_has(bench: Bench, name: str) -> None:
    await bench.fails(bench.client.read(bench.path(name)), "invalid", "not_found")
    await bench.fails(bench.client.write(bench.path(name), b"", expected_sha256=None), "invalid")


@pytest.mark.parametrize(
    ("path", "true"),
    [
        ("sub/f", "sub/f"),
        ("sub/../sub/f", "sub/f"),
        ("sub/./f", "sub/f"),
        ("in/f", "sub/f"),
        ("absolute/f", "sub/f"),
        ("../workspace/sub/f", "sub/f"),
    ],
)
async def test_links_that_stay_inside_tell_the_true_path(
    bench: Bench, path: str, true: str
) -> None:
    whole = f"{bench.root}/{path}"
    content = await bench.client.read(whole)
    assert (content.data, content.true_path) == (b"inside", bench.path(true))
    facts = await bench.client.inspect(whole)
    assert facts.true_path == bench.path(true)
    assert facts.through_link == (path.startswith(("in/", "absolute/")))


async def test_changes_go_through_no_link_not_even_inside(bench: Bench) -> None:
    sha = (await bench.client.read(bench.path("in/f"))).sha256
    for path in ("in/f", "absolute/f"):
        await bench.fails(
            bench.client.write(bench.path(path), b"x", expected_sha256=sha), "invalid", "outside"
        )
    for path in ("in/new", "absolute/new"):
        await bench.fails(
            bench.client.write(bench.path(path), b"x", expected_sha256=None), "invalid", "outside"
        )
        await bench.fails(bench.client.create_directory(bench.path(path)), "invalid", "outside")
    await bench.fails(
        bench.client.write(bench.path("dangling"), b"x", expected_sha256=None),
        *("invalid", "outside", "exists"),
    )
    assert {each.name for each in (bench.root / "sub").iterdir()} == {"f", "out"}
    assert not (bench.root.parent / "workspace-evil/new").exists()


async def test_a_root_that_is_a_link_may_be_named_either_way(tmp_path: Path) -> None:
    async with action_bench(tmp_path) as bench:
        (bench.root / "f").write_text("x")
        link = tmp_path / "link"
        link.symlink_to(bench.root)
        await bench.client.set_roots([str(link)])
        for path in (link / "f", bench.root / "f"):
            assert (await bench.client.read(str(path))).true_path == bench.path("f")
        await bench.client.write(str(link / "new"), b"x", expected_sha256=None)


@pytest.mark.parametrize(
    "root", ["/", "/proc", "/dev", "/sys", "/proc/self", "/proc/sys", "/dev/pts"]
)
async def test_places_that_can_be_no_root(bench: Bench, root: str) -> None:
    await bench.client.set_roots([root])
    await bench.fails(bench.client.read(f"{root}/version"), "not_found", "outside")


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "walk"])
@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
async def test_both_means_of_opening_refuse_the_same(
    bench: Bench, kernel: bool, links: bool
) -> None:
    roots = Roots([str(bench.root)], kernel=kernel)
    for path in (*OUTSIDE, "dangling", "sub/out"):
        for flags in (os.O_RDONLY, O_PATH, O_FOLDER):
            with pytest.raises(Failure), roots.opened(bench.path(path), flags, links=links):
                pass
    with roots.opened(bench.path("sub/f"), os.O_RDONLY, links=links) as file:
        assert os.read(file, 9) == b"inside"
    for path in ("in/f", "absolute/f"):
        with contextlib.ExitStack() as stack:
            if not links:
                stack.enter_context(pytest.raises(Failure))
            file = stack.enter_context(roots.opened(bench.path(path), os.O_RDONLY, links=links))
            assert os.read(file, 9) == b"inside"
    os.symlink(bench.root.parent / "workspace-evil/secret", bench.root / "last")  # noqa: PTH211
    with pytest.raises(Failure), roots.regular(bench.path("last")):
        pass
    roots.close()


READER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from agent_host.action_server.roots import Roots
from agent_host.action_server import files
from agent_host.action_server.failure import Failure
roots = Roots([sys.argv[2]], kernel=sys.argv[3] == "kernel")
print("ready", flush=True)
seen = {"inside": 0, "outside": 0, "refused": 0}
end = time.monotonic() + 2.0
while time.monotonic() < end:
    try:
        data = files.read(roots, sys.argv[2] + "/door/f").data
        seen["inside" if data == b"inside" else "outside"] += 1
    except Failure:
        seen["refused"] += 1
print(seen["inside"], seen["outside"], seen["refused"])
"""


@pytest.mark.parametrize("means", ["kernel", "walk"])
def test_a_directory_that_is_swapped_with_a_link_leaks_nothing(tmp_path: Path, means: str) -> None:
    root, evil = tmp_path / "root", tmp_path / "evil"
    for folder, text in ((root / "door", "inside"), (evil, "hush")):
        folder.mkdir(parents=True)
        (folder / "f").write_text(text)
    (root / "link").symlink_to(evil)
    argv = [sys.executable, "-c", READER, str(PROJECT), str(root), means]
    reader = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "ready\n"
    swaps = swap_until(root / "door", root / "link", lambda: reader.poll() is not None)
    inside, outside, refused = map(int, reader.stdout.read().split())
    reader.stdout.close()
    assert swaps > 100
    assert (inside > 0, refused > 0) == (True, True)
    assert outside == 0


def swap_until(one: Path, other: Path, done: Callable[[], bool]) -> int:
    libc = ctypes.CDLL(None)
    names = os.fsencode(one), os.fsencode(other)
    swaps = 0
    while not done():
        for _ in range(20):
            libc.renameat2(-100, names[0], -100, names[1], 2)
            swaps += 1
    return swaps


async def test_a_write_is_never_led_outside_by_a_swap(bench: Bench) -> None:
    evil = bench.root.parent / "workspace-evil"
    (bench.root / "door").mkdir()
    (bench.root / "link").symlink_to(evil)
    over = threading.Event()
    swapper = threading.Thread(
        target=swap_until, args=(bench.root / "door", bench.root / "link", over.is_set)
    )
    swapper.start()
    try:
        end = time.monotonic() + 2.0
        number = 0
        while time.monotonic() < end:
            number += 1
            path = bench.path(f"door/new{number}")
            with contextlib.suppress(ActionFailed):
                await bench.client.write(path, b"x", expected_sha256=None)
    finally:
        over.set()
        swapper.join()
    assert [each.name for each in evil.iterdir()] == ["secret"]


async def test_the_file_worker_itself_is_confined(bench: Bench) -> None:
    """Even code that opens without our care gets nowhere: asked of a process like it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from agent_host.action_server.landlock import restrict\n"
        "assert restrict(readable=['/usr', '/lib', sys.base_prefix], writable=[sys.argv[2]],"
        " network=False)\n"
        "import socket\n"
        "def tried(what):\n"
        "    try: what()\n"
        "    except OSError as error: return error.errno\n"
        "    return 0\n"
        "print(tried(lambda: open('/etc/passwd')), tried(lambda: open(sys.argv[3] + '/secret')),"
        " tried(lambda: open(sys.argv[2] + '/ok', 'w')),"
        " tried(lambda: open('/usr/x', 'w')),"
        " tried(lambda: socket.create_connection(('127.0.0.1', 9))))\n"
    )
    evil = bench.root.parent / "workspace-evil"
    done = subprocess.run(
        [sys.executable, "-c", code, str(PROJECT), str(bench.root), str(evil)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["13", "13", "0", "13", "13"]
