"""`agent-host doctor`: what is set up, what is missing, and what to do about it."""

import argparse
import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from agent_host.actions.sandbox import Sandbox
from agent_host.commands.folder import existing_folder
from agent_host.commands.terminal import screen_and_side
from agent_host.core.external import ServerStatus
from agent_host.core.model import ModelInfo
from agent_host.doctor import LocalServer, Report, examine, names
from agent_host.lsp.host import WorkspaceStatus

_NO_SERVER = "none answers on the usual ports; set LOCAL_BASE_URL for another address"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", type=existing_folder, default=Path(), help="the workspace")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "Ends with 1 if something is wrong (a missing key is not). Shows no key."


def execute(options: argparse.Namespace) -> int:
    report = asyncio.run(examine(options.cwd.resolve(), os.environ))
    screen, _ = screen_and_side(os.environ)
    if options.json:
        screen.write(json.dumps(_as_json(report), indent=2) + "\n")
    else:
        for title, lines in _sections(report).items():
            screen.line(title, "bold")
            for line in lines:
                screen.line(f"  {line}")
    return 1 if report.problems else 0


def _sections(report: Report) -> Mapping[str, list[str]]:
    situation = report.situation
    roles = situation.shelf.roles.values()
    return {
        "Workspace": [line for folder in situation.folders for line in _folder(folder)],
        "Model": [report.model or f"none: {report.model_problem}"],
        "Keys and addresses": [_credential(each) for each in _as_json_keys(report)],
        "Local servers": [_server(server) for server in report.servers] or [_NO_SERVER],
        "MCP servers": [_mcp(each) for each in report.mcp] or ["none is configured"],
        "Roles": [f"{role.name}: {role.description} ({role.source})" for role in roles],
        "Sandbox for commands": [_sandbox(report.sandbox)],
        "Runtimes": [_runtime(each) for each in situation.agents],
        "Programs": _programs(report),
        "Sessions": [report.store, *filter(None, [report.store_problem])],
        "Directories": [
            f"settings: {situation.dirs.config_file}",
            f"your roles: {situation.dirs.roles}",
            f"state: {situation.dirs.state}",
            f"cache: {situation.dirs.cache}",
        ],
        "Versions": [f"{name} {found or 'missing'}" for name, found in report.versions.items()],
        "Problems": list(report.problems) or ["none"],
    }


def _folder(folder: WorkspaceStatus) -> list[str]:
    if folder.trusted:
        return [f"{folder.path}: trusted"]
    told = [f"{folder.path}: not trusted, so agents only read in it"]
    if folder.ignored:
        told.append(f"not used until `agent-host trust --add {folder.path}`:")
    return [*told, *(f"  {name}" for name in folder.ignored)]


def _mcp(server: ServerStatus) -> str:
    said = f": {names(server.tools)}" if server.tools else ""
    why = f": {server.reason}" if server.reason else ""
    remedy = f" (to mend it: {server.remedy})" if server.remedy else ""
    return f"{server.name} ({server.how}) {server.state}{said}{why}{remedy}"


def _sandbox(sandbox: Sandbox) -> str:
    program = f" ({sandbox.program})" if sandbox.program else ""
    return f"{sandbox.kind}{program}" + (f": {sandbox.why}" if sandbox.why else "")


def _runtime(found: ModelInfo) -> str:
    return f"{found.name}: {found.source or found.reason}"


def _programs(report: Report) -> list[str]:
    found = [f"{name}: {path}" for name, path in report.programs.items() if path]
    missing = [name for name, path in report.programs.items() if path is None]
    if missing:
        found.append(f"not found: {', '.join(missing)} (searched {report.search_path})")
    return found


def _server(server: LocalServer) -> str:
    models = names(server.models) or "no models"
    return f"{server.name}: {models} (to use it: LOCAL_BASE_URL={server.base_url})"


def _credential(each: dict[str, object]) -> str:
    if not each["usable"]:
        return f"{each['vendor']}: not set up. {each['missing']}"
    where = f" ({each['baseUrl']})" if each["baseUrl"] else ""
    unused = cast("tuple[str, ...]", each["unused"])
    also = f"; not used: {', '.join(unused)}" if unused else ""
    return f"{each['vendor']}: from {each['source']}{where}{also}"


def _as_json_keys(report: Report) -> list[dict[str, object]]:
    return [
        {
            "vendor": each.vendor.name,
            "usable": each.usable,
            "source": each.source,
            "unused": each.unused,
            "baseUrl": each.shown_url,
            "missing": each.missing,
        }
        for each in report.situation.credentials.all
    ]


def _as_json(report: Report) -> dict[str, object]:
    situation = report.situation
    dirs = situation.dirs
    return {
        "workspaces": [
            {"path": each.path, "trusted": each.trusted, "ignored": list(each.ignored)}
            for each in situation.folders
        ],
        "model": report.model,
        "modelProblem": report.model_problem,
        "keys": _as_json_keys(report),
        "localServers": [
            {"name": each.name, "baseUrl": each.base_url, "models": list(each.models)}
            for each in report.servers
        ],
        "roles": [
            {"name": role.name, "source": role.source} for role in situation.shelf.roles.values()
        ],
        "mcpServers": [
            {
                "name": each.name,
                "state": each.state,
                "where": each.where,
                "tools": list(each.tools),
                "reason": each.reason,
                "remedy": each.remedy,
            }
            for each in report.mcp
        ],
        "sandbox": report.sandbox.kind,
        "sandboxProblem": report.sandbox.why or None,
        "sessions": report.store,
        "sessionsProblem": report.store_problem,
        "programs": dict(report.programs),
        "searchPath": report.search_path,
        "directories": {
            "config": str(dirs.config),
            "state": str(dirs.state),
            "cache": str(dirs.cache),
        },
        "versions": dict(report.versions),
        "problems": list(report.problems),
    }
