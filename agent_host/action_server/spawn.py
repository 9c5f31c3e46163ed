"""How this program starts itself again: isolated, without site-packages, from its own folder."""

import sys
from pathlib import Path


def python_call() -> tuple[str, ...]:
    """An argv that wants a role and its arguments behind it."""
    return (sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("__main__.py")))
