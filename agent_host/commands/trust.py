"""`agent-host trust`: which folders are trusted, and to trust or forget one."""

import argparse
import os
import time
from pathlib import Path

from agent_host.app.workspace_rules import trust_book
from agent_host.commands.folder import existing_folder
from agent_host.commands.terminal import screen_and_side
from agent_host.settings import state_dirs


def configure(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--add", metavar="FOLDER", type=existing_folder, help="trust a folder")
    choice.add_argument("--forget", metavar="FOLDER", type=Path, help="trust it no longer")
    parser.epilog = (
        "In a folder that is not trusted, agents only read; its roles and rules are not used. Trust"
        " holds until the folder would start a program that it did not when it was trusted."
    )


def execute(options: argparse.Namespace) -> int:
    book = trust_book(state_dirs(os.environ).state, time.time)
    screen, side = screen_and_side(os.environ)
    if options.add:
        root = str(options.add.resolve())
        book.trust(root, book.starts(root))
    elif options.forget and not book.forget(str(options.forget.resolve())):
        side.line(f"{options.forget} was not trusted.")
        return 1
    for path in book.list():
        screen.line(path)
    if not book.list():
        screen.line("No folder is trusted.")
    return 0
