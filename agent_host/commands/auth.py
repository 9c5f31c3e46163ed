"""`agent-host auth`: keep vendors' keys in the OS keyring, and say where each comes from."""

import argparse
import getpass
import os
import sys

from agent_host.commands.terminal import screen_and_side
from agent_host.core.errors import InvalidRequest
from agent_host.credentials import KEYRING, VENDORS, Credential, read_credentials
from agent_host.keychain import Keychain
from agent_host.settings import state_dirs


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    names = [vendor.name for vendor in VENDORS]
    put = verbs.add_parser("set", help="keep a key: asked for, or read from standard input")
    put.add_argument("vendor", choices=names)
    verbs.add_parser("list", help="say where each vendor's key comes from; shows no key")
    remove = verbs.add_parser("remove", help="forget a key")
    remove.add_argument("vendor", choices=names)
    variables = ", ".join(name for vendor in VENDORS for name in vendor.key_variables)
    parser.epilog = (
        "A key that the editor keeps comes first, then the environment, then the OS keyring. "
        f"Variables: {variables}."
    )


def execute(options: argparse.Namespace) -> int:
    keychain = Keychain(state_dirs(os.environ).state)
    screen, side = screen_and_side(os.environ)
    match options.verb:
        case "set":
            keychain.set(options.vendor, _typed(options.vendor))
            screen.line(f"{KEYRING} keeps a key for {options.vendor}.")
        case "remove":
            if not keychain.remove(options.vendor):
                side.line(f"{KEYRING} has no key of {options.vendor} from here.")
                return 1
            screen.line(f"{KEYRING} has forgotten the key of {options.vendor}.")
        case _:
            for each in read_credentials(os.environ, stored=keychain.stored()).all:
                screen.line(_line(each), None if each.usable else "dim")
    return 0


def _typed(vendor: str) -> str:
    """The key, never as an argument: those are seen by everybody on the machine."""
    if sys.stdin.isatty():
        key = getpass.getpass(f"Key of {vendor} (it is not shown): ")
    else:
        key = sys.stdin.readline()
    if not key.strip():
        raise InvalidRequest("No key was given, so nothing was changed.")
    return key.strip()


def _line(each: Credential) -> str:
    name = each.vendor.name
    if each.key_source is None:
        return f"{name}: no key. {each.missing or 'It needs none.'}"
    also = f"; not used: {', '.join(each.unused)}" if each.unused else ""
    return f"{name}: from {each.key_source}{also}"
