"""Where ripgrep is: the wheel `ripgrep` puts it beside the interpreter, a system may have it."""

import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path


def find_ripgrep() -> str | None:
    """The absolute path of an `rg` that was installed with this program or on the system."""
    places = (
        Path(sys.executable).parent,
        Path(sysconfig.get_path("scripts")),
        *_from_wheel(),
    )
    for place in places:
        program = place / "rg"
        if program.is_file():
            return str(program.absolute())
    return shutil.which("rg", path="/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin")


def _from_wheel() -> list[Path]:
    try:
        files = metadata.files("ripgrep") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(each.locate())).parent for each in files if each.name == "rg"]
