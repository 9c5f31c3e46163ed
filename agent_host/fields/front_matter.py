"""A Markdown file with YAML front matter: the fields, the body, and the line each begins in.

Not here: which fields there may be.
"""

from dataclasses import dataclass

from agent_host.fields.reader import Located
from agent_host.fields.yaml_source import YamlError, read_yaml

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`body` is the text below the front matter; `body_line` counts from 1."""

    fields: Located
    body: str
    body_line: int


def read_front_matter(text: str) -> FrontMatter:
    """Split a file and read its front matter. Raises YamlError with the line in the file."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        reason = "The file must begin with a line `---`, its fields, and another line `---`."
        raise YamlError(1, reason)
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == _FENCE), None)
    if end is None:
        raise YamlError(1, "The front matter has no end: a line `---` is missing after it.")
    fields = read_yaml("\n".join(lines[1:end]), first_line=2)
    return FrontMatter(fields, "\n".join(lines[end + 1 :]).strip(), end + 2)
