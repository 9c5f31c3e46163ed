"""The seccomp program for commands: no tracing, mounting, keys, io_uring, path sockets. Pure.

A deny-list on top of namespaces: it closes what those leave open in the kernel.
"""

import struct
from collections.abc import Mapping
from typing import Literal

Machine = Literal["x86_64", "aarch64"]

_ALLOW, _KILL, _EPERM = 0x7FFF0000, 0x80000000, 0x00050001
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCH, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24
_X32 = 0x40000000
_AF_UNIX = 1
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AUDIT: Mapping[Machine, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Since 424 all machines count alike.
_COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "process_madvise": 440,
    "process_mrelease": 448,
}
_OWN: Mapping[Machine, Mapping[str, int]] = {
    "x86_64": {
        "ptrace": 101,
        "pivot_root": 155,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "init_module": 175,
        "delete_module": 176,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "perf_event_open": 298,
        "open_by_handle_at": 304,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": {
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "ptrace": 117,
        "reboot": 142,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "swapon": 224,
        "swapoff": 225,
        "perf_event_open": 241,
        "open_by_handle_at": 265,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
}
_SOCKET: Mapping[Machine, int] = {"x86_64": 41, "aarch64": 198}
_IOCTL: Mapping[Machine, int] = {"x86_64": 16, "aarch64": 29}


def program(machine: str) -> bytes:
    """The BPF program as bubblewrap wants it; empty for a machine that it doesn't know."""
    match machine:
        case "x86_64" | "amd64":
            return _program("x86_64")
        case "aarch64" | "arm64":
            return _program("aarch64")
        case _:
            return b""


def _program(machine: Machine) -> bytes:
    rows = [
        _row(_LOAD, _ARCH),
        _row(_EQUAL, _AUDIT[machine], 1, 0),
        _row(_RETURN, _KILL),
        _row(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        rows += [_row(_AT_LEAST, _X32, 0, 1), _row(_RETURN, _KILL)]
    for number in sorted({*_COMMON.values(), *_OWN[machine].values()}):
        rows += [_row(_EQUAL, number, 0, 1), _row(_RETURN, _EPERM)]
    rows += _argument(_SOCKET[machine], _ARGUMENT_0, (_AF_UNIX,))
    rows += _argument(_IOCTL[machine], _ARGUMENT_1, (_TIOCSTI, _TIOCLINUX))
    return b"".join([*rows, _row(_RETURN, _ALLOW)])


def _argument(number: int, offset: int, values: tuple[int, ...]) -> list[bytes]:
    # Only the argument's lower half: the kernel looks at no more of these.
    tests: list[bytes] = []
    for value in values:
        tests += [_row(_EQUAL, value, 0, 1), _row(_RETURN, _EPERM)]
    return [
        _row(_EQUAL, number, 0, len(tests) + 2),
        _row(_LOAD, offset),
        *tests,
        _row(_RETURN, _ALLOW),
    ]


def _row(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
