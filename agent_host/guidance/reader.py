"""Finds guidance: the user's own in the configuration folder, and what trusted workspaces bring.

What can't be used is listed with its reason, never dropped silently; what a workspace brings that
is not trusted is listed only. Files are looked at anew for each run, and parsed when they changed.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from agent_host.core.errors import ActionFailed
from agent_host.core.guidance import (
    Guidance,
    GuidanceKind,
    GuidanceProblem,
    Instructions,
    PromptFile,
    Skill,
)
from agent_host.guidance.files import FileText, MayRead, Unreadable, read_text
from agent_host.guidance.parsing import parse_prompt, parse_skill

INSTRUCTIONS = "AGENTS.md"
SKILL = "SKILL.md"
WORKSPACE_FOLDERS = (".agents", ".agent-host")
"""Where a workspace keeps skills and prompts; the later one replaces the earlier one's."""

MAX_INSTRUCTIONS = 32 * 1024
MAX_FILE = 128 * 1024
"""Bytes of a skill or a prompt file."""
MAX_FILES = 200
"""So many skills, or prompt files, of one folder are read."""
MOST_SEEN, MOST_NAMED = 1000, 50
"""How many entries of a skill's folder are looked at, and how many are named."""

_Parsed = tuple[str, Skill | PromptFile | None, tuple[GuidanceProblem, ...]]
_Made = TypeVar("_Made", Skill, PromptFile)


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace root, or (root None) the user's configuration folder; `folders` hold guidance."""

    root: str | None
    folders: tuple[Path, ...]
    trusted: bool
    may_read: MayRead


@dataclass(slots=True)
class _Found:
    """What has been found so far; later things replace earlier ones of their name."""

    instructions: list[Instructions] = field(default_factory=list[Instructions])
    usable: dict[tuple[GuidanceKind, str], Skill | PromptFile] = field(
        default_factory=dict[tuple[GuidanceKind, str], Skill | PromptFile]
    )
    problems: dict[tuple[GuidanceKind, str], list[GuidanceProblem]] = field(
        default_factory=dict[tuple[GuidanceKind, str], list[GuidanceProblem]]
    )

    def add(self, kind: GuidanceKind, parsed: _Parsed) -> None:
        name, made, problems = parsed
        self.usable.pop((kind, name), None)
        self.problems[kind, name] = list(problems)
        if made is not None:
            self.usable[kind, name] = made

    def note(self, problem: GuidanceProblem) -> None:
        self.problems.setdefault((problem.kind, problem.name), []).append(problem)


class GuidanceReader:
    """See GuidanceSource. `places` are told anew each time, the user's own first."""

    def __init__(self, places: Callable[[], Sequence[Place]]) -> None:
        self._places = places
        self._parsed: dict[tuple[GuidanceKind, str], tuple[str, _Parsed]] = {}

    async def read(self, cwd: str) -> Guidance:
        """What holds for a run in that folder."""
        return await asyncio.to_thread(self.read_now, cwd)

    async def beside(self, path: str, known: Collection[str]) -> tuple[Instructions, ...]:
        """The AGENTS.md of the folders above a path, nearest last, but for `known` sources."""
        return await asyncio.to_thread(self._beside, path, known)

    async def skill_file(self, skill: Skill, name: str) -> str:
        """The text of a file in a skill's folder. Raises ActionFailed."""
        return await asyncio.to_thread(self._skill_file, skill, name)

    async def skill_files(self, skill: Skill) -> tuple[str, ...]:
        """The names of the other files in a skill's folder."""
        return await asyncio.to_thread(_files_beside, Path(skill.source))

    def read_now(self, cwd: str) -> Guidance:
        """As `read`, for who has no event loop."""
        cwd = os.path.realpath(cwd)
        found = _Found()
        for place in self._places():
            into = found if place.trusted else _Found()
            for path in _instruction_files(place, cwd):
                self._add_instructions(into, place, path)
            for folder in place.folders:
                self._add_folder(into, folder, place.may_read)
            if not place.trusted:
                _list_unused(found, into)
        return _guidance(found)

    # ---- instructions

    def _add_instructions(self, found: _Found, place: Place, path: Path) -> None:
        try:
            text = read_text(path, MAX_INSTRUCTIONS, place.may_read)
        except Unreadable as error:
            found.note(_problem("instructions", path.name, path, error))
            return
        if text is not None and text.text.strip():
            found.instructions.append(_instructions(place, path, text))

    def _beside(self, path: str, known: Collection[str]) -> tuple[Instructions, ...]:
        real = os.path.realpath(path)
        found = _Found()
        for place in self._places():
            if place.root is None or not place.trusted:
                continue
            for file in _chain(place.root, real):
                if str(file) not in known:
                    self._add_instructions(found, place, file)
        return tuple(found.instructions)

    # ---- skills and prompt files

    def _add_folder(self, found: _Found, folder: Path, may_read: MayRead) -> None:
        skills = ("skill", _entries(folder / "skills", lambda name: f"{name}/{SKILL}"))
        prompts = ("prompt", _entries(folder / "prompts", _markdown))
        kinds: tuple[tuple[GuidanceKind, list[Path]], ...] = (skills, prompts)
        for kind, paths in kinds:
            for path in paths[:MAX_FILES]:
                parsed = self._file(kind, path, may_read)
                if parsed is not None:
                    found.add(kind, parsed)
            if len(paths) > MAX_FILES:
                reason = f"Only {MAX_FILES} of {len(paths)} are read; remove some."
                found.note(_problem(kind, f"{kind}s", folder / f"{kind}s", Unreadable(reason)))

    def _file(self, kind: GuidanceKind, path: Path, may_read: MayRead) -> _Parsed | None:
        name = path.parent.name if kind == "skill" else path.stem
        try:
            text = read_text(path, MAX_FILE, may_read)
        except Unreadable as error:
            return name, None, (_problem(kind, name, path, error),)
        if text is None:
            return None
        if text.omitted and kind == "prompt":
            too_large = Unreadable(f"It is larger than {MAX_FILE // 1024} KiB.")
            return name, None, (_problem(kind, name, path, too_large),)
        parsed = self._parse(kind, str(path), text.text)
        if text.omitted and isinstance(parsed[1], Skill):
            return parsed[0], replace(parsed[1], omitted=text.omitted), parsed[2]
        return parsed

    def _parse(self, kind: GuidanceKind, source: str, text: str) -> _Parsed:
        known = self._parsed.get((kind, source))
        if known is not None and known[0] == text:
            return known[1]
        parsed = parse_skill(source, text) if kind == "skill" else parse_prompt(source, text)
        self._parsed[kind, source] = (text, parsed)
        return parsed

    def _skill_file(self, skill: Skill, name: str) -> str:
        folder = Path(os.path.realpath(Path(skill.source).parent))
        path = Path(os.path.realpath(folder / name))
        if not path.is_relative_to(folder):
            raise ActionFailed("outside", f"{name} is not in the folder of the skill {skill.name}.")
        place = next((p for p in self._places() if _holds(p, skill.source)), None)
        if place is None or not place.trusted:
            raise ActionFailed("denied", "The workspace of this skill is not trusted any more.")
        try:
            text = read_text(path, MAX_FILE, place.may_read)
        except Unreadable as error:
            raise ActionFailed("denied", error.reason) from error
        if text is None:
            raise ActionFailed("not_found", f"The skill {skill.name} has no file {name}.")
        left = f"\n[{text.omitted} more bytes are left out.]" if text.omitted else ""
        return text.text + left


# ---- where files are


def kind_of(path: str, folders: Iterable[Path]) -> GuidanceKind | None:
    """What kind of guidance a file is by its place in one of these folders; None if none."""
    file = Path(path)
    for folder in map(Path, map(os.path.realpath, folders)):
        if file.name == SKILL and file.parent.parent == folder / "skills":
            return "skill"
        if file.suffix == ".md" and file.parent == folder / "prompts":
            return "prompt"
    return None


def brought(root: str) -> tuple[str, ...]:
    """What a workspace has for agents, as paths relative to it."""
    found = [Path(root, INSTRUCTIONS)] if Path(root, INSTRUCTIONS).is_file() else []
    for name in WORKSPACE_FOLDERS:
        found += _entries(Path(root, name, "skills"), lambda skill: f"{skill}/{SKILL}")
        found += _entries(Path(root, name, "prompts"), _markdown)
    return tuple(str(path.relative_to(root)) for path in found)


def _holds(place: Place, source: str) -> bool:
    return any(Path(source).is_relative_to(folder) for folder in place.folders)


def _instruction_files(place: Place, cwd: str) -> Iterator[Path]:
    if place.root is None:
        yield from (folder / INSTRUCTIONS for folder in place.folders)
    else:
        yield from dict.fromkeys(
            (Path(place.root, INSTRUCTIONS), *_chain(place.root, os.path.join(cwd, INSTRUCTIONS)))  # noqa: PTH118
        )


def _chain(root: str, path: str) -> list[Path]:
    """The AGENTS.md of each folder from the root down to the one of a file; none if outside."""
    try:
        below = Path(path).relative_to(root).parts[:-1]
    except ValueError:
        return []
    folders = [Path(root, *below[:depth]) for depth in range(len(below) + 1)]
    return [folder / INSTRUCTIONS for folder in folders]


def _markdown(name: str) -> str | None:
    return name if name.endswith(".md") else None


def _entries(folder: Path, file: Callable[[str], str | None]) -> list[Path]:
    """The files that the entries of a folder stand for, in the order of their names."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
    wanted = (file(name) for name in names if not name.startswith("."))
    return [folder / name for name in wanted if name is not None and (folder / name).exists()]


def _files_beside(source: Path) -> tuple[str, ...]:
    folder = source.parent
    seen = islice(folder.rglob("*"), MOST_SEEN)
    found = sorted(str(path.relative_to(folder)) for path in seen if path.is_file())
    return tuple(name for name in found if name != SKILL)[:MOST_NAMED]


# ---- what is made of them


def _instructions(place: Place, path: Path, text: FileText) -> Instructions:
    folder = None if place.root is None else str(path.parent)
    return Instructions(str(path), folder, text.text.strip(), text.omitted)


def _problem(kind: GuidanceKind, name: str, path: Path, error: Unreadable) -> GuidanceProblem:
    return GuidanceProblem(kind, name, str(path), error.line, error.reason)


def _list_unused(found: _Found, unused: _Found) -> None:
    why = "The workspace is not trusted yet, so it is not used."
    for each in unused.instructions:
        name = Path(each.source).name
        found.note(GuidanceProblem("instructions", name, each.source, 1, why, "warning"))
    for (kind, name), made in unused.usable.items():
        found.note(GuidanceProblem(kind, name, made.source, 1, why, "warning"))
    for problem in (problem for each in unused.problems.values() for problem in each):
        found.note(problem)


def _guidance(found: _Found) -> Guidance:
    return Guidance(
        instructions=tuple(found.instructions),
        skills=_of(Skill, found),
        prompts=_of(PromptFile, found),
        problems=tuple(
            problem for key in sorted(found.problems) for problem in found.problems[key]
        ),
    )


def _of(kind: type[_Made], found: _Found) -> MappingProxyType[str, _Made]:
    made = {each.name: each for each in found.usable.values() if isinstance(each, kind)}
    return MappingProxyType(dict(sorted(made.items())))
