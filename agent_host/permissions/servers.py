"""How rules name the tools of MCP servers, and which of them name what there is not. Pure.

A tool's action is `mcp:<server>/<tool>`; each part of a rule's may be a glob. A rule that speaks of
nothing protects nobody, so it is told.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from agent_host.core.permission import Rule

PREFIX = "mcp:"
_FORM = "the tools of MCP servers are called `mcp:<server>/<tool>`, such as `mcp:docs/*`"


def whole(action: str) -> str:
    """The action glob with what may be left out: `mcp` is every tool, `mcp:docs` all of one."""
    if action in ("mcp", "mcp:"):
        return "mcp:*"
    if action.startswith(PREFIX) and "/" not in action and action != "mcp:*":
        return f"{action}/*"
    return action


def wrong_form(action: str) -> str | None:
    """Why an action glob that begins with `mcp` can't match any tool; None if it can."""
    if not action.startswith("mcp") or action.startswith(PREFIX) or action == "mcp*":
        return None
    return f"there is no action `{action}`: {_FORM}"


def unknown_names(
    rules: Iterable[Rule], tools: Mapping[str, Collection[str] | None]
) -> Iterator[tuple[Rule, str]]:
    """The rules that name a server or a tool that there is not, each with what is wrong.

    `tools` has the tools of each server by its name; None: they are not known yet.
    """
    known = ", ".join(sorted(tools)) or "none"
    for rule in rules:
        server, slash, tool = rule.action.removeprefix(PREFIX).partition("/")
        if not rule.action.startswith(PREFIX) or not slash:
            continue
        named = [name for name in tools if fnmatchcase(name, server)]
        if not named:
            yield rule, f"there is no MCP server `{server}` (known: {known})"
        elif all(_lacks(tools[name], tool) for name in named):
            yield rule, f"the MCP server `{', '.join(named)}` has no tool `{tool}`"


def _lacks(tools: Collection[str] | None, glob: str) -> bool:
    return tools is not None and not any(fnmatchcase(name, glob) for name in tools)
