"""Seals a command at the moment it is judged, so that nothing but that is run, and once only."""

from dataclasses import replace

from agent_host.action_wire import Approved, digest_of
from agent_host.core.actions import Command, Seal


def sealed(command: Command, sandbox: str, nonce: str) -> Command:
    """The command with its seal. `sandbox` is what was to confine it when it was judged.

    Only its overlay may be changed after this.
    """
    approved = Approved(
        argv=command.argv,
        script=command.script,
        cwd=command.cwd,
        env=dict(command.env),
        network=command.network,
        timeout=command.timeout,
        hide_secrets=command.hide_secrets,
        sandbox=sandbox,
        nonce=nonce,
        digest="",
    )
    return replace(command, seal=Seal(nonce, digest_of(approved), sandbox))
