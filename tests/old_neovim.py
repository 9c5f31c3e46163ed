"""The oldest Neovim that the plugin is for; the newest one comes with the environment.

It is Debian's, in a folder of its own, with the C library that it wants: neither the system's own
Neovim nor the age of its Debian matters.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "neovim-0.10"
NVIM = FOLDER / "nvim"


def install(run: Callable[..., object], source: str) -> None:
    """Put it there if it is not; `run` runs a command, `source` is a line for apt."""
    if NVIM.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="agent-host-") as name:
        for package in _download(run, source, Path(name)):
            run("dpkg-deb", "-x", package, FOLDER)
    loader = next(FOLDER.glob("usr/lib*/ld-linux*.so*"))
    libraries = next(FOLDER.glob("usr/lib/*-linux-gnu"))
    NVIM.write_text(
        "#!/bin/sh\n"
        f'export VIMRUNTIME="{FOLDER}/usr/share/nvim/runtime"\n'
        f'exec "{loader}" --library-path "{libraries}" "{FOLDER}/usr/bin/nvim" "$@"\n'
    )
    NVIM.chmod(0o755)


def _download(run: Callable[..., object], source: str, folder: Path) -> list[Path]:
    """The packages of Neovim and of all that it needs."""
    listed = folder / "sources.list"
    listed.write_text(source)
    own = {
        "Dir::Etc::sourcelist": listed,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": "/dev/null",  # nothing counts as installed
        "Dir::Cache": folder,
        "APT::Sandbox::User": "root",
    }
    for part in ("lists", "archives"):
        (folder / part / "partial").mkdir(parents=True)
    apt = ["apt-get", *(f"-o{option}={value}" for option, value in own.items())]
    run(*apt, "update", "-q")
    run(*apt, "install", "-qyd", "--no-install-recommends", "neovim")
    return sorted((folder / "archives").glob("*.deb"))
