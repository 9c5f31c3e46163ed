"""What a command may touch, and the argv that makes the operating system see to it. Pure.

Bubblewrap on Linux, Seatbelt on macOS. Not here: which of them is there (probe.py), what is
protected (policy.py) and how the argv is run (the action server).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from agent_host.action_wire import TOKEN_COPY, TOKEN_INFO, TOKEN_SECCOMP, Watched

Kind = Literal["bubblewrap", "seatbelt", "landlock-only", "none"]

MOUNTS = 400
"""Protected places that are bound at most; the others are watched all the same."""

_TMP_BYTES = 2 * 1024 * 1024 * 1024
_CACHE = "/tmp/.cache"  # noqa: S108 - the sandbox's own


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What confines commands here; `why` says why it is no better."""

    kind: Kind
    program: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """One command's confinement. All paths are true and absolute.

    `watched` must not change, `masked` must not come to be, `unreadable` files read as empty.
    `hidden_folders` and `hidden_files` exist. `copies` are targets, the n-th shown the n-th copy.
    `readable` are shown although they lie in what is hidden.
    """

    roots: tuple[str, ...]
    cwd: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    network: bool = False
    watched: tuple[Watched, ...] = ()
    masked: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    hidden_folders: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    seccomp: bool = True


def bubblewrap_argv(program: str, plan: Plan) -> tuple[str, ...]:
    """The whole command line, with tokens where the action server puts its descriptors."""
    words = [
        program,
        *BUBBLEWRAP_BASE,
        *(("--share-net",) if plan.network else ()),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--size", str(_TMP_BYTES), "--tmpfs", "/tmp"),  # noqa: S108
        *("--tmpfs", "/run", "--dir", _CACHE),
        *_mounts(plan),
        *("--chdir", plan.cwd, "--clearenv"),
    ]
    for name, value in {**plan.env, **_SANDBOX_ENV}.items():
        words += ["--setenv", name, value]
    words += ["--info-fd", TOKEN_INFO]
    if plan.seccomp:
        words += ["--seccomp", TOKEN_SECCOMP]
    return (*words, "--", *plan.argv)


BUBBLEWRAP_BASE = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)

_SANDBOX_ENV = {
    "TMPDIR": "/tmp",  # noqa: S108
    "XDG_CACHE_HOME": _CACHE,
    "npm_config_cache": f"{_CACHE}/npm",
}


def _mounts(plan: Plan) -> Iterator[str]:
    # Later mounts lie on top of earlier ones.
    for path in plan.readable:
        yield from ("--ro-bind", path, path)
    for root in plan.roots:
        yield from ("--bind", root, root)
    for folder in plan.hidden_folders:
        yield from ("--tmpfs", folder)
    for file in plan.hidden_files:
        yield from ("--ro-bind", "/dev/null", file)
    for path, option in pinned(plan.roots, plan.watched).items():
        yield from (option, path, path)
    for path in plan.masked:
        # Not /dev/null: git would take it for a new file.
        yield from ("--tmpfs", path, "--remount-ro", path)
    for path in plan.unreadable:
        yield from ("--ro-bind", "/dev/null", path)
    for number, target in enumerate(plan.copies):
        yield from ("--bind", TOKEN_COPY % number, target)


def pinned(roots: Sequence[str], watched: Iterable[Watched]) -> dict[str, str]:
    """Mounts that keep watched places as they are, outermost first, with their option.

    Everything between a root and a place is bound onto itself: what is mounted on can't be
    renamed, so no other directory can take its name. Links can't be bound and are left out.
    """
    mounts: dict[str, str] = {}
    for each in sorted(watched, key=lambda each: each.path.count("/")):
        root = next((root for root in roots if _beneath(each.path, root)), None)
        if root is None or each.kind == "link" or len(mounts) >= MOUNTS:
            continue
        for above in reversed(PurePosixPath(each.path).parents):
            if _beneath(str(above), root) and str(above) != root:
                mounts.setdefault(str(above), "--bind")
        mounts[each.path] = "--bind" if each.kind == "repository" else "--ro-bind"
    return dict(sorted(mounts.items(), key=lambda item: item[0].count("/")))


def changes(before: Iterable[Watched], after: Iterable[Watched]) -> tuple[str, ...]:
    """Which watched places came, went or changed, sorted."""
    old = {each.path: each for each in before}
    new = {each.path: each for each in after}
    return tuple(sorted(path for path in old | new if old.get(path) != new.get(path)))


def seatbelt_argv(plan: Plan) -> tuple[str, ...]:
    """The command line for macOS; the environment is set by whoever starts it."""
    return ("/usr/bin/sandbox-exec", "-p", seatbelt_profile(plan), *plan.argv)


def seatbelt_profile(plan: Plan) -> str:
    """A deny-default profile. In Seatbelt the last rule that matches wins."""
    watched = [each.path for each in plan.watched if each.kind != "repository"]
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read mach-lookup ipc-posix-shm)",
        "(allow file-read*)",
        *(f"(deny file-read* (subpath {_quoted(path)}))" for path in plan.hidden_folders),
        *(
            f"(deny file-read* (literal {_quoted(path)}))"
            for path in (*plan.hidden_files, *plan.unreadable)
        ),
        *(f"(allow file-read* file-write* (subpath {_quoted(path)}))" for path in plan.roots),
        '(allow file-write* (subpath "/private/tmp") (subpath "/private/var/folders"))',
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero"))',
        *(
            f"(deny file-write* (subpath {_quoted(path)}))"
            for path in sorted({*watched, *plan.masked})
        ),
        # Neither may what leads there be renamed.
        *(
            f"(deny file-write-unlink (literal {_quoted(path)}))"
            for path in pinned(plan.roots, plan.watched)
        ),
        "(allow network*)" if plan.network else "(deny network*)",
    ]
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _beneath(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
