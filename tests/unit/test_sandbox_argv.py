"""From a plan to an argv, and to a Seatbelt profile: pure, so every row is a table."""

import struct

import pytest

from agent_host.action_wire import Watched
from agent_host.actions.commands import command_argv
from agent_host.actions.environment import for_commands, scrubbed
from agent_host.actions.sandbox import (
    MOUNTS,
    Plan,
    bubblewrap_argv,
    changes,
    pinned,
    seatbelt_argv,
    seatbelt_profile,
)
from agent_host.actions.seccomp import program
from agent_host.core.actions import Command
from agent_host.core.errors import ActionFailed


def plan(**more: object) -> Plan:
    given = {"roots": ("/w",), "cwd": "/w/sub", "argv": ("make", "-k"), "env": {"A": "1"}}
    return Plan(**{**given, **more})  # type: ignore[arg-type]


def watched(path: str, kind: str = "directory") -> Watched:
    return Watched(path, kind, "print")  # type: ignore[arg-type]


def words(**more: object) -> str:
    return " ".join(bubblewrap_argv("/bin/bwrap", plan(**more)))


@pytest.mark.parametrize(
    "part",
    [
        "/bin/bwrap --unshare-all --unshare-user --disable-userns --die-with-parent --new-session",
        "--cap-drop ALL --ro-bind / / --dev /dev --proc /proc",
        "--tmpfs /tmp --tmpfs /run",
        "--bind /w /w",
        "--chdir /w/sub --clearenv --setenv A 1",
        "--info-fd {info-fd} --seccomp {seccomp-fd} -- make -k",
    ],
)
def test_every_command_is_confined(part: str) -> None:
    assert part in words()


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"network": True}, "--share-net"),
        ({"watched": (watched("/w/.vscode"),)}, "--ro-bind /w/.vscode /w/.vscode"),
        ({"masked": ("/w/.mcp.json",)}, "--tmpfs /w/.mcp.json --remount-ro /w/.mcp.json"),
        ({"unreadable": ("/w/.env",)}, "--ro-bind /dev/null /w/.env"),
        ({"hidden_folders": ("/h/.ssh",)}, "--tmpfs /h/.ssh"),
        ({"hidden_files": ("/h/.netrc",)}, "--ro-bind /dev/null /h/.netrc"),
        ({"copies": ("/w/a", "/w/b")}, "--bind {copy-0} /w/a --bind {copy-1} /w/b"),
        ({"readable": ("/run/r/resolv.conf",)}, "--ro-bind /run/r/resolv.conf /run/r/resolv.conf"),
    ],
)
def test_what_a_plan_adds(more: dict, part: str) -> None:
    assert part in words(**more)
    assert part not in words()


def test_later_mounts_lie_on_top() -> None:
    line = words(
        roots=("/w",),
        hidden_folders=("/w/.ssh",),
        watched=(watched("/w/a/.vscode"),),
        masked=("/w/.mcp.json",),
        copies=("/w/a/file",),
    )
    order = [
        *("--ro-bind / /", "--tmpfs /tmp", "--bind /w /w", "--tmpfs /w/.ssh", "--bind /w/a /w/a"),
        *("--ro-bind /w/a/.vscode", "--tmpfs /w/.mcp.json", "--bind {copy-0}"),
    ]
    places = [line.index(each) for each in order]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("roots", "given", "mounts"),
    [
        (("/w",), [watched("/w/.vscode")], {"/w/.vscode": "--ro-bind"}),
        (
            ("/w",),
            [watched("/w/.git", "repository"), watched("/w/.git/hooks")],
            {"/w/.git": "--bind", "/w/.git/hooks": "--ro-bind"},
        ),
        (
            ("/w",),
            [watched("/w/a/b/.idea")],
            {"/w/a": "--bind", "/w/a/b": "--bind", "/w/a/b/.idea": "--ro-bind"},
        ),
        (("/w",), [watched("/w/link", "link")], {}),
        (("/w",), [watched("/elsewhere/.git", "repository")], {}),
        (("/w",), [watched("/w2/.vscode")], {}),
    ],
)
def test_what_leads_to_a_protected_place_is_pinned(
    roots: tuple[str, ...], given: list[Watched], mounts: dict[str, str]
) -> None:
    assert pinned(roots, given) == mounts


def test_a_pin_never_hides_what_is_bound_in_it() -> None:
    given = [watched(f"/w/{a}/{b}/.vscode") for a in "xy" for b in "xy"]
    order = list(pinned(("/w",), given))
    assert order == sorted(order, key=lambda path: path.count("/"))


def test_mounts_are_bounded_and_the_outermost_win() -> None:
    deep = [watched(f"/w/d/{number}.pth", "file") for number in range(MOUNTS * 2)]
    mounts = pinned(("/w",), [*deep, watched("/w/.vscode")])
    assert "/w/.vscode" in mounts
    assert len(mounts) <= MOUNTS + 1


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ([], [], ()),
        ([watched("/w/a")], [watched("/w/a")], ()),
        ([], [watched("/w/a")], ("/w/a",)),
        ([watched("/w/a")], [], ("/w/a",)),
        ([watched("/w/a")], [watched("/w/a", "file")], ("/w/a",)),
        ([Watched("/w/a", "file", "1")], [Watched("/w/a", "file", "2")], ("/w/a",)),
    ],
)
def test_what_counts_as_tampering(before: list, after: list, paths: tuple[str, ...]) -> None:
    assert changes(before, after) == paths


def test_the_profile_for_macos() -> None:
    profile = seatbelt_profile(
        plan(
            watched=(watched("/w/a/.vscode"), watched("/w/.git", "repository")),
            masked=("/w/.mcp.json",),
            hidden_folders=("/h/.ssh",),
            unreadable=("/w/.env",),
        )
    )
    lines = profile.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert lines[-1] == "(deny network*)"
    for line in (
        '(allow file-read* file-write* (subpath "/w"))',
        '(deny file-write* (subpath "/w/a/.vscode"))',
        '(deny file-write* (subpath "/w/.mcp.json"))',
        '(deny file-read* (subpath "/h/.ssh"))',
        '(deny file-read* (literal "/w/.env"))',
        '(deny file-write-unlink (literal "/w/a"))',
        '(deny file-write-unlink (literal "/w/.git"))',
    ):
        assert line in lines
    # The last rule that matches wins.
    assert lines.index('(deny file-write* (subpath "/w/a/.vscode"))') > lines.index(
        '(allow file-read* file-write* (subpath "/w"))'
    )
    assert '(deny file-write* (subpath "/w/.git"))' not in lines


@pytest.mark.parametrize("root", ['/w"))(allow default)("', "/w\\"])
def test_a_path_cannot_leave_its_quotes(root: str) -> None:
    profile = seatbelt_profile(plan(roots=(root,)))
    escaped = root.replace("\\", "\\\\").replace('"', '\\"')
    assert f'(subpath "{escaped}")' in profile


def test_seatbelt_runs_the_argv_itself() -> None:
    argv = seatbelt_argv(plan(network=True))
    assert argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert argv[-2:] == ("make", "-k")
    assert "(allow network*)" in argv[2]


def run_filter(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel's interpreter would return."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    rows = [struct.unpack_from("<HBBI", code, at) for at in range(0, len(code), 8)]
    at = value = 0
    while True:
        kind, yes, no, operand = rows[at]
        at += 1
        if kind == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif kind == 0x06:
            return operand
        else:
            at += yes if (value == operand if kind == 0x15 else value >= operand) else no


X86, ARM = 0xC000003E, 0xC00000B7
ALLOW, KILL, EPERM = 0x7FFF0000, 0x80000000, 0x00050001


@pytest.mark.parametrize(
    ("machine", "arch", "call", "result"),
    [
        ("x86_64", X86, (0,), ALLOW),
        ("x86_64", X86, (59,), ALLOW),
        ("x86_64", X86, (101,), EPERM),
        ("x86_64", X86, (165,), EPERM),
        ("x86_64", X86, (272,), EPERM),
        ("x86_64", X86, (425,), EPERM),
        ("x86_64", X86, (41, 1), EPERM),
        ("x86_64", X86, (41, 2), ALLOW),
        ("x86_64", X86, (53, 1), ALLOW),
        ("x86_64", X86, (16, 0, 0x5412), EPERM),
        ("x86_64", X86, (16, 0, 0x541C), EPERM),
        ("x86_64", X86, (16, 0, 0x5401), ALLOW),
        ("x86_64", X86, (0x40000000 | 101,), KILL),
        ("x86_64", ARM, (0,), KILL),
        ("aarch64", ARM, (64,), ALLOW),
        ("aarch64", ARM, (117,), EPERM),
        ("aarch64", ARM, (198, 1), EPERM),
        ("aarch64", ARM, (425,), EPERM),
        ("aarch64", X86, (64,), KILL),
    ],
)
def test_the_system_call_filter(
    machine: str, arch: int, call: tuple[int, ...], result: int
) -> None:
    assert run_filter(program(machine), arch, *call) == result


def test_an_unknown_machine_has_no_filter() -> None:
    assert program("riscv64") == b""


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        *((name, True) for name in ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "EXTRA")),
        *((name, False) for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "LD_PRELOAD", "BASH_ENV")),
        *((name, False) for name in ("GIT_DIR", "PYTHONPATH", "NODE_OPTIONS", "ANYTHING", "ENV")),
        *((name, False) for name in ("LC_SECRET", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK")),
    ],
)
def test_what_children_see_of_the_environment(name: str, passes: bool) -> None:
    assert (name in scrubbed({name: "/x"}, also=("EXTRA",))) == passes


def test_relative_folders_leave_the_path() -> None:
    assert scrubbed({"PATH": ".:/bin::rel:/usr/bin"})["PATH"] == "/bin:/usr/bin"
    assert for_commands({"TERM": "xterm"})["TERM"] == "dumb"


@pytest.mark.parametrize(
    "command",
    [
        Command("/w"),
        Command("/w", argv=("a",), script="a"),
        Command("/w", argv=()),
        Command("/w", argv=("a\0b",)),
        Command("/w", script="a\0b"),
    ],
)
def test_a_command_that_makes_no_sense(command: Command) -> None:
    with pytest.raises(ActionFailed, match=r"command"):
        command_argv(command)


def test_a_script_runs_in_a_bash_without_profile() -> None:
    assert command_argv(Command("/w", script="x"))[-3:] == ("-c", "--", "x")
    assert command_argv(Command("/w", argv=("a", "b"))) == ("a", "b")
