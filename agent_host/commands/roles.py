"""`agent-host roles`: the roles that a folder has, and what is wrong with broken ones."""

import argparse
import json
import os
from pathlib import Path

from agent_host.commands.folder import existing_folder
from agent_host.commands.terminal import screen_and_side
from agent_host.core.model import Role, RoleProblem
from agent_host.doctor import look


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", type=existing_folder, default=Path(), help="the workspace")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "Ends with 1 if a role is broken. A workspace's roles count once it is trusted."


def execute(options: argparse.Namespace) -> int:
    shelf = look(options.cwd.resolve(), os.environ).shelf
    screen, _ = screen_and_side(os.environ)
    if options.json:
        found = {
            "roles": [_role(role) for role in shelf.roles.values()],
            "problems": [_problem(problem) for problem in shelf.problems],
        }
        screen.write(json.dumps(found, indent=2) + "\n")
    else:
        for role in shelf.roles.values():
            screen.line(role.name, "bold")
            screen.line(f"  {role.description}")
            screen.line(f"  may: {', '.join(sorted(role.skills)) or 'nothing'}", "dim")
            screen.line(f"  {role.source}", "dim")
        for problem in shelf.problems:
            style = "red" if problem.severity == "error" else "yellow"
            screen.line(f"{problem.source}:{problem.line}: {problem.reason}", style)
    return 1 if any(problem.severity == "error" for problem in shelf.problems) else 0


def _role(role: Role) -> dict[str, object]:
    return {
        "name": role.name,
        "description": role.description,
        "source": role.source,
        "model": role.model,
        "runtime": role.runtime,
        "skills": sorted(role.skills),
        "programs": sorted(role.programs),
        "agents": [each.role for each in role.may_call],
    }


def _problem(problem: RoleProblem) -> dict[str, object]:
    return {
        "name": problem.name,
        "source": problem.source,
        "line": problem.line,
        "reason": problem.reason,
        "severity": problem.severity,
    }
