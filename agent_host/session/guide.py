"""What a run is told of the instructions and skills that people have written down.

The system prompt holds the instructions from the roots down to the working directory, and the
names of skills; a skill's text and the instructions of folders below come when they are needed.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from agent_host.core.actions import (
    Action,
    EditFile,
    EditFiles,
    ListDirectory,
    ReadFile,
    RunCommand,
    UseSkill,
    WriteFile,
)
from agent_host.core.errors import ActionFailed
from agent_host.core.guidance import Guidance, GuidanceSource, Instructions, Skill
from agent_host.core.model import Role, ToolResult

MOST_INSTRUCTIONS = 96 * 1024
"""Characters of all instructions in the system prompt; the nearest go first."""
MOST_LISTED = 16 * 1024
"""Characters of names and descriptions of skills in the system prompt."""
MOST_NOTES = 20

_NO_SKILLS: Mapping[str, Skill] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Known:
    """What a run is told of from its beginning; `notes` are for people who look for a fault."""

    text: str = ""
    skills: Mapping[str, Skill] = field(default_factory=lambda: _NO_SKILLS)
    sources: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def known(guidance: Guidance, role: Role) -> Known:
    """What a run with that role is told: the end of its system prompt, and its skills."""
    notes = [problem.sentence for problem in guidance.problems[:MOST_NOTES]]
    skills = guidance.skills
    if role.knows is not None:
        missing = [name for name in role.knows if name not in skills]
        notes += [
            f"There is no skill {name}, which the role {role.name} names." for name in missing
        ]
        skills = {name: skills[name] for name in role.knows if name in skills}
    text = _listed(skills) + _instructed(guidance.instructions)
    sources = frozenset(each.source for each in guidance.instructions)
    return Known(text, skills, sources, tuple(notes))


@dataclass(frozen=True, slots=True)
class Guide:
    """Guides one run. `told` is what its session has been told of folders, to tell it once."""

    source: GuidanceSource
    known: Known
    told: set[str]

    async def use(self, action: UseSkill) -> ToolResult:
        """A skill's text, or that of a file of it. Raises ActionFailed."""
        skill = self.known.skills.get(action.name)
        if skill is None:
            names = ", ".join(sorted(self.known.skills)) or "none"
            raise ActionFailed("not_found", f"There is no skill {action.name!r}. Known: {names}.")
        if action.file is not None:
            text = await self.source.skill_file(skill, action.file)
            return ToolResult("ok", text, f"Read {action.file} of the skill {skill.name}")
        parts = [skill.body]
        if skill.omitted:
            parts.append(f"[{skill.omitted} more bytes of the skill are left out.]")
        if files := await self.source.skill_files(skill):
            parts.append(f"[Files of this skill, for the argument `file`: {', '.join(files)}]")
        return ToolResult("ok", "\n\n".join(parts), f"Loaded the skill {skill.name}")

    async def beside(self, action: Action) -> str:
        """The instructions for where an action was, that the session was not told of yet."""
        text = ""
        for path in _places(action):
            if not path.startswith("/"):
                continue
            for each in await self.source.beside(path, self.known.sources):
                if _key(each) not in self.told:
                    self.told.add(_key(each))
                    text += f"\n\n{_one(each)}"
        return text


def _places(action: Action) -> tuple[str, ...]:
    """Paths in the folders that the action was about."""
    match action:
        case ReadFile(path) | WriteFile(path) | EditFile(path):
            return (path,)
        case EditFiles(files):
            return tuple(each.path for each in files)
        case ListDirectory(path) | RunCommand(_, path):
            return (f"{path.rstrip('/')}/.",)
        case _:
            return ()


def _key(instructions: Instructions) -> str:
    digest = hashlib.sha256(instructions.text.encode("utf-8", "replace")).hexdigest()
    return f"{instructions.source}:{digest}"


def _listed(skills: Mapping[str, Skill]) -> str:
    if not skills:
        return ""
    lines: list[str] = []
    left, room = 0, MOST_LISTED
    for skill in skills.values():
        line = f"- {skill.name}: {skill.description}"
        room -= len(line)
        if room < 0:
            left += 1
        else:
            lines.append(line)
    if left:
        lines.append(f"- [{left} more skills are left out, since the list would be too long]")
    intro = "Each says how to do a kind of work. Before such work, load it by the tool skill_use."
    return f"\n# Skills\n\n{intro}\n\n" + "\n".join(lines) + "\n"


def _instructed(instructions: Sequence[Instructions]) -> str:
    if not instructions:
        return ""
    shown: list[str] = []
    room = MOST_INSTRUCTIONS
    for each in reversed(instructions):
        text = _one(each)
        room -= len(text)
        if room < 0:
            text = f"[{each.source} is left out, since all together would be too long; read it.]"
        shown.append(text)
    intro = (
        "People have written this down for agents. Where two differ, the one of the folder nearest "
        "to the file counts; what the user says counts more. None of it allows anything by itself."
    )
    return f"\n# Instructions\n\n{intro}\n\n" + "\n\n".join(reversed(shown)) + "\n"


def _one(instructions: Instructions) -> str:
    about = f"everything in {instructions.folder}" if instructions.folder else "all of your work"
    text = instructions.text
    if instructions.omitted:
        text += f"\n[{instructions.omitted} more bytes are left out; read the file for the rest.]"
    return f"[Instructions for {about}, from {instructions.source}]\n{text}\n[End of instructions]"
