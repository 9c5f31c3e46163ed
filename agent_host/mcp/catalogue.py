"""A server's list of tools as tools for models: names, texts and schemas made harmless. Pure.

What can't be offered is left out with a note that says why. Colliding names are told apart by a
part of their digest, so that which is which does not depend on the order.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from agent_host.core.external import ExternalTool, ServerConfig, digest_of
from agent_host.core.model import JsonObject
from agent_host.mcp.transport import as_list, as_object

MAX_TOOLS = 100
MAX_SCHEMA = 32 * 1024
MAX_DESCRIPTION = 4000
MAX_NAME = 64
"""Characters of a name that every vendor takes."""

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not", "$schema")
"""What vendors refuse at the top of a schema; the server checks its arguments in any case."""


def tools_of(
    listed: Iterable[object], config: ServerConfig
) -> tuple[tuple[ExternalTool, ...], tuple[str, ...]]:
    """The tools that can be offered, and notes about the others."""
    tools: dict[str, ExternalTool] = {}
    notes: list[str] = []
    for each in listed:
        found = as_object(each)
        name = found.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            shown = cleaned(str(name), 80).replace("\n", " ")
            notes.append(f"a tool is left out whose name can't be used: {shown!r}")
        elif name in tools:
            notes.append(f"the tool {name} is listed twice; the first one counts")
        elif len(tools) == MAX_TOOLS:
            notes.append(f"it has more than {MAX_TOOLS} tools; {name} and others are left out")
            break
        elif (schema := _schema(found.get("inputSchema"))) is None:
            notes.append(f"the tool {name} is left out: its inputSchema is too large or no object")
        else:
            tools[name] = _tool(name, found, schema, config)
    return tuple(tools.values()), tuple(notes)


def told_apart(tools: Sequence[ExternalTool]) -> tuple[ExternalTool, ...]:
    """The tools of all servers; those that models would know by one name get other ones."""
    count = Counter(tool.shown_as for tool in tools)
    return tuple(
        tool if count[tool.shown_as] == 1 else replace(tool, shown_as=_longer(tool))
        for tool in tools
    )


def cleaned(text: str, most: int) -> str:
    """Text without what people can't see; cut, which is said, if it is too long."""
    kept = "".join(char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C")
    if len(kept) <= most:
        return kept
    return f"{kept[:most]} [{len(kept) - most} more characters are left out]"


def _tool(name: str, found: JsonObject, schema: JsonObject, config: ServerConfig) -> ExternalTool:
    description = found.get("description")
    said = cleaned(description if isinstance(description, str) else "", MAX_DESCRIPTION)
    return ExternalTool(
        config.name,
        name,
        _short(f"{config.name}__{_NOT_IN_NAMES.sub('_', name)}"),
        said or f"The tool {name} of the MCP server {config.name}.",
        schema,
        digest_of([config.digest, name, description, found.get("inputSchema")]),
        config.how,
    )


def _short(name: str) -> str:
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}_{digest_of(name)[:8]}"


def _longer(tool: ExternalTool) -> str:
    return f"{tool.shown_as[: MAX_NAME - 9]}_{digest_of([tool.server, tool.name])[:8]}"


def _schema(given: object) -> JsonObject | None:
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return None
    whole = cast("JsonObject", given)
    if not _fits(whole):
        return None
    schema = {key: value for key, value in whole.items() if key not in _NOT_AT_THE_TOP}
    properties, required = as_object(schema.get("properties")), as_list(schema.get("required"))
    return {
        **schema,
        "type": "object",
        "properties": properties,
        "required": [name for name in required if name in properties],
    }


def _fits(schema: JsonObject) -> bool:
    try:
        return len(json.dumps(schema)) <= MAX_SCHEMA
    except (ValueError, RecursionError):
        return False
