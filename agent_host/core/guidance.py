"""What people have written down for agents: instructions, skills and prompt files, as frozen data.

Paths are absolute strings. Not here: where such files are looked for and how they are read
(agent_host/guidance), what a run makes of them (session/guide.py).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol

GuidanceKind = Literal["instructions", "skill", "prompt"]


@dataclass(frozen=True, slots=True)
class Instructions:
    """An AGENTS.md. `folder` is what it is about, None: everything that the user does.

    `omitted` counts bytes at the end of the file that are not in `text`.
    """

    source: str
    folder: str | None
    text: str
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Skill:
    """A SKILL.md; `body` is what is loaded when it is used, `omitted` bytes are left out of it."""

    name: str
    description: str
    source: str
    body: str
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt that is used as `/name arguments`."""

    name: str
    description: str
    source: str
    body: str
    argument_hint: str = ""


@dataclass(frozen=True, slots=True)
class GuidanceProblem:
    """Why a file can't be used, or what is odd in it; `line` counts from 1."""

    kind: GuidanceKind
    name: str
    source: str
    line: int
    reason: str
    severity: Literal["error", "warning"] = "error"

    @property
    def sentence(self) -> str:
        """The problem with its place."""
        return f"{self.source}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Guidance:
    """All that can be used; `instructions` come with the farthest first, the nearest last."""

    instructions: tuple[Instructions, ...] = ()
    skills: Mapping[str, Skill] = field(default_factory=lambda: MappingProxyType[str, Skill]({}))
    prompts: Mapping[str, PromptFile] = field(
        default_factory=lambda: MappingProxyType[str, PromptFile]({})
    )
    problems: tuple[GuidanceProblem, ...] = ()


class GuidanceSource(Protocol):
    """Where guidance comes from; everything is as it is on disk now."""

    async def read(self, cwd: str) -> Guidance:
        """What holds for a run in that folder."""
        ...

    async def beside(self, path: str, known: Collection[str]) -> tuple[Instructions, ...]:
        """The AGENTS.md of the folders above a path, nearest last, but for `known` sources."""
        ...

    async def skill_file(self, skill: Skill, name: str) -> str:
        """The text of a file in a skill's folder. Raises ActionFailed."""
        ...

    async def skill_files(self, skill: Skill) -> tuple[str, ...]:
        """The names of the other files in a skill's folder."""
        ...
