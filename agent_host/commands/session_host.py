"""What `agent-host sessions` has a host do, as an editor would: compact, fork and revert.

Not here: what needs the store alone (sessions.py).
"""

import argparse
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_host.commands.folder import existing_folder
from agent_host.commands.following import exit_code, follow
from agent_host.commands.terminal import Screen, screen_and_side

if TYPE_CHECKING:
    from agent_host.client import AgentHostClient

Work = Callable[["AgentHostClient", Screen, argparse.Namespace], Awaitable[int]]

_DONE = frozenset({"reverted", "unchanged"})


def configure(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    compacting = add_parser(
        "compact", help="have the model summarise a session, so that it takes less room"
    )
    compacting.add_argument("session", metavar="ID")
    compacting.add_argument("--focus", default="", help="what the summary must hold")
    forking = add_parser("fork", help="begin a new session as this one did")
    forking.add_argument("session", metavar="ID")
    forking.add_argument("--run", metavar="RUN", help="the last run that it holds (see `show`)")
    reverting = add_parser(
        "revert", help="take back what a run changed; the revert can be reverted by its own id"
    )
    reverting.add_argument("run", metavar="RUN", help="the run's id (see `show`)")
    reverting.add_argument("files", metavar="FILE", nargs="*", type=Path, help="only these files")
    for parser, work in ((compacting, _compact), (forking, _fork), (reverting, _revert)):
        parser.add_argument("--cwd", type=existing_folder, default=Path(), help="the workspace")
        parser.set_defaults(hosted=work)


async def execute(work: Work, options: argparse.Namespace) -> int:
    from agent_host.client import AgentHostClient, HostError, HostGone

    screen, side = screen_and_side(os.environ)
    try:
        async with AgentHostClient.start(workspace=options.cwd, on_question="deny") as client:
            return await work(client, screen, options)
    except (HostError, HostGone) as error:
        side.line(f"agent-host: {error}", "red")
        return 1


async def _compact(client: "AgentHostClient", screen: Screen, options: argparse.Namespace) -> int:
    prompt = f"/compact {options.focus}".strip()
    run = await client.run(prompt, session_id=options.session)
    result = await follow(run, lambda _: None)
    failed = str(result.error.get("error")) if result.error else ""
    screen.line(failed or result.output, "red" if failed else None)
    return exit_code(result)


async def _fork(client: "AgentHostClient", screen: Screen, options: argparse.Namespace) -> int:
    from agent_host.client.json_values import as_object

    params = {"sessionId": options.session, **({"runId": options.run} if options.run else {})}
    forked = as_object(await client.request("agent/session/fork", params))
    screen.line(f"forked as {forked['sessionId']}")
    return 0


async def _revert(client: "AgentHostClient", screen: Screen, options: argparse.Namespace) -> int:
    from agent_host.client.json_values import as_object, as_objects

    uris = [path.absolute().as_uri() for path in options.files]
    params = {"runId": options.run, **({"uris": uris} if uris else {})}
    answer = as_object(await client.request("agent/session/revert", params))
    files = as_objects(answer["files"])
    for file in files:
        why = f": {file['reason']}" if file.get("reason") else ""
        screen.line(f"{file['status']}  {file['uri']}{why}")
    if not files:
        screen.line("The run changed no files.")
        return 0
    screen.line(f"To have it again: agent-host sessions revert {answer['runId']}", "dim")
    return 0 if all(file["status"] in _DONE for file in files) else 1
