"""Read-only texts for a person to read in the editor: long commands, diffs.

They are private files in the state directory, the oldest removed; nothing else is written there.
"""

import re
import tempfile
from pathlib import Path

# A person reads the last few; a diff that is still shown in a tab should not vanish under it.
_MOST_KEPT = 50


class Texts:
    """The folder of shown texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, title: str, text: str) -> Path:
        """Write a text to a new file, named after its title; blocks. May raise OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._forget_old()
        name = re.sub(r"[^\w.-]+", "-", title).strip("-.")[:40] or "text"
        suffix = ".diff" if text.startswith(("--- ", "diff ")) else ".md"
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            errors="replace",
            newline="",
            dir=self._folder,
            prefix=f"{name}-",
            suffix=suffix,
            delete=False,
        ) as file:
            file.write(text)
        path = Path(file.name)
        path.chmod(0o400)
        return path

    def _forget_old(self) -> None:
        files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for path in files[: max(0, len(files) - _MOST_KEPT + 1)]:
            path.unlink(missing_ok=True)
