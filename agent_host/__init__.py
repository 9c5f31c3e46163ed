"""One language server that puts an AI agent into every editor that speaks LSP.

The floors; imports go down only, names on one line don't know each other:

    __main__
    cli
    commands
    compose | client | doctor
    app
    lsp | conversation
    session
    runtimes | permissions | editing | actions | roles | store | tools | usage | settings | guidance
    mcp
    process | fields | credentials | keychain
    core | action_server
    action_wire

Only `lsp` knows pygls; only `runtimes.sdk` and `runtimes.providers` know openai-agents and the
vendors' SDKs; nobody imports `action_server`, it is spawned. Importing this package does nothing.
"""

__version__ = "0.1.0"
