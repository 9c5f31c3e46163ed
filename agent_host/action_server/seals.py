"""Which commands may be started: those that are what was allowed, each of them once.

Invariant: nothing runs whose argv, directory, variables, network or sandbox differ from what was
judged. Not here: who judged it. Seals are forgotten with the process, and so are its calls.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent_host.action_server.failure import Failure
from agent_host.action_wire import TOKEN_INFO, TOKEN_SECCOMP, Approved, Run, digest_of

_SHELLS = ("bash", "sh")
_SHELL_OPTIONS = ((), ("--noprofile", "--norc"))
_SET_BY_SANDBOX = frozenset({"TMPDIR", "XDG_CACHE_HOME", "npm_config_cache"})


class Seals:
    """The seals that were used."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, run: Run) -> None:
        """Use up the seal of a command. Raises Failure if it may not be started."""
        approved = run.approved
        if not approved.nonce or approved.nonce in self._used:
            raise Failure("denied", "it was allowed once and has been run; it must be allowed anew")
        self._used.add(approved.nonce)
        if digest_of(approved) != approved.digest:
            raise Failure("stale", "it is not the command that was allowed")
        for name, same in _compared(run, approved):
            if not same:
                raise Failure("stale", f"it is not the command that was allowed: another {name}")


def _compared(run: Run, approved: Approved) -> Iterator[tuple[str, bool]]:
    """Whether what would be started is what was allowed, by what could differ."""
    own, words = _split(run)
    kind = _sandbox(run)
    yield "sandbox", kind == approved.sandbox
    yield "argv", _is_command(words, approved)
    yield "cwd", _directory(own, run) == approved.cwd
    environment = _environment(own, run)
    yield (
        "environment",
        all(
            environment.get(name) == value or (run.namespaced and name in _SET_BY_SANDBOX)
            for name, value in approved.env.items()
        ),
    )
    yield "network", _network(kind, own, run) in (None, approved.network)


def _split(run: Run) -> tuple[Sequence[str], Sequence[str]]:
    """The sandbox's own words, and those of the command behind them."""
    if run.namespaced:
        for end, (before, word) in enumerate(pairwise(run.argv), 1):
            if word == "--" and before in (TOKEN_INFO, TOKEN_SECCOMP):
                return run.argv[:end], run.argv[end + 1 :]
        return run.argv, ()
    if _sandbox(run) == "seatbelt":
        return run.argv[:3], run.argv[3:]
    return (), run.argv


def _sandbox(run: Run) -> str:
    if run.namespaced:
        return "bubblewrap"
    if run.argv[:2] == ("/usr/bin/sandbox-exec", "-p"):
        return "seatbelt"
    return "none" if run.confine is None else "landlock-only"


def _is_command(words: Sequence[str], approved: Approved) -> bool:
    if approved.script is None:
        return bool(words) and tuple(words) == approved.argv
    if approved.argv is not None or not words:
        return False
    shell, *options = words
    return (
        shell.startswith("/")
        and shell.rpartition("/")[2] in _SHELLS
        and tuple(options[:-3]) in _SHELL_OPTIONS
        and options[-3:] == ["-c", "--", approved.script]
    )


def _directory(own: Sequence[str], run: Run) -> str | None:
    if not run.namespaced:
        return run.cwd
    places = [place for option, place in pairwise(own) if option == "--chdir"]
    return places[0] if len(places) == 1 else None


def _environment(own: Sequence[str], run: Run) -> dict[str, str]:
    if not run.namespaced:
        return dict(run.env)
    triples = zip(own, own[1:], own[2:], strict=False)
    return {name: value for option, name, value in triples if option == "--setenv"}


def _network(kind: str, own: Sequence[str], run: Run) -> bool | None:
    """Whether it reaches the network; None: nothing keeps it from that."""
    match kind:
        case "bubblewrap":
            return "--unshare-all" not in own or "--share-net" in own
        case "seatbelt":
            return "(deny network*)" not in own[-1]
        case "landlock-only":
            return run.confine is not None and run.confine.network
        case _:
            return None
