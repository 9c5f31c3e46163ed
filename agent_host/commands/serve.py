"""`agent-host serve`: its help. Serving itself begins in __main__.py, before the CLI is loaded."""

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="speak on stdin and stdout (default)")
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", help="wait for one client at a loopback address instead"
    )
    parser.epilog = "Alone or with --stdio it is what an editor starts."


def execute(options: argparse.Namespace) -> int:
    """Only reached with a mixture of options that does not serve."""
    print(f"agent-host: give either --stdio or --tcp, not {vars(options)}", file=sys.stderr)
    return 2
