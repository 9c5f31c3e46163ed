"""`agent-host demo`: the whole main job on a small project in a temporary folder, as an editor.

It opens a file with an unsaved change, lets the agent read, edit and test, and says what happened.
By default the model is a script that needs no key. Nothing outside the folder is touched.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent_host.client import AgentHostClient, HostError, HostGone, RunResult
from agent_host.commands.asking import Asking
from agent_host.commands.following import exit_code, follow
from agent_host.commands.terminal import Keyboard, Screen
from agent_host.commands.view import View

SCRIPTED = "scripted/demo"
PROMPT = "The test of greeting.py fails. Mend greet() and run the test."

ON_DISK = '''\
"""Greets people."""


def greet(name: str) -> str:
    return "Hi " + name
'''
IN_EDITOR = ON_DISK.replace('"Hi "', '"Helo, "')
TEST = """\
import unittest

from greeting import greet


class GreetingTest(unittest.TestCase):
    def test_greets_by_name(self) -> None:
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo found afterwards."""

    result: RunResult
    in_editor: str
    on_disk: str


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="allow each question once")
    parser.add_argument("--model", default=SCRIPTED, help=f"vendor/name (default: {SCRIPTED})")
    parser.add_argument("--verbose", action="store_true", help="show reasons of decisions too")
    parser.epilog = "With no terminal, questions are denied unless --yes is given."


def execute(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="agent-host-demo-") as folder:
        try:
            return asyncio.run(_demo(options, Path(folder).resolve()))
        except (HostError, HostGone) as error:
            print(f"agent-host: {error}", file=sys.stderr)
            return 1


async def _demo(options: argparse.Namespace, folder: Path) -> int:
    screen = Screen.of(sys.stdout, os.environ)
    project = _make_project(folder)
    screen.line("A small project, open in an editor. greeting.py has a change that is not saved:")
    screen.line('  on disk      return "Hi " + name')
    screen.line('  in editor    return "Helo, " + name')
    screen.line(f"You ask: {PROMPT}", "bold")
    asking = Asking(screen, Keyboard(sys.stdin), always="allow" if options.yes else None)
    async with AgentHostClient.start(
        workspace=project,
        env={**os.environ, "AGENT_HOST_HOME": str(folder / "home")},
        initialization_options={"trust": "always"},
        on_question=asking,
    ) as client:
        uri = client.open_document(project / "greeting.py", IN_EDITOR, "python")
        run = await client.run(PROMPT, model=options.model, role="coder")
        view = View(screen, screen, verbose=options.verbose)
        result = await follow(run, view.show)
        view.end(result)
        outcome = Outcome(result, client.documents[uri].text, _read(project / "greeting.py"))
    _tell(screen, outcome, scripted=options.model == SCRIPTED)
    return exit_code(result)


def _make_project(folder: Path) -> Path:
    project = folder / "greetings"
    project.mkdir()
    (project / "greeting.py").write_text(ON_DISK)
    (project / "test_greeting.py").write_text(TEST)
    return project


def _read(path: Path) -> str:
    return path.read_text()


def _tell(screen: Screen, outcome: Outcome, *, scripted: bool) -> None:
    screen.line()
    screen.line("What happened", "bold")
    if outcome.in_editor == IN_EDITOR:
        screen.line("  Nothing was changed: what you deny is not done.")
    else:
        screen.line(f"  The editor's text was changed to: {_greeting(outcome.in_editor)}")
        if outcome.on_disk == ON_DISK:
            screen.line("  The file on disk is as it was: saving is yours. One undo takes it back.")
        else:
            screen.line("  It was saved too, so that the command could see it.")
    screen.line("  Commands ran only after a yes, and in another process than the agent.")
    screen.line()
    screen.line("What next", "bold")
    if scripted:
        screen.line("  The model was a script. With a real one: set ANTHROPIC_API_KEY,")
        screen.line("  OPENAI_API_KEY or GEMINI_API_KEY (or LOCAL_BASE_URL), then")
        screen.line("    agent-host demo --model vendor/name")
    screen.line('  In your project: agent-host run "What does this project do?"')
    screen.line("  In your editor: see the README. What is set up: agent-host doctor")


def _greeting(text: str) -> str:
    found = (line.strip() for line in text.splitlines() if "return" in line)
    return next(found, "(no return any more)")
