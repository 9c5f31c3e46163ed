"""Skills and prompt files from their text: front matter, and below it what the model is given.

A file with an error is not used; keys that other programs know are odd at most. Nothing in such a
file gives a right to anything.
"""

import re
from dataclasses import replace
from pathlib import Path

from agent_host.core.guidance import GuidanceKind, GuidanceProblem, PromptFile, Skill
from agent_host.fields.front_matter import FrontMatter, read_front_matter
from agent_host.fields.reader import Fields, Problem
from agent_host.fields.yaml_source import YamlError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_DESCRIPTION = 1024
RESERVED = ("compact",)
"""Names of prompts that the host itself understands."""

_OTHERS = ("license", "compatibility", "metadata", "allowed-tools", "version")
_NAME_LINE = re.compile(r"^name:[ \t]*[\"']?([A-Za-z0-9][A-Za-z0-9_-]*)", re.MULTILINE)


def parse_skill(source: str, text: str) -> tuple[str, Skill | None, tuple[GuidanceProblem, ...]]:
    """Its name, the skill unless it is broken, and what is wrong."""
    folder = Path(source).parent.name
    matter = _front_matter("skill", source, text, folder)
    if isinstance(matter, GuidanceProblem):
        return matter.name, None, (matter,)
    found: list[Problem] = []
    fields = Fields(matter.fields, found)
    name = _name(fields, folder)
    description = _description(fields)
    if description is None and not found:
        fields.report("description", "is missing: say when the skill is to be used.")
    if not matter.body:
        found.append(Problem("", matter.body_line, "The skill is empty: write it below."))
    for key in _OTHERS:
        fields.get(key)
    problems = _problems("skill", name, source, _with_odd_keys(fields, found))
    if any(problem.severity == "error" for problem in problems):
        return name, None, problems
    return name, Skill(name, description or "", source, matter.body), problems


def parse_prompt(
    source: str, text: str
) -> tuple[str, PromptFile | None, tuple[GuidanceProblem, ...]]:
    """Its name, the prompt file unless it is broken, and what is wrong."""
    stem = Path(source).stem
    matter = _front_matter("prompt", source, text, stem)
    if isinstance(matter, GuidanceProblem):
        return matter.name, None, (matter,)
    found: list[Problem] = []
    fields = Fields(matter.fields, found)
    name = _name(fields, stem)
    if name in RESERVED:
        found.append(Problem("", 1, f"`/{name}` is a command of the program itself."))
    description = _description(fields) or matter.body.partition("\n")[0][:MAX_DESCRIPTION]
    argument_hint = fields.text("argumentHint") or fields.text("argument-hint") or ""
    if not matter.body:
        found.append(Problem("", matter.body_line, "The prompt is empty: write it below."))
    problems = _problems("prompt", name, source, _with_odd_keys(fields, found))
    if any(problem.severity == "error" for problem in problems):
        return name, None, problems
    return name, PromptFile(name, description, source, matter.body, argument_hint), problems


def _front_matter(
    kind: GuidanceKind, source: str, text: str, fallback: str
) -> FrontMatter | GuidanceProblem:
    try:
        return read_front_matter(text)
    except YamlError as error:
        guess = _NAME_LINE.search(text)  # so that it is missed under the name people use
        name = guess.group(1) if guess else fallback
        return GuidanceProblem(kind, name, source, error.line, error.reason)


def _name(fields: Fields, fallback: str) -> str:
    name = fields.text("name") or fallback
    if not NAME.fullmatch(name):
        fields.report("name", "must be letters, digits, `-` and `_` only, 64 at most.")
        return fallback
    return name


def _description(fields: Fields) -> str | None:
    description = fields.text("description")
    if description is not None and len(description) > MAX_DESCRIPTION:
        return fields.report("description", f"is longer than {MAX_DESCRIPTION} characters.")
    return None if description is None else " ".join(description.split())


def _with_odd_keys(fields: Fields, found: list[Problem]) -> list[Problem]:
    known = len(found)
    fields.finish()
    return [*found[:known], *(replace(odd, warning=True) for odd in found[known:])]


def _problems(
    kind: GuidanceKind, name: str, source: str, found: list[Problem]
) -> tuple[GuidanceProblem, ...]:
    return tuple(
        GuidanceProblem(
            kind,
            name,
            source,
            problem.line or 1,
            f"`{problem.name}` {problem.reason}" if problem.name else problem.reason,
            "warning" if problem.warning else "error",
        )
        for problem in found
    )
