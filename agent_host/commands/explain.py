"""`agent-host explain`: how an action would be judged here, by which rule, and why."""

import argparse
import asyncio
import json
import os
from pathlib import Path

from agent_host.commands.folder import existing_folder
from agent_host.commands.terminal import screen_and_side
from agent_host.core.actions import CallExternal, EditFiles, SingleAction
from agent_host.core.errors import ActionFailed, InvalidRequest
from agent_host.core.external import ExternalTool
from agent_host.core.model import ToolCall
from agent_host.permissions.explain import explain
from agent_host.permissions.servers import PREFIX
from agent_host.tools import CATALOGUE, ToolProblem, parse


def configure(parser: argparse.ArgumentParser) -> None:
    names = ", ".join([*_names(), f"{PREFIX}SERVER/TOOL"])
    parser.add_argument("action", type=_action, metavar="ACTION", help=names)
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="a path, or a command line in quotes"
    )
    parser.add_argument("--role", help="the role that wishes it")
    parser.add_argument("--cwd", type=existing_folder, default=Path(), help="the workspace")
    parser.add_argument("--network", action="store_true", help="the command wants the network")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = (
        "Nothing is done, nobody is asked and no MCP server is started (so what was allowed for "
        "longer of its tools is told as of then). Ends with 0 whatever the decision is."
    )


def execute(options: argparse.Namespace) -> int:
    from agent_host.compose.inquiry import explained

    folder = options.cwd.resolve()
    try:
        action = _wished(options, folder)
        judged = asyncio.run(explained(action, options.role, folder))
    except ToolProblem as problem:
        raise InvalidRequest(str(problem)) from None
    except ActionFailed as failure:
        raise InvalidRequest(f"It can't be judged: {failure.reason}") from None
    screen, _ = screen_and_side(os.environ)
    decision = judged.decision
    if options.json:
        told = {
            "verdict": decision.verdict,
            "source": decision.source,
            "reason": decision.reason,
            "rule": decision.rule,
            "where": decision.where,
            "remember": list(decision.remember),
            "sandbox": judged.policy.sandbox,
            "trusted": judged.policy.trusted,
        }
        screen.write(json.dumps(told, indent=2) + "\n")
    else:
        style = {"allow": "green", "ask": "yellow", "deny": "red"}[decision.verdict]
        screen.line(explain(decision), style)
    return 0


def _names() -> list[str]:
    return sorted({tool.action for tool in CATALOGUE})


def _action(text: str) -> str:
    server, slash, tool = text.removeprefix(PREFIX).partition("/")
    if text in _names() or (text.startswith(PREFIX) and server and slash and tool):
        return text
    known = ", ".join(_names())
    raise argparse.ArgumentTypeError(
        f"there is no action {text!r}; known: {known}, {PREFIX}SERVER/TOOL"
    )


def _wished(options: argparse.Namespace, folder: Path) -> SingleAction:
    """The action. Raises ToolProblem, InvalidRequest."""
    if options.action.startswith(PREFIX):
        server, _, tool = options.action.removeprefix(PREFIX).partition("/")
        return CallExternal(ExternalTool(server, tool, tool, "", {}, "", ""), {})
    if options.target is None:
        raise InvalidRequest(f"{options.action} needs a TARGET: a path, or a command line.")
    action = parse(_call(options), str(folder))
    assert not isinstance(action, EditFiles)  # noqa: S101 - one target is one action
    return action


def _call(options: argparse.Namespace) -> ToolCall:
    """The tool call that wishes for this, with as little in it as it takes."""
    tool = next(tool for tool in CATALOGUE if tool.action == options.action)
    match tool.name:
        case "terminal_run":
            arguments: dict[str, object] = {"command": options.target, "network": options.network}
        case "fs_search":
            arguments = {"pattern": ".", "path": options.target}
        case "fs_write":
            arguments = {"path": options.target, "text": "x"}
        case _:
            arguments = {"path": options.target}
    return ToolCall("explain", tool.name, arguments)
