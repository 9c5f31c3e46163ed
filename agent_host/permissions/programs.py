"""Which programs run other programs, and what they run.

Wrappers and interpreters are never remembered, because what they do is in their arguments or in a
file. `inner` looks through them on a best effort: good enough to deny, never to allow.
"""

import re
from collections.abc import Iterator

from agent_host.permissions.shell import Argv, NotPlain, Plain, parse, words

_WRAPPERS = words(
    "env sudo doas su runuser setpriv xargs parallel timeout nohup nice ionice chrt taskset setsid"
    " stdbuf unbuffer script time watch strace ltrace gdb chroot unshare nsenter bwrap flock"
    " busybox toybox find fd fdfind ssh tmux screen at batch crontab systemd-run docker podman"
    " kubectl entr direnv command exec eval source"
)
_RUNNERS = words(
    "make gmake ninja just task rake ant npm npx pnpm pnpx yarn bun bunx deno uv uvx pipx poetry"
    " hatch tox nox pdm rye pip pip3 gem bundle composer mvn gradle gradlew"
    " powershell pwsh cmd wsl"
)
_SHELLS = words("sh bash dash zsh ksh fish csh tcsh ash rbash")
_INTERPRETER = re.compile(
    r"(python|pypy|node|nodejs|ruby|perl|php|lua|luajit|tclsh|wish|osascript|awk|gawk|mawk|nawk"
    r"|sed|vim?|nvim|emacs|ed|ex|java|jshell|rscript|julia|guile|irb|ghci|expect|m4)[0-9.]*"
)
_GIT_RUNS = words("bisect submodule filter-branch difftool mergetool")
_MAX_DEPTH = 4


def is_indirect(argv: Argv) -> bool:
    """Whether the command is a wrapper, a shell, an interpreter or runs a project's scripts."""
    if argv[0].lower().endswith((".bat", ".cmd")):
        return True  # Windows' shell runs it, whatever starts it
    program = base(argv[0])
    if program in _WRAPPERS | _RUNNERS | _SHELLS or _INTERPRETER.fullmatch(program):
        return True
    return program in {"go", "cargo", "git"} and _has_hook(program, argv)


def base(program: str) -> str:
    """What a program is called: without its folder, and folded, as some systems start it too.

    `/usr/bin/Curl.EXE` is `curl`: Windows' programs can be started from Linux as well.
    """
    name = program.replace("\\", "/").rsplit("/", 1)[-1].lower()
    return re.sub(r"\.(exe|com|bat|cmd)$", "", name)


def inner(argv: Argv, depth: int = 0) -> Iterator[Argv]:
    """The command itself and those that it seems to run."""
    yield argv
    if depth == _MAX_DEPTH or not argv or not is_indirect(argv):
        return
    if base(argv[0]) in _SHELLS:
        for word in argv[1:]:
            yield from _in_text(word, depth + 1)
        return
    if not _INTERPRETER.fullmatch(base(argv[0])):
        for word in argv[1:]:
            if " " in word:
                yield from _in_text(word, depth + 1)
    for start in range(1, len(argv)):
        rest = argv[start:]
        yield rest
        if base(rest[0]) in _SHELLS:
            yield from inner(rest, depth + 1)


def _in_text(text: str, depth: int) -> Iterator[Argv]:
    if text.isalnum():
        yield (text,)
        return
    match parse(text):
        case Plain(parts=found) | NotPlain(seen=found):
            for part in found:
                yield from inner(part, depth)


def _has_hook(program: str, argv: Argv) -> bool:
    """Flags by which ordinary tools are made to run something else."""
    match program:
        case "git":
            rest = argv[1:]
            return any(
                word.startswith(
                    ("-c", "--exec", "--upload-pa", "--receive-pa", "--output", "--ext")
                )
                for word in rest
            ) or bool(_GIT_RUNS & set(rest) or ("rebase" in rest and "-x" in rest))
        case "go":
            return any(word.lstrip("-").startswith(("exec", "toolexec")) for word in argv[1:])
        case _:
            return "--config" in argv or "run" in argv[1:2]
