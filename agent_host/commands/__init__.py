"""The sub-commands of `agent-host`: a module each, with `configure(parser)` and `execute(options)`.

A new one is a module here and a line in cli.py.
"""
