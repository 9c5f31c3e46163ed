"""`agent-host`'s command line: finds the command, parses its options, turns errors into sentences.

Only the chosen command's module is imported. Not here: serving an editor (__main__.py, before any
of this), what the commands do (commands/).
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from agent_host import __version__
from agent_host.core.errors import AgentHostError

COMMANDS: Mapping[str, str] = {
    "serve": "serve an editor over stdio (what editors start)",
    "run": "run one prompt in a folder, here in the terminal",
    "sidecar": "serve a program that speaks no LSP, by lines of JSON on stdio",
    "demo": "show a whole run on a sample project; needs no key",
    "doctor": "say what is set up and what is missing",
    "roles": "list the roles, and what is wrong with broken ones",
    "auth": "keep a vendor's key in the OS keyring, or forget it",
    "guidance": "list the instructions, skills and prompt files, and what is wrong with them",
    "models": "list the vendors' models that can be used",
    "sessions": "list, show, follow, fork, revert and keep tidy what was kept",
    "explain": "say how an action would be judged here, and by which rule",
    "grants": "list what you have allowed beyond single answers, or take it back",
    "trust": "list the folders that are trusted, trust one or forget it",
    "schema": "print the JSON Schema of the agent/* messages",
}
"""Each is the module of that name in `commands`."""

EXIT_CODES = """\
exit codes: 0 done; 1 it failed, or something is wrong; 2 wrong usage; 3 a limit ended the run;
4 the model refused; 130 stopped with Ctrl-C"""


class Command(Protocol):
    """What a command's module has."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments."""

    def execute(self, options: argparse.Namespace) -> int:
        """Do it; returns the exit code."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Wrong usage exits with 2, `--help` with 0."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = arguments[0] if arguments and arguments[0] in COMMANDS else None
    parser = _parser()
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    command: Command | None = None
    for name, purpose in COMMANDS.items():
        sub = commands.add_parser(name, help=purpose, description=f"{_capital(purpose)}.")
        if name == chosen:
            command = cast("Command", import_module(f"agent_host.commands.{name}"))
            command.configure(sub)
    options = parser.parse_args(arguments)
    if command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return command.execute(options)
    except AgentHostError as error:
        print(f"agent-host: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough; nothing is to be flushed to them at exit.
        sys.stdout = None
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-host",
        description="An AI agent for every editor that speaks LSP. Without a command it serves "
        "an editor over stdio.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"agent-host {__version__}")
    return parser


def _capital(purpose: str) -> str:
    return purpose[:1].upper() + purpose[1:]
