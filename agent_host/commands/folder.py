"""The argument that names a workspace."""

import argparse
from pathlib import Path


def existing_folder(text: str) -> Path:
    """For argparse: the path of a folder that is there."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return path
