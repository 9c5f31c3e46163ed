"""File actions through the real action server: what they do, refuse and keep."""

# ruff: noqa: PTH101, PTH115, PTH116, PTH120, PTH208, PTH211

import asyncio
import hashlib
import os
import stat
from pathlib import Path

import pytest

from agent_host.core.actions import SearchQuery
from tests.boundary.action_support import Bench, action_bench


@pytest.fixture
async def bench(tmp_path: Path):
    async with action_bench(tmp_path) as bench:
        yield bench


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_facts_of_every_kind_of_thing(bench: Bench) -> None:
    root = bench.root
    (root / "file").write_bytes(b"abc")
    os.link(root / "file", root / "other-name")
    (root / "folder/below").mkdir(parents=True)
    (root / "folder/one").touch()
    os.symlink("file", root / "link")
    os.symlink("nowhere", root / "dangling")
    os.mkfifo(root / "pipe")
    os.mknod(root / "socket", stat.S_IFSOCK | 0o600)
    inspect = bench.client.inspect

    file = await inspect(bench.path("file"))
    assert (file.kind, file.size, file.sha256, file.links) == ("file", 3, sha(b"abc"), 2)
    link = await inspect(bench.path("link"))
    assert (link.kind, link.true_path, link.through_link) == ("file", bench.path("file"), True)
    assert link.identity != file.identity
    folder = await inspect(bench.path("folder"))
    assert (folder.kind, folder.count, folder.first_names) == ("directory", 2, ("below/", "one"))
    missing = await inspect(bench.path("new/deep/file"))
    assert (missing.kind, missing.true_path) == ("missing", bench.path("new/deep/file"))
    for name in ("pipe", "socket"):
        assert (await inspect(bench.path(name))).kind == "other"
    assert (await inspect(bench.path("dangling"))).kind == "other"
    await bench.fails(inspect(bench.path("file/below")), "not_found")


async def test_reading_takes_regular_files_up_to_ten_mebibytes(bench: Bench) -> None:
    (bench.root / "most").write_bytes(b"x" * 10 * 1024 * 1024)
    (bench.root / "more").write_bytes(b"x" * (10 * 1024 * 1024 + 1))
    os.truncate(bench.root / "more", 2**40)
    os.mkfifo(bench.root / "pipe")
    os.mknod(bench.root / "socket", stat.S_IFSOCK | 0o600)
    os.symlink("/dev/zero", bench.root / "zero")
    read = bench.client.read

    assert (await read(bench.path("most"))).size == 10 * 1024 * 1024
    await bench.fails(read(bench.path("more")), "too_large")
    for name in ("pipe", "socket"):
        await bench.fails(read(bench.path(name)), "not_regular")
    await bench.fails(read(bench.path("zero")), "outside")
    await bench.fails(read(str(bench.root)), "not_regular")
    await bench.fails(read(bench.path("none")), "not_found")
    facts = await bench.client.inspect(bench.path("more"))
    assert (facts.size, facts.sha256) == (2**40, None)


async def test_a_write_is_checked_against_what_was_shown(bench: Bench) -> None:
    write, path = bench.client.write, bench.path("made/for/it.txt")
    first = await write(path, b"one\r\n", expected_sha256=None)
    assert first == sha(b"one\r\n")
    await bench.fails(write(path, b"two", expected_sha256=None), "exists")
    await bench.fails(write(path, b"two", expected_sha256=sha(b"else")), "stale")
    await bench.fails(write(bench.path("none"), b"", expected_sha256=first), "stale")
    os.chmod(path, 0o751)
    await write(path, b"two", expected_sha256=first)
    assert Path(path).read_bytes() == b"two"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o751
    assert os.listdir(os.path.dirname(path)) == ["it.txt"]


async def test_of_many_writers_of_one_version_exactly_one_wins(bench: Bench) -> None:
    path = bench.path("file")
    first = await bench.client.write(path, b"start", expected_sha256=None)
    results = await asyncio.gather(
        *(
            bench.client.write(path, str(number).encode(), expected_sha256=first)
            for number in range(20)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(each, str) for each in results) == 1


async def test_a_write_replaces_one_name_of_a_hard_link_and_no_link(bench: Bench) -> None:
    outside = bench.root.parent / "outside"
    outside.write_bytes(b"kept")
    os.link(outside, bench.root / "hard")
    os.symlink(outside, bench.root / "soft")
    os.symlink(bench.root.parent / "made", bench.root / "dangling")
    write = bench.client.write

    await write(bench.path("hard"), b"new", expected_sha256=sha(b"kept"))
    await bench.fails(
        write(bench.path("soft"), b"new", expected_sha256=sha(b"kept")), "invalid", "outside"
    )
    await bench.fails(write(bench.path("dangling"), b"new", expected_sha256=None), "invalid")
    assert outside.read_bytes() == b"kept"
    assert not (bench.root.parent / "made").exists()


@pytest.mark.parametrize("name", ["a\u202eb", "a\u200b", "end.", "end ", "~home", "x" * 256])
async def test_names_that_deceive_are_not_made(bench: Bench, name: str) -> None:
    await bench.fails(bench.client.write(bench.path(name), b"", expected_sha256=None), "invalid")
    await bench.fails(bench.client.create_directory(bench.path(name)), "invalid")
    assert os.listdir(bench.root) == []


async def test_directories_are_made_once_and_never_over_files(bench: Bench) -> None:
    (bench.root / "file").touch()
    await bench.client.create_directory(bench.path("a/b/c"))
    await bench.client.create_directory(bench.path("a/b/c"))
    assert (bench.root / "a/b/c").is_dir()
    await bench.fails(bench.client.create_directory(bench.path("file")), "exists", "not_found")
    await bench.fails(bench.client.create_directory(bench.path("file/x")), "exists", "not_found")


@pytest.mark.parametrize("trash", ["same device", "other device"])
async def test_what_is_deleted_comes_back_as_it_was(tmp_path: Path, trash: str) -> None:
    state = tmp_path if trash == "same device" else Path("/dev/shm") / f"agent-{os.getpid()}"
    state.mkdir(exist_ok=True)
    if trash == "other device":
        assert state.stat().st_dev != tmp_path.stat().st_dev
    workspace = tmp_path / "at"
    workspace.mkdir()
    async with action_bench(workspace, state) as bench:
        root = bench.root
        (root / "folder/sub").mkdir(parents=True)
        (root / "folder/run.sh").write_bytes(b"#!/bin/sh\n")
        os.chmod(root / "folder/run.sh", 0o754)
        os.symlink("run.sh", root / "folder/link")
        before = (root / "folder/run.sh").stat()
        identity = (await bench.client.inspect(bench.path("folder"))).identity or ""

        trash_id = await bench.client.delete(bench.path("folder"), identity=identity)
        assert os.listdir(root) == []
        await bench.client.restore(trash_id)

        after = (root / "folder/run.sh").stat()
        assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
        assert os.readlink(root / "folder/link") == "run.sh"
        assert (root / "folder/sub").is_dir()
        assert os.listdir(state / "trash") == []
        await bench.fails(bench.client.restore(trash_id), "not_found")
    if trash == "other device":
        (state / "trash").rmdir()
        (state / "scratch").rmdir()
        state.rmdir()


async def test_a_restore_puts_nothing_over_something_else(bench: Bench) -> None:
    path = bench.root / "file"
    path.write_text("old")
    identity = (await bench.client.inspect(str(path))).identity or ""
    trash_id = await bench.client.delete(str(path), identity=identity)
    path.write_text("new")
    await bench.fails(bench.client.restore(trash_id), "exists")
    path.unlink()
    await bench.client.restore(trash_id)
    assert path.read_text() == "old"
    for wrong in ("", "../workspace", "0" * 32, trash_id):
        await bench.fails(bench.client.restore(wrong), "invalid", "not_found")


async def test_delete_takes_exactly_what_was_looked_at(bench: Bench) -> None:
    path = bench.root / "file"
    path.write_text("old")
    identity = (await bench.client.inspect(str(path))).identity or ""
    path.unlink()
    path.write_text("another")
    await bench.fails(bench.client.delete(str(path), identity=identity), "stale")
    os.symlink("file", bench.root / "link")
    identity = (await bench.client.inspect(bench.path("link"))).identity or ""
    await bench.client.delete(bench.path("link"), identity=identity)
    assert os.listdir(bench.root) == ["file"]


async def test_no_root_can_be_deleted(tmp_path: Path) -> None:
    async with action_bench(tmp_path) as bench:
        inner = bench.root / "between/inner"
        inner.mkdir(parents=True)
        await bench.client.set_roots([str(bench.root), str(inner)])
        for path in (bench.root, inner, bench.root / "between", bench.root / "between/.."):
            facts = await bench.client.inspect(str(path))
            await bench.fails(
                bench.client.delete(str(path), identity=facts.identity or ""), "denied", "invalid"
            )
        assert inner.is_dir()


async def test_a_listing_leaves_out_git_and_what_is_ignored(bench: Bench) -> None:
    root = bench.root
    for name in (".git/objects/x", "src/a/b/deep.py", "node_modules/m/index.js", "build/out"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "empty").mkdir()
    (root / ".gitignore").write_text("node_modules/\nbuild/\n*.log\n")
    (root / "x.log").touch()
    os.symlink("src", root / "link")
    listing = await bench.client.list(str(root), depth=2)
    assert listing.entries == (".gitignore", "empty/", "link", "src/", "src/a/")
    short = await bench.client.list(str(root), depth=9, limit=2)
    assert (len(short.entries), short.omitted) == (2, 5)


async def test_search_sees_the_editors_text_in_place_of_the_disk(bench: Bench) -> None:
    root = bench.root
    (root / "open.py").write_text("needle on disk\n")
    (root / "closed.py").write_text("x\nneedle in closed\n")
    (root / "ignored.py").write_text("needle\n")
    (root / ".gitignore").write_text("ignored.py\n")
    os.symlink("closed.py", root / "link.py")
    overlay = {bench.path("open.py"): "a\nb\nneedle unsaved\n", bench.path("new.py"): "needle\n"}
    found = await bench.client.search(SearchQuery("needle", str(root), overlay=overlay))
    assert [(Path(hit.path).name, hit.line, hit.text) for hit in found.matches] == [
        ("closed.py", 2, "needle in closed"),
        ("new.py", 1, "needle"),
        ("open.py", 3, "needle unsaved"),
    ]
    one = await bench.client.search(SearchQuery("NEEDLE", bench.path("open.py"), ignore_case=True))
    assert [hit.text for hit in one.matches] == ["needle on disk"]
    text = await bench.client.search(SearchQuery("needle", bench.path("open.py"), overlay=overlay))
    assert [hit.line for hit in text.matches] == [3]


async def test_search_never_looks_into_secrets_and_names_them(bench: Bench) -> None:
    names = (".env", ".ENV.local", ".env.example", "id_rsa", "id_rsa.pub", "a.PEM", "credentials")
    for name in names:
        (bench.root / name).write_text("needle\n")
    os.symlink(".env", bench.root / "innocent")
    overlay = {bench.path(".env"): "needle\n"}
    found = await bench.client.search(SearchQuery("needle", str(bench.root), overlay=overlay))
    assert [Path(hit.path).name for hit in found.matches] == [".env.example", "id_rsa.pub"]
    assert found.skipped_secret == (".ENV.local", ".env", "a.PEM", "credentials", "id_rsa")
    for name in (".env", "innocent"):
        found = await bench.client.search(SearchQuery("needle", bench.path(name)))
        assert (found.matches, found.skipped_secret) == ((), (".env",))


async def test_search_is_capped_and_says_so(bench: Bench) -> None:
    (bench.root / "many").write_text("needle\n" * 500)
    (bench.root / "wide").write_text("needle" + "x" * 100_000)
    found = await bench.client.search(SearchQuery("needle", str(bench.root), limit=10))
    assert (len(found.matches), found.omitted) == (10, 491)
    wide = await bench.client.search(SearchQuery("needle", bench.path("wide")))
    assert len(wide.matches[0].text) < 600
    error = await bench.fails(bench.client.search(SearchQuery("(", str(bench.root))), "invalid")
    assert "regex" in error.reason


@pytest.mark.parametrize("pattern", ["--pre=sh", "-f/etc/passwd", "--files"])
async def test_a_pattern_is_never_an_option(bench: Bench, pattern: str) -> None:
    (bench.root / "file").write_text(f"x {pattern} y\n")
    found = await bench.client.search(SearchQuery(pattern, str(bench.root)))
    assert [hit.text for hit in found.matches] == [f"x {pattern} y"]


async def test_no_pattern_takes_longer_than_its_text(bench: Bench) -> None:
    text = "a" * 100_000 + "b\n"
    (bench.root / "disk").write_text(text)
    (bench.root / "open").write_text("")
    overlay = {bench.path("open"): text}
    found = await bench.client.search(SearchQuery("(a+)+$", str(bench.root), overlay=overlay))
    assert (found.matches, found.omitted) == ((), 0)


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("*.py", ["a.py", "sub/b.py"]),
        ("sub/*", ["sub/b.py", "sub/c.txt"]),
        ("**/c.*", ["sub/c.txt"]),
        ("*.{txt,md}", ["sub/c.txt"]),
        ("!*.py", [".gitignore", "sub/c.txt"]),
    ],
)
@pytest.mark.parametrize("where", ["disk", "overlay"])
async def test_a_glob_means_the_same_for_disk_and_overlay(
    bench: Bench, glob: str, names: list[str], where: str
) -> None:
    (bench.root / "sub").mkdir()
    texts = dict.fromkeys(("a.py", "sub/b.py", "sub/c.txt", ".gitignore"), "needle\n")
    (bench.root / "ignored.py").write_text("needle\n")
    for name, text in texts.items():
        (bench.root / name).write_text(text if where == "disk" else "ignored.py\n")
    if where == "disk":
        (bench.root / ".gitignore").write_text("ignored.py\nneedle\n")
    else:
        (bench.root / "ignored.py").unlink()
    overlay = {bench.path(name): texts[name] for name in texts if where != "disk"}
    found = await bench.client.search(
        SearchQuery("needle", str(bench.root), glob=glob, overlay=overlay)
    )
    assert [str(Path(hit.path).relative_to(bench.root)) for hit in found.matches] == names


async def test_several_roots_and_one_that_is_gone(tmp_path: Path) -> None:
    async with action_bench(tmp_path) as bench:
        other = tmp_path / "other"
        other.mkdir()
        (other / "file").write_text("there")
        os.symlink(other / "file", bench.root / "across")
        await bench.fails(bench.client.read(str(other / "file")), "outside")
        await bench.client.set_roots([str(bench.root), str(other), str(tmp_path / "gone")])
        assert (await bench.client.read(str(other / "file"))).data == b"there"
        across = await bench.client.read(bench.path("across"))
        assert across.true_path == str(other / "file")
        await bench.fails(bench.client.read(str(tmp_path / "gone/x")), "not_found")
        await bench.client.set_roots([str(bench.root)])
        await bench.fails(bench.client.read(bench.path("across")), "outside")


async def test_a_move_goes_to_a_free_name_in_one_step(bench: Bench) -> None:
    root, client = bench.root, bench.client
    (root / "a").write_bytes(b"a")
    (root / "taken").write_bytes(b"taken")
    (root / "folder/deep").mkdir(parents=True)
    (root / "folder/deep/x").write_bytes(b"x")
    os.symlink("taken", root / "link")

    async def move(path: str, to: str, identity: str | None = None) -> None:
        known = identity or (await client.inspect(bench.path(path))).identity or ""
        await client.move(bench.path(path), bench.path(to), identity=known)

    await bench.fails(move("a", "taken"), "exists")
    await bench.fails(move("a", "b", "1:2:3"), "stale")
    await bench.fails(move("a", "../outside"), "outside")
    await bench.fails(move("a", "b "), "invalid")
    await bench.fails(move("folder", "folder/deep/itself"), "invalid")
    await bench.fails(move("a", "link/x"), "invalid")
    await move("a", "new/place/b")
    await move("folder", "new/folder")
    await move("link", "new/link")
    assert (root / "new/place/b").read_bytes() == b"a"
    assert (root / "new/folder/deep/x").read_bytes() == b"x"
    assert os.readlink(root / "new/link") == "taken"
    assert (root / "taken").read_bytes() == b"taken"
    assert sorted(os.listdir(root)) == ["new", "taken"]


async def test_a_read_only_file_stays_as_it_is(bench: Bench) -> None:
    (bench.root / "locked").write_bytes(b"old")
    os.chmod(bench.root / "locked", 0o444)
    write = bench.client.write(bench.path("locked"), b"new", expected_sha256=sha(b"old"))
    failure = await bench.fails(write, "denied")
    assert "read-only" in failure.reason
    assert (bench.root / "locked").read_bytes() == b"old"
    assert os.listdir(bench.root) == ["locked"]
