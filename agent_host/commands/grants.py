"""`agent-host grants`: the answers that last beyond a call, and how to take them back."""

import argparse
import os
import time
import uuid
from datetime import UTC, datetime

from agent_host.commands.terminal import screen_and_side
from agent_host.permissions.grants import GrantBook, described
from agent_host.settings import state_dirs


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--revoke", metavar="ID", help="take one back")
    parser.epilog = "Answers for a session are forgotten with the host, so they are not listed."


def execute(options: argparse.Namespace) -> int:
    book = GrantBook(state_dirs(os.environ).state, time.time, lambda: uuid.uuid4().hex)
    screen, side = screen_and_side(os.environ)
    if options.revoke:
        screen.line(f"revoked: {described(book.revoke(options.revoke))}")
        return 0
    grants = book.list()
    for grant in grants:
        until = datetime.fromtimestamp(grant.expires or 0, UTC).date().isoformat()
        screen.line(grant.id, "bold")
        screen.line(f"  {described(grant)} (role {grant.role}, until {until})")
    if not grants:
        screen.line("Nothing is allowed beyond single answers.")
    for problem in book.problems:
        side.line(problem, "yellow")
    return 0
