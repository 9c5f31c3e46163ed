"""`agent-host run "..."`: one prompt in a folder, streamed to the terminal, questions asked there.

Ctrl-C stops the run and waits until it is gone; a second one ends at once.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

from agent_host.client import AgentHostClient, HostError, HostGone
from agent_host.commands.asking import Asking
from agent_host.commands.folder import existing_folder
from agent_host.commands.following import exit_code, follow
from agent_host.commands.terminal import Keyboard, screen_and_side
from agent_host.commands.view import View

EPILOG = """\
The answer goes to stdout, all else to stderr. With no terminal, questions are denied unless --yes
or --ask is given. At a question: y allow once, a allow for the session, n deny (`n because ...`
tells the model why), s show what it is about.
exit codes: 0 done; 1 failed; 2 wrong usage; 3 a limit ended the run; 4 the model refused;
130 stopped with Ctrl-C"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("prompt", metavar="PROMPT", help="what to do; - reads it from stdin")
    parser.add_argument("--model", help="vendor/name, such as anthropic/... or scripted/demo")
    parser.add_argument("--role", help="who does it (see `agent-host roles`)")
    parser.add_argument("--runtime", help="what runs the model (default: the role's, or sdk)")
    parser.add_argument("--session", metavar="ID", help="go on with a session")
    parser.add_argument(
        "--cwd", type=existing_folder, default=Path(), help="the workspace (default: here)"
    )
    asking = parser.add_mutually_exclusive_group()
    asking.add_argument("--yes", action="store_true", help="allow each question once")
    asking.add_argument("--ask", action="store_true", help="take answers from stdin in any case")
    parser.add_argument("--json", action="store_true", help="print deltas and result as JSON lines")
    parser.add_argument("--verbose", action="store_true", help="show reasons of decisions too")


def execute(options: argparse.Namespace) -> int:
    try:
        return asyncio.run(_run(options))
    except (HostError, HostGone) as error:
        print(f"agent-host: {error}", file=sys.stderr)
        return 1


async def _run(options: argparse.Namespace) -> int:
    answer, side = screen_and_side(os.environ)
    keyboard = Keyboard(sys.stdin)
    prompt = await _prompt(options.prompt)
    always = "allow" if options.yes else None
    asking = Asking(side, keyboard, always=always, from_pipe=options.ask)
    async with AgentHostClient.start(workspace=options.cwd, on_question=asking) as client:
        run = await client.run(
            prompt,
            model=options.model,
            role=options.role,
            runtime=options.runtime,
            session_id=options.session,
        )
        if options.json:
            result = await follow(run, lambda delta: _print({"delta": delta.raw}))
            _print({"result": result.raw})
        else:
            view = View(answer, side, verbose=options.verbose)
            result = await follow(run, view.show)
            view.end(result)
    return exit_code(result)


async def _prompt(given: str) -> str:
    return await asyncio.to_thread(sys.stdin.read) if given == "-" else given


def _print(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)
