"""The catalogue of tools: what the model is shown, and how its wish becomes an Action.

The schemas are closed: an argument that is not listed is an error, so that nothing a model adds
can change how it is judged. Not here: whether it may be done (permissions), how (session).
"""

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from agent_host.core.actions import (
    Action,
    CallAgent,
    CallExternal,
    CreateDirectory,
    DeletePath,
    EditFile,
    EditFiles,
    ListDirectory,
    MovePath,
    OpenInEditor,
    ReadDiagnostics,
    ReadFile,
    RunCommand,
    SearchFiles,
    UseSkill,
    WriteFile,
)
from agent_host.core.external import ExternalTool
from agent_host.core.model import ToolCall, ToolSpec
from agent_host.tools.arguments import Arguments, ToolProblem
from agent_host.tools.catalogue import CALL, CATALOGUE, DIAGNOSTICS
from agent_host.tools.external import external_spec, external_wish
from agent_host.tools.tool import Tool

__all__ = [
    "CATALOGUE",
    "DIAGNOSTICS",
    "Tool",
    "ToolProblem",
    "external_spec",
    "find",
    "parse",
    "specs",
    "title",
]


def specs(
    actions: Iterable[str], agents: Mapping[str, str] = MappingProxyType({})
) -> tuple[ToolSpec, ...]:
    """The tools for these actions, in the catalogue's order; `agents` says what each is for."""
    wanted = frozenset(actions)
    plain = tuple(tool.spec for tool in CATALOGUE if tool.action in wanted and tool is not CALL)
    return (*plain, _call_spec(agents)) if agents and CALL.action in wanted else plain


def find(name: str) -> Tool | None:
    """The tool of that name."""
    return next((tool for tool in CATALOGUE if tool.name == name), None)


def parse(
    call: ToolCall, cwd: str, external: Mapping[str, ExternalTool] = MappingProxyType({})
) -> Action:
    """What the model wishes to be done; relative paths start at `cwd`. Raises ToolProblem.

    `external` has the tools of MCP servers by the names that the model knows.
    """
    if call.name in external:
        return external_wish(external[call.name], call)
    tool = find(call.name)
    if tool is None:
        known = ", ".join((*(tool.name for tool in CATALOGUE), *external))
        raise ToolProblem(f"There is no tool {call.name!r}. The tools are: {known}.")
    if call.problem is not None:
        raise ToolProblem(f"The arguments of {call.name} can't be read: {call.problem}")
    unknown = sorted(set(call.arguments) - set(tool.properties))
    if unknown:
        allowed = ", ".join(tool.properties)
        raise ToolProblem(f"{call.name} has no argument {unknown[0]!r}. It takes: {allowed}.")
    for name in tool.required:
        if name not in call.arguments:
            raise ToolProblem(f"{call.name} needs the argument {name!r}.")
    return tool.build(Arguments(call, cwd))


def title(action: Action) -> str:  # noqa: C901, PLR0911, PLR0912 - one line for each action
    """One line for people that says what is wished; made of the model's words as they are."""
    match action:
        case ReadFile(path):
            return f"Read {path}"
        case ListDirectory(path):
            return f"List {path}"
        case SearchFiles(pattern, path):
            return f"Search {pattern!r} in {path}"
        case WriteFile(path):
            return f"Write {path}"
        case EditFile(path):
            return f"Edit {path}"
        case EditFiles(files):
            return f"Edit {len(files)} files: {', '.join(each.path for each in files)}"
        case CreateDirectory(path):
            return f"Create the directory {path}"
        case DeletePath(path):
            return f"Delete {path}"
        case MovePath(path, to):
            return f"Move {path} to {to}"
        case RunCommand(command):
            return f"Run {command}"
        case ReadDiagnostics(path):
            return f"Read the diagnostics of {path}"
        case OpenInEditor(path):
            return f"Open {path}"
        case UseSkill(name, file):
            return f"Use the skill {name}" + (f": {file}" if file else "")
        case CallAgent(role, prompt):
            return f"Ask {role}: {prompt}"
        case CallExternal(tool, arguments):
            return f"Use {tool.title} with {json.dumps(arguments, ensure_ascii=False, default=str)}"


def _call_spec(agents: Mapping[str, str]) -> ToolSpec:
    """The tool with the agents that may be called by this role."""
    listed = "".join(f"\n- {name}: {purpose}" for name, purpose in agents.items())
    role = {"type": "string", "enum": list(agents), "description": f"Which agent.{listed}"}
    spec = CALL.spec
    properties = {**CALL.properties, "role": role}
    return ToolSpec(spec.name, spec.description, {**spec.parameters, "properties": properties})
