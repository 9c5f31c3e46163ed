"""Writes scripts for the model `scripted/FILE`: the turns that a test wants the model to take."""

import json
from pathlib import Path

Turn = dict[str, object]


def write_script(path: Path, turns: list[Turn], **settings: object) -> str:
    """Write the turns (JSON is YAML); returns the model's name for `agent/run`."""
    path.write_text(json.dumps({"turns": turns, **settings}, indent=1))
    return f"scripted/{path}"
