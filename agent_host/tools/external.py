"""Tools of MCP servers as a model sees them, and its wish for one."""

from agent_host.core.actions import CallExternal
from agent_host.core.external import ExternalTool
from agent_host.core.model import ToolCall, ToolSpec
from agent_host.tools.arguments import ToolProblem


def external_spec(tool: ExternalTool) -> ToolSpec:
    """The tool as a model sees it."""
    return ToolSpec(tool.shown_as, tool.description, tool.parameters)


def external_wish(tool: ExternalTool, call: ToolCall) -> CallExternal:
    """What the model wishes; its server checks the arguments. Raises ToolProblem."""
    if call.problem is not None:
        raise ToolProblem(f"The arguments of {call.name} can't be read: {call.problem}")
    return CallExternal(tool, call.arguments)
