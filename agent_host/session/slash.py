"""Prompts that begin with `/name`: a prompt file with its arguments, or a command of the host."""

import re
import shlex
from dataclasses import dataclass

from agent_host.core.errors import InvalidRequest
from agent_host.core.guidance import Guidance, PromptFile
from agent_host.core.model import PromptPart, TextPart

_SLASH = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_-]{0,63})(?:\s+(.*))?", re.DOTALL)
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])")


COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Slash:
    """What was written: the name behind the slash and the rest."""

    name: str
    arguments: str


def slash_of(prompt: tuple[PromptPart, ...]) -> Slash | None:
    """The name and arguments that a prompt begins with; None if it begins with neither."""
    first = prompt[0] if prompt else None
    found = _SLASH.fullmatch(first.text.strip()) if isinstance(first, TextPart) else None
    return Slash(found[1], found[2] or "") if found else None


def compact_focus(prompt: tuple[PromptPart, ...]) -> str | None:
    """What a summary must hold, if the prompt wants the session compacted; else None."""
    slash = slash_of(prompt)
    return slash.arguments if slash is not None and slash.name == COMPACT else None


def expanded(
    prompt: tuple[PromptPart, ...], guidance: Guidance
) -> tuple[tuple[PromptPart, ...], str | None]:
    """The prompt with a prompt file in place of its name, and a note for the log.

    A name that nobody knows may be the beginning of a path: it is left as it is. Raises
    InvalidRequest for a prompt file that is broken.
    """
    slash = slash_of(prompt)
    if slash is None or slash.name == COMPACT:
        return prompt, None
    file = guidance.prompts.get(slash.name)
    if file is None:
        _refuse_broken(slash, guidance)
        return prompt, f"There is no prompt file `{slash.name}`: the prompt is given as written."
    text = TextPart(_filled(file, slash.arguments))
    return (text, *prompt[1:]), f"The prompt is {file.source}."


def _refuse_broken(slash: Slash, guidance: Guidance) -> None:
    for problem in guidance.problems:
        if problem.kind == "prompt" and problem.name == slash.name:
            raise InvalidRequest(
                f"The prompt `/{slash.name}` can't be used: {problem.sentence}", field="prompt"
            )


def _filled(file: PromptFile, arguments: str) -> str:
    if not _PLACE.search(file.body):
        return f"{file.body}\n\n{arguments}" if arguments else file.body
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()

    def value(found: re.Match[str]) -> str:
        if found[1] == "ARGUMENTS":
            return arguments
        number = int(found[1])
        return words[number - 1] if number <= len(words) else ""

    return _PLACE.sub(value, file.body)
