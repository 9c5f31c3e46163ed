"""Folders that only their owner can look into."""

from pathlib import Path


def make_private_folder(path: Path) -> None:
    """Make a folder and its missing parents, each 0700; what is there stays as it is."""
    if not path.is_dir():
        make_private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
