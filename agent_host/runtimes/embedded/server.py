"""The child process of `local/embedded`: serves one GGUF file on loopback, until its stdin ends.

Speaks chat completions to whoever has the token; its first line on stdout is its address. Run with
the file's path as its only argument.
"""

import os
import sys
from importlib import import_module

TOKEN_VARIABLE = "EMBEDDED_TOKEN"  # noqa: S105 - a name, not a token
CONTEXT = 8192
LONGEST_ANSWER = 2048
"""Tokens. A small model that has lost its way would fill all of its context."""


def main() -> None:
    # What the library prints must not be taken for the address.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = CONTEXT
    params.n_predict = LONGEST_ANSWER
    params.n_parallel = 1
    params.use_jinja = True
    params.ui = False
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [os.environ.pop(TOKEN_VARIABLE)]
    server = engine.Server(params)
    out.write(f"{server.listening_address}\n")
    out.flush()
    sys.stdin.buffer.read()
    # The library's threads have no end of their own, and nothing here is worth keeping.
    os._exit(0)


if __name__ == "__main__":
    main()
