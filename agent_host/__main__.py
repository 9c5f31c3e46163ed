"""The program's entry: `agent-host` alone serves the editor at once, everything else is the CLI's.

Nothing heavy may be imported here: an editor waits for the answer to `initialize`.
"""

import os
import sys
from collections.abc import Sequence

_SERVE = "serve"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments; returns the exit code (serving exits by itself)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    transport = _transport(arguments)
    if transport is None:
        from agent_host.cli import main as cli_main

        return cli_main(arguments)

    from agent_host.lsp.early import Opening, open_stdio

    opening = open_stdio() if transport == "stdio" else Opening(listen=transport)

    from agent_host.compose.host import serve

    return serve(opening)


def _transport(arguments: list[str]) -> str | None:
    """`stdio`, the HOST:PORT to listen at, or None if that is no plain way of serving.

    Clients of the vscode-languageclient kind add `--stdio` and `--clientProcessId=N` on their own.
    """
    words = [word for word in arguments if not word.startswith("--clientProcessId=")]
    if words[:1] == [_SERVE]:
        words = words[1:]
    elif words not in ([], ["--stdio"]):
        return None
    match words:
        case [] | ["--stdio"]:
            return "stdio"
        case ["--tcp", address]:
            return address
        case [word] if word.startswith("--tcp="):
            return word.removeprefix("--tcp=")
        case _:
            return None


def _leave_out_the_working_directory() -> None:
    """`python -m` looks for modules there first, and it may be anybody's project."""
    first = f"{sys.path[0]}{os.sep}agent_host{os.sep}"
    if not sys.flags.safe_path and not __file__.startswith(first):
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_working_directory()
    sys.exit(main())
