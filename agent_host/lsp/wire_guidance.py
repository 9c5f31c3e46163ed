"""Instructions, skills and prompt files as they are on the wire."""

from typing import Literal

from agent_host.lsp.wire_base import Told


class InstructionsWire(Told):
    """An AGENTS.md; no `folder`: it is the user's own. `omitted` bytes of it are not used."""

    source: str
    folder: str | None = None
    omitted: int | None = None


class SkillWire(Told):
    name: str
    description: str
    source: str


class PromptFileWire(Told):
    """A prompt that is used as `/name arguments`; no `source`: the program's own."""

    name: str
    description: str
    argument_hint: str | None = None
    source: str | None = None


class GuidanceProblemWire(Told):
    """`line` counts from 1; severity error: it is not used."""

    kind: Literal["instructions", "skill", "prompt"]
    name: str
    source: str
    line: int
    reason: str
    severity: Literal["error", "warning"]


class GuidanceAnswer(Told):
    instructions: list[InstructionsWire]
    skills: list[SkillWire]
    problems: list[GuidanceProblemWire]


class PromptsAnswer(Told):
    prompts: list[PromptFileWire]
    problems: list[GuidanceProblemWire]
