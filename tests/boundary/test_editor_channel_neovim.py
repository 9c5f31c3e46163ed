"""The edits that are sent, applied by the real Neovim: it comes to hold what was meant."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from agent_host.editing.landed import is_same_but_for_endings
from agent_host.lsp.buffer import Buffer
from agent_host.lsp.editor_misplaced import wire_edits

NVIM = Path(sys.executable).parent / "nvim"
SCRIPT = Path(__file__).parents[1] / "clients" / "apply_edits.lua"
LINES = ["a", "b", "é", "", "", "x y", "🦊z", "\x0c", "\u2028q"]


def applied(folder: Path, cases: list[dict[str, object]]) -> list[dict[str, str]]:
    question, answer = folder / "question.json", folder / "answer.json"
    question.write_text(json.dumps(cases))
    command = [NVIM, "--clean", "--headless", "-l", SCRIPT, question, answer]
    subprocess.run(command, check=True, timeout=50)
    return json.loads(answer.read_text())


def changed(dice: random.Random, text: str, ending: str) -> str:
    lines = text.split(ending)
    for _ in range(dice.randint(1, 3)):
        place = dice.randrange(len(lines))
        match dice.choice(["insert", "delete", "change", "append", "append empty"]):
            case "insert":
                lines.insert(place, dice.choice(["new", "n🦊"]))
            case "delete" if len(lines) > 1:
                del lines[place]
            case "append":
                lines.append("tail")
            case "append empty":
                lines.append("")
            case _:
                lines[place] += "!"
    return ending.join(lines)


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_neovim_holds_what_was_meant(ending: str, tmp_path: Path) -> None:
    dice = random.Random(7)
    cases: list[dict[str, object]] = []
    meant: list[str] = []
    for number in range(150):
        lines = [dice.choice(LINES) for _ in range(dice.randint(1, 6))]
        before = "".join(line + ending for line in lines)
        after = changed(dice, before, ending)
        path = tmp_path / f"{number}.txt"
        path.write_bytes(before.encode())
        edits = wire_edits(Buffer(before), before, after, "utf-8")
        cases.append({"path": str(path), "edits": [as_json(edit) for edit in edits]})
        meant.append(after)
    for case, after, got in zip(cases, meant, applied(tmp_path, cases), strict=True):
        assert got["before"].encode() == Path(str(case["path"])).read_bytes()
        # Neovim keeps a final line ending where there was one.
        assert got["after"] == after or (
            not after.endswith("\n") and is_same_but_for_endings(got["after"], after)
        ), case


def as_json(edit) -> dict[str, object]:
    return {
        "range": {
            "start": {"line": edit.start.line, "character": edit.start.character},
            "end": {"line": edit.end.line, "character": edit.end.character},
        },
        "newText": edit.text,
    }
