"""`agent-host schema`: the JSON Schema of all `agent/*` messages, for people who write clients."""

import argparse
import json
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "JSON Schema 2020-12; `methods` names each method's params and result."


def execute(options: argparse.Namespace) -> int:  # noqa: ARG001 (all commands alike)
    from agent_host.lsp.wire import json_schema

    json.dump(json_schema(), sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0
