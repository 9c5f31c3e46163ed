"""Runs approved commands in the sandbox that is there, and looks at what they did to it.

Before: what must not change is found and bound. After: it is compared, mount points that were
left behind are removed, and private copies that changed are handed back.
"""

import contextlib
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_host import action_wire as wire
from agent_host.actions.environment import for_commands
from agent_host.actions.policy import HIDDEN_IN_HOME, ActionPolicy
from agent_host.actions.sandbox import Plan, Sandbox, bubblewrap_argv, changes, seatbelt_argv
from agent_host.actions.seccomp import program as seccomp_program
from agent_host.actions.supervisor import Supervisor
from agent_host.core.actions import Command, CommandResult, OutputStream
from agent_host.core.errors import ActionFailed

MAX_TIMEOUT = 600.0
_BASH = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")
_TAMPERED = 50


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is the same for every command of a while. `roots` as the editor spells them."""

    sandbox: Sandbox
    policy: ActionPolicy
    roots: tuple[str, ...]
    environment: Mapping[str, str]
    state_dir: Path


class Commands:
    """Knows which commands run, so that none pulls the mount points from under another."""

    def __init__(self, server: Supervisor) -> None:
        self._server = server
        self._running = 0
        self._mount_points: set[str] = set()

    async def run(
        self,
        command: Command,
        around: Surroundings,
        on_output: Callable[[OutputStream, str], None],
    ) -> CommandResult:
        """Run it to its end. Raises ActionFailed."""
        if around.policy.required and around.sandbox.kind not in ("bubblewrap", "seatbelt"):
            reason = f"commands need a sandbox here, and none works: {around.sandbox.why}"
            raise ActionFailed("denied", reason)
        argv = command_argv(command)
        approved = _approved(command)
        cwd = await self._directory(command.cwd)
        roots = await self._roots(around.roots)
        secret = around.policy.secret if command.hide_secrets else ()
        before = await self._watch(around, secret)
        if command.reads_all and command.hide_secrets and not before.complete:
            reason = (
                "it reads whole folders, and the workspace is too large to hide all secret-looking"
                " files in it: name the files that it is to read, or search with `fs_search`"
            )
            raise ActionFailed("denied", reason)
        targets = await self._targets(command, around, before.secrets)
        plan = _plan(command, argv, cwd, roots, around, before, tuple(targets.values()))
        self._mount_points.update(_missing(plan.masked))
        self._running += 1
        try:
            copies = tuple(command.overlay[path] for path in targets)
            run = _run(approved, plan, around, copies)
            ran = await self._server.call(run, wire.Ran, settle=True, on_output=on_output)
        finally:
            self._running -= 1
            await self._tidy()
        after = await self._watch(around, ())
        return _result(command, ran, list(targets), before, after)

    async def _directory(self, path: str) -> str:
        facts = await self._server.call(wire.Inspect(path), wire.Facts)
        if facts.kind != "directory":
            raise ActionFailed("not_found", f"{path} is not a directory")
        return facts.true_path

    async def _roots(self, given: Sequence[str]) -> tuple[str, ...]:
        found: set[str] = set()
        for root in given:
            # One that is gone is no reason to run nothing in the others.
            with contextlib.suppress(ActionFailed):
                found.add(await self._directory(root))
        outermost = {
            root for root in found if not any(root.startswith(f"{each}/") for each in found)
        }
        return tuple(sorted(outermost))

    async def _watch(self, around: Surroundings, secret: tuple[str, ...]) -> wire.Watchlist:
        return await self._server.call(wire.Watch(around.policy.protected, secret), wire.Watchlist)

    async def _tidy(self) -> None:
        # Removing a mount point unmounts what lies on it for commands that still run.
        if self._running or not self._mount_points:
            return
        paths = tuple(sorted(self._mount_points))
        self._mount_points.clear()
        with contextlib.suppress(ActionFailed):
            await self._server.call(wire.Tidy(paths), wire.Name)

    async def _targets(
        self, command: Command, around: Surroundings, hidden: Sequence[str]
    ) -> dict[str, str]:
        """Where the copies of unsaved text are bound, by the path that they were given for.

        None is laid over a file that is hidden from the command.
        """
        targets: dict[str, str] = {}
        for path in command.overlay if around.sandbox.kind == "bubblewrap" else ():
            facts = await self._server.call(wire.Inspect(path), wire.Facts)
            if facts.true_path in hidden:
                continue
            if facts.kind == "missing" and _can_be_made(facts.true_path):
                # The mount point is made for the command, and removed behind it.
                self._mount_points.add(facts.true_path)
            if facts.kind == "file" or facts.true_path in self._mount_points:
                targets[path] = facts.true_path
        return targets


def command_argv(command: Command) -> tuple[str, ...]:
    """The words that are executed: the argv itself, or a fixed bash with the script."""
    if (command.argv is None) == (command.script is None):
        raise ActionFailed("invalid", "a command is either an argv or a script")
    words = command.argv
    if command.script is not None:
        bash = next((path for path in _BASH if os.access(path, os.X_OK)), _BASH[-1])
        options = () if bash.endswith("/sh") else ("--noprofile", "--norc")
        # Without the --, bash would take a script that begins with - or + as options.
        words = (bash, *options, "-c", "--", command.script)
    if not words or any("\0" in word for word in words):
        raise ActionFailed("invalid", "a command has at least one word and no NUL characters")
    return words


def _plan(
    command: Command,
    argv: tuple[str, ...],
    cwd: str,
    roots: tuple[str, ...],
    around: Surroundings,
    before: wire.Watchlist,
    copies: tuple[str, ...],
) -> Plan:
    there = {each.path for each in before.watched}
    masked = [f"{root}/{name}" for root in roots for name in around.policy.masked]
    folders, files = _hidden(around, roots)
    return Plan(
        roots=roots,
        cwd=cwd,
        argv=argv,
        env={**for_commands(around.environment), **command.env},
        network=command.network,
        watched=before.watched,
        masked=tuple(path for path in masked if path not in there and _can_be_made(path)),
        unreadable=before.secrets if command.hide_secrets else (),
        hidden_folders=folders,
        hidden_files=files,
        readable=_name_service() if command.network else (),
        copies=copies,
        seccomp=bool(seccomp_program(platform.machine())),
    )


def _missing(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if not os.path.lexists(path)]


def _can_be_made(path: str) -> bool:
    place = Path(path)
    if not os.access(place.parent, os.W_OK):
        # Nobody can make it there then, nor can its mount point be made.
        return False
    return not place.is_symlink() and (not place.exists() or place.is_dir())


def _approved(command: Command) -> wire.Approved:
    if command.seal is None:
        raise ActionFailed("denied", "nobody has allowed this command")
    return wire.Approved(
        argv=command.argv,
        script=command.script,
        cwd=command.cwd,
        env=dict(command.env),
        network=command.network,
        timeout=command.timeout,
        hide_secrets=command.hide_secrets,
        sandbox=command.seal.sandbox,
        nonce=command.seal.nonce,
        digest=command.seal.digest,
    )


def _run(
    approved: wire.Approved, plan: Plan, around: Surroundings, copies: tuple[bytes, ...]
) -> wire.Run:
    timeout = min(max(approved.timeout, 0.1), MAX_TIMEOUT)
    match around.sandbox.kind:
        case "bubblewrap":
            return wire.Run(
                argv=bubblewrap_argv(around.sandbox.program or "bwrap", plan),
                # Bubblewrap itself changes to the command's directory.
                cwd="/",
                env={},
                timeout=timeout,
                approved=approved,
                namespaced=True,
                seccomp=seccomp_program(platform.machine()),
                copies=copies,
            )
        case "seatbelt":
            return wire.Run(seatbelt_argv(plan), plan.cwd, plan.env, timeout, approved)
        case "landlock-only":
            confine = wire.Confine(
                writable=(*plan.roots, "/tmp", "/var/tmp"),  # noqa: S108
                hidden=(*plan.hidden_folders, *plan.hidden_files),
                network=plan.network,
            )
            return wire.Run(plan.argv, plan.cwd, plan.env, timeout, approved, confine=confine)
        case "none":
            return wire.Run(plan.argv, plan.cwd, plan.env, timeout, approved)


def _hidden(around: Surroundings, roots: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    home = around.environment.get("HOME", "")
    places = [str(around.state_dir), *around.policy.hidden]
    if home.startswith("/"):
        places += [f"{home.rstrip('/')}/{name}" for name in HIDDEN_IN_HOME]
    true = {os.path.realpath(place) for place in places}
    # A workspace that lies in such a place was opened on purpose.
    hidden = sorted(
        place
        for place in true
        if not any(root == place or root.startswith(f"{place}/") for root in roots)
    )
    return (
        tuple(place for place in hidden if os.path.isdir(place)),  # noqa: PTH112
        tuple(place for place in hidden if os.path.isfile(place)),  # noqa: PTH113
    )


def _name_service() -> tuple[str, ...]:
    # /etc/resolv.conf is often a link into /run, which commands don't see.
    true = os.path.realpath("/etc/resolv.conf")
    return (true,) if true.startswith("/run/") and os.path.isfile(true) else ()  # noqa: PTH113


def _result(
    command: Command,
    ran: wire.Ran,
    targets: Sequence[str],
    before: wire.Watchlist,
    after: wire.Watchlist,
) -> CommandResult:
    tampered = changes(before.watched, after.watched)
    notes = [ran.note] if ran.note else []
    if unseen := [path for path in command.overlay if path not in targets]:
        notes.append(f"it saw these files without unsaved changes: {', '.join(unseen)}")
    if not (before.complete and after.complete):
        notes.append("the workspace is too large to look all through it for protected files")
    if len(tampered) > _TAMPERED:
        notes.append(f"{len(tampered) - _TAMPERED} more protected paths were changed")
    return CommandResult(
        output=ran.output,
        exit_code=ran.exit_code,
        signal=ran.signal,
        timed_out=ran.timed_out,
        omitted=ran.omitted,
        changed={targets[int(number)]: data for number, data in ran.copies.items()},
        tampered=tampered[:_TAMPERED],
        note="; ".join(notes) or None,
    )
