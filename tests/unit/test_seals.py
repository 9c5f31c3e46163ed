"""The action server starts what was allowed, once: whatever differs is refused, and says what."""

import re
from collections.abc import Mapping
from dataclasses import asdict, fields, replace

import pytest

from agent_host.action_server.failure import Failure
from agent_host.action_server.seals import Seals
from agent_host.action_wire import Approved, Confine, Run, digest_of
from agent_host.actions.sandbox import Plan, bubblewrap_argv, seatbelt_argv
from agent_host.core.actions import Command
from agent_host.session.sealing import sealed

KINDS = ("bubblewrap", "seatbelt", "landlock-only", "none")
ARGV = ("make", "test")
ENV: Mapping[str, str] = {"A": "1", "TMPDIR": "/mine"}
OTHERS: Mapping[str, object] = {
    "argv": ("make", "install"),
    "script": "make",
    "cwd": "/other",
    "env": {"A": "2"},
    "network": True,
    "timeout": 9.0,
    "hide_secrets": True,
    "sandbox": "else",
    "nonce": "n-2",
    "digest": "0" * 64,
}
"""Another value for each thing that a seal is about."""


def approved(kind: str, **other: object) -> Approved:
    given = {"argv": ARGV, "env": ENV, **other}
    command = sealed(Command("/w", **given), kind, "n-1")  # type: ignore[arg-type]
    assert command.seal
    return Approved(
        command.argv,
        command.script,
        command.cwd,
        dict(command.env),
        command.network,
        command.timeout,
        command.hide_secrets,
        command.seal.sandbox,
        command.seal.nonce,
        command.seal.digest,
    )


def run(kind: str, seal: Approved, **other: object) -> Run:
    """What the host makes of a command in that sandbox, with something of it changed."""
    env = {"PATH": "/usr/bin", **ENV}
    given = {"roots": ("/w",), "cwd": "/w", "argv": ARGV, "env": env, **other}
    plan = Plan(**given)  # type: ignore[arg-type]
    match kind:
        case "bubblewrap":
            return Run(bubblewrap_argv("bwrap", plan), "/", {}, 9.0, seal, namespaced=True)
        case "seatbelt":
            return Run(seatbelt_argv(plan), plan.cwd, plan.env, 9.0, seal)
        case "landlock-only":
            confine = Confine((), (), plan.network)
            return Run(plan.argv, plan.cwd, plan.env, 9.0, seal, confine=confine)
        case _:
            return Run(plan.argv, plan.cwd, plan.env, 9.0, seal)


def refused(what: Run, seals: Seals | None = None) -> str:
    with pytest.raises(Failure) as caught:
        (seals or Seals()).take(what)
    return caught.value.reason


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_allowed_runs_once(kind: str) -> None:
    seals = Seals()
    seals.take(run(kind, approved(kind)))
    assert "allowed once" in refused(run(kind, approved(kind)), seals)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("argv", {"argv": ("make", "install")}),
        ("argv", {"argv": ("make", "test", "x")}),
        ("argv", {"argv": ("env", *ARGV)}),
        ("argv", {"argv": ()}),
        ("cwd", {"cwd": "/w/sub"}),
        ("environment", {"env": {"A": "2", "TMPDIR": "/mine"}}),
        ("environment", {"env": {}}),
        ("network", {"network": True}),
    ],
)
def test_what_is_started_must_be_what_was_allowed(
    kind: str, what: str, other: dict[str, object]
) -> None:
    if (kind, what) == ("none", "network"):
        Seals().take(run(kind, approved(kind), **other))  # nothing could keep it from the network
    else:
        assert refused(run(kind, approved(kind), **other)).endswith(f"another {what}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_it_runs_in_the_sandbox_that_it_was_allowed_for(kind: str, other: str) -> None:
    if kind == other:
        Seals().take(run(kind, approved(kind)))
    else:
        assert refused(run(other, approved(kind))).endswith("another sandbox")


@pytest.mark.parametrize("name", [each.name for each in fields(Approved)])
def test_nothing_that_was_sealed_can_be_changed(name: str) -> None:
    changed = replace(approved("bubblewrap"), **{name: OTHERS[name]})  # type: ignore[arg-type]
    assert refused(run("bubblewrap", changed)) == "it is not the command that was allowed"
    assert name == "digest" or digest_of(changed) != changed.digest


@pytest.mark.parametrize(
    ("argv", "runs"),
    [
        (("/bin/bash", "--noprofile", "--norc", "-c", "--", "a; b"), True),
        (("/bin/sh", "-c", "--", "a; b"), True),
        (("/bin/bash", "--noprofile", "--norc", "-c", "--", "a; c"), False),
        (("/bin/bash", "-i", "-c", "--", "a; b"), False),
        (("/bin/bash", "--rcfile", "x", "-c", "--", "a; b"), False),
        (("/bin/bash", "-c", "a; b"), False),
        (("bash", "-c", "--", "a; b"), False),
        (("/w/evil", "-c", "--", "a; b"), False),
        (("a; b",), False),
        ((), False),
    ],
)
def test_a_script_is_run_by_a_fixed_shell(argv: tuple[str, ...], *, runs: bool) -> None:
    seal = approved("bubblewrap", argv=None, script="a; b")
    if runs:
        Seals().take(run("bubblewrap", seal, argv=argv))
    else:
        assert refused(run("bubblewrap", seal, argv=argv)).endswith("another argv")


def test_words_of_a_command_are_no_words_of_the_sandbox() -> None:
    argv = ("x", "--share-net", "--chdir", "/", "--setenv", "A", "2", "--", "y")
    seal = approved("bubblewrap", argv=argv)
    Seals().take(run("bubblewrap", seal, argv=argv))
    assert refused(run("bubblewrap", seal, argv=argv[:-1])).endswith("another argv")


def test_a_command_without_a_seal_is_none() -> None:
    no_nonce = replace(approved("none"), nonce="")
    assert "allowed anew" in refused(run("none", replace(no_nonce, digest=digest_of(no_nonce))))
    assert re.fullmatch(r"[0-9a-f]{64}", digest_of(no_nonce))
    assert set(asdict(no_nonce)) == set(OTHERS)
