"""YAML text to values that know their line, by the safe loader.

Fails closed: anything unclear (twice the same key, a key that is no text, a loop) is an error with
its line. Not here: what the keys mean (fields.py and its users).
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import cast

import yaml

from agent_host.fields.reader import Located

MAX_CHARACTERS = 1_000_000
_MAX_VALUES = 50_000


class YamlError(Exception):
    """The text is no YAML that can be used; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def read_yaml(text: str, first_line: int = 1) -> Located:
    """Read one YAML document; `first_line` is the line of the file that `text` begins in.

    Raises YamlError.
    """
    if len(text) > MAX_CHARACTERS:
        raise YamlError(first_line, f"The YAML is longer than {MAX_CHARACTERS} characters.")
    loader = yaml.SafeLoader("")
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return Located(first_line)
        return _Reader(loader, first_line).value(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(first_line + (mark.line if mark else 0), _sentence(error)) from error
    except yaml.reader.ReaderError as error:
        line = first_line + text.count("\n", 0, error.position)
        raise YamlError(line, "A character here is not allowed in YAML.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(first_line, f"The YAML can't be read: {error}.") from error
    except RecursionError as error:
        raise YamlError(first_line, "The YAML is nested too deeply.") from error
    finally:
        loader.dispose()


class _Reader:
    """Turns nodes into values; counts them, so that aliases can't blow a small text up."""

    def __init__(self, loader: yaml.SafeLoader, first_line: int) -> None:
        self._loader = loader
        self._construct = cast("Callable[[yaml.Node], object]", loader.construct_object)  # pyright: ignore[reportUnknownMemberType] (untyped there)
        self._first_line = first_line
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: yaml.Node) -> Located:
        self._count += 1
        line = self._first_line + node.start_mark.line
        if id(node) in self._open or self._count > _MAX_VALUES:
            raise YamlError(line, "An alias (`*name`) here makes the YAML endless or too large.")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return Located(line, fields=MappingProxyType(self._fields(node)))
            if isinstance(node, yaml.SequenceNode):
                items = cast("list[yaml.Node]", node.value)
                return Located(line, items=tuple(self.value(item) for item in items))
            return Located(line, self._construct(node))
        finally:
            self._open.discard(id(node))

    def _fields(self, node: yaml.MappingNode) -> dict[str, Located]:
        self._check_keys(node)
        self._loader.flatten_mapping(node)  # resolves `<<: *base`
        pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
        fields: dict[str, Located] = {}
        for key_node, value_node in pairs:
            line = self._first_line + key_node.start_mark.line
            value = self.value(value_node)
            # The key's line is where a person looks for a field.
            fields[str(key_node.value)] = Located(line, value.value, value.items, value.fields)
        return fields

    def _check_keys(self, node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key_node, _ in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            line = self._first_line + key_node.start_mark.line
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            if key_node.tag != "tag:yaml.org,2002:str":
                raise YamlError(line, "A key here is not text; put it in quotes.")
            key = str(key_node.value)
            if key in seen:
                raise YamlError(line, f"The key `{key}` is there twice.")
            seen.add(key)


def _sentence(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "it can't be read"
    if "mapping values are not allowed" in problem:
        return "Not valid YAML: put a value that holds `: ` in quotes."
    if "cannot start any token" in problem and "\\t" in problem:
        return "Not valid YAML: indent with spaces, not tabs."
    return f"Not valid YAML: {problem}."
