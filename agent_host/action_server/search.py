"""Searching by ripgrep, over the disk with the editor's unsaved text in its place.

Secret-looking files are never shown, whether they match or not, and named apart.
"""

import json
import os
import stat
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from agent_host.action_server.failure import Failure
from agent_host.action_server.names import is_secret, matches_glob
from agent_host.action_server.ripgrep import Job, Ripgrep, leaving_out
from agent_host.action_server.roots import O_PATH, Roots, true_name
from agent_host.action_wire import Found, Hit, Search

_SECONDS = 10.0
_KEPT = 5000
_TEXT = 500
_SECRETS_NAMED = 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(slots=True)
class _Hits:
    """Matches of every source; more than _KEPT are only counted."""

    secret: Sequence[str]
    kept: list[Hit] = field(default_factory=list[Hit])
    total: int = 0

    def add(self, path: str, line: int, text: str) -> None:
        if is_secret(path, self.secret):
            return
        self.total += 1
        if len(self.kept) < _KEPT:
            cut = text.rstrip("\r\n")
            shown = cut if len(cut) <= _TEXT else f"{cut[:_TEXT]} ... ({len(cut)} characters)"
            self.kept.append(Hit(path, line, shown))


def search(roots: Roots, query: Search, rg: str | None, secret: Sequence[str], job: Job) -> Found:
    """Matching lines, sorted by path and line. Raises Failure for a bad pattern or no answer."""
    program = Ripgrep(rg, job, time.monotonic() + _SECONDS)
    hits = _Hits(secret)
    with roots.opened(query.path, O_PATH) as looked:
        true, mode = true_name(looked, query.path), os.fstat(looked).st_mode
    overlay = _true_overlay(roots, query.overlay)
    if stat.S_ISDIR(mode):
        with roots.opened(query.path, _FOLDER) as folder:
            out = leaving_out(roots.of_the_kernel(true))
            _search_folder(program, query, folder, true, overlay, hits, out)
            skipped = _secrets(program, folder, secret, out)
    else:
        skipped = (true.rpartition("/")[2],) if is_secret(true, secret) else ()
        if not skipped:
            _search_file(roots, program, query, true, overlay, hits)
    if program.timed_out and not hits.kept:
        raise Failure("timeout", "nothing was found within 10 seconds; search a smaller place")
    hits.kept.sort(key=lambda hit: (hit.path, hit.line))
    shown = tuple(hits.kept[: query.limit])
    omitted = max(hits.total - len(shown), int(program.timed_out))
    return Found(shown, omitted, skipped)


def _search_folder(
    program: Ripgrep,
    query: Search,
    folder: int,
    true: str,
    overlay: Mapping[str, str],
    hits: _Hits,
    out: Sequence[str],
) -> None:
    arguments = [*out, *_pattern_arguments(query), "."]
    for path, line, text in _matches(program, arguments, folder, None):
        whole = f"{true}/{path.removeprefix('./')}"
        if whole not in overlay:
            hits.add(whole, line, text)
    for path, text in overlay.items():
        relative = path.removeprefix(true + "/")
        inside = relative != path and ".git" not in relative.split("/")
        if inside and (query.glob is None or matches_glob(relative, query.glob)):
            _search_text(program, query, folder, path, text, hits)


def _search_file(
    roots: Roots,
    program: Ripgrep,
    query: Search,
    true: str,
    overlay: Mapping[str, str],
    hits: _Hits,
) -> None:
    with roots.opened(true.rpartition("/")[0], _FOLDER) as folder:
        if true in overlay:
            _search_text(program, query, folder, true, overlay[true], hits)
            return
        with roots.regular(true) as file:
            arguments = [*_pattern_arguments(query, named=False), "-"]
            for _, line, text in _matches(program, arguments, folder, file):
                hits.add(true, line, text)


def _search_text(
    program: Ripgrep, query: Search, folder: int, path: str, text: str, hits: _Hits
) -> None:
    with tempfile_of(text.encode("utf-8", "replace")) as file:
        arguments = [*_pattern_arguments(query, named=False), "-"]
        for _, line, found in _matches(program, arguments, folder, file):
            hits.add(path, line, found)


def _pattern_arguments(query: Search, *, named: bool = True) -> list[str]:
    out = ["--json", "--max-filesize=10M", "--max-count=1000"]
    if query.ignore_case:
        out.append("--ignore-case")
    if named and query.glob:
        # A --glob that includes would overrule .gitignore; a type doesn't.
        if "/" in query.glob or query.glob.startswith("!"):
            out.append(f"--glob={query.glob}")
        else:
            out += [f"--type-add=wanted:{query.glob}", "--type=wanted"]
    return [*out, "--glob=!.git", "--", query.pattern]


def _matches(
    program: Ripgrep, arguments: Sequence[str], folder: int, stdin: int | None
) -> Iterator[tuple[str, int, str]]:
    found = False
    for line in program.lines(arguments, folder, stdin):
        event = cast("dict[str, object]", json.loads(line))
        if event["type"] == "match":
            found = True
            data = cast("dict[str, object]", event["data"])
            number = data["line_number"]
            yield (
                _text_of(data["path"]),
                number if isinstance(number, int) else 0,
                _text_of(data["lines"]),
            )
    if not found and program.complaint:
        raise Failure("invalid", f"ripgrep says: {program.complaint.strip()[:1000]}")


def _text_of(value: object) -> str:
    # {"text": ...}, or {"bytes": base64} for what is no UTF-8.
    mapping = cast("dict[str, str]", value)
    if "text" in mapping:
        return mapping["text"]
    import base64

    return base64.b64decode(mapping["bytes"]).decode("utf-8", "replace")


def _secrets(
    program: Ripgrep, folder: int, secret: Sequence[str], out: Sequence[str]
) -> tuple[str, ...]:
    wanted = [f"--iglob={_anywhere(each)}" for each in secret if not each.startswith("!")]
    if not wanted:
        return ()
    names: list[str] = []
    for line in program.lines(["--files", *wanted, "--glob=!.git", *out, "--", "."], folder):
        name = line.decode("utf-8", "replace").removeprefix("./")
        if is_secret(name, secret):
            names.append(name)
    return tuple(sorted(names)[:_SECRETS_NAMED])


def _anywhere(pattern: str) -> str:
    return f"**/{pattern}" if "/" in pattern else pattern


def _true_overlay(roots: Roots, overlay: Mapping[str, str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for path, text in overlay.items():
        try:
            with roots.opened(path, O_PATH) as looked:
                out[true_name(looked, path)] = text
        except Failure as failure:
            if failure.code == "not_found":
                place = roots.place(path)
                out[os.path.normpath(f"{place.root.true}/{place.relative}")] = text
    return out


@contextmanager
def tempfile_of(data: bytes) -> Generator[int]:
    """A nameless file that holds `data`, open at its beginning."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("text")
        try:
            os.write(descriptor, data)
            os.lseek(descriptor, 0, os.SEEK_SET)
            yield descriptor
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            yield file.fileno()
