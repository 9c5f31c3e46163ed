"""What was measured of thirteen real editors, as data for the simulated one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent_host.lsp.host import ClientInfo, PositionEncoding

FIXTURES = Path(__file__).parents[1] / "fixtures" / "client-capabilities"


@dataclass(frozen=True)
class Habits:
    """How an editor behaves. Times in seconds.

    `stale`: what becomes of an edit for an old version. `tells_after`: how long a change waits
    until it is told; None never. `tells`: every step, or one merged change, or all of the text.
    `idle`: every key makes the waiting begin anew. `question`: whether it has a dialog;
    `dismissed`: what closing it gives. `answers_edits`: whether it says anything of them at all.
    """

    fixture: str
    encoding: PositionEncoding
    stale: Literal["false", "dropped", "error", "applied"]
    tells_after: float | None
    tells: Literal["steps", "merged", "full"]
    told_before_reply: bool = False
    idle: bool = False
    asks_before_editing: float = 0.0
    zero_is_no_version: bool = False
    question: Literal["dialog", "error"] = "dialog"
    dismissed: Literal["null", "silence"] = "null"
    answers_edits: bool = True
    shows: Literal["yes", "null", "error"] = "yes"

    @property
    def client(self) -> ClientInfo:
        params = json.loads((FIXTURES / f"{self.fixture}.json").read_text())
        info = params.get("clientInfo") or {}
        return ClientInfo(
            name=info.get("name"),
            version=info.get("version"),
            position_encoding=self.encoding,
            capabilities=params["capabilities"],
        )


_NEOVIM = Habits("neovim-0.11.4", "utf-8", "dropped", 0.15, "merged", zero_is_no_version=True)
_HELIX = Habits("helix-25.07.1", "utf-8", "false", 0.0, "steps", told_before_reply=True)

EDITORS: Sequence[Habits] = (
    Habits("vscode-1.139.1-languageclient-11.0.0", "utf-16", "false", 0.008, "steps"),
    _NEOVIM,
    replace(_NEOVIM, fixture="neovim-0.12.4"),
    replace(_NEOVIM, fixture="neovim-0.10.4", encoding="utf-16"),
    replace(_NEOVIM, fixture="neovim-0.7.2", encoding="utf-16", shows="error"),
    Habits(
        "emacs-30.1-eglot-1.17.30", "utf-32", "error", 0.5, "steps", idle=True, dismissed="silence"
    ),
    Habits(
        "emacs-28.2-eglot-1.9",
        "utf-16",
        "error",
        0.5,
        "steps",
        idle=True,
        asks_before_editing=0.3,
        dismissed="silence",
        shows="null",
    ),
    Habits(
        "emacs-28.2-lsp-mode-8.0.0",
        "utf-16",
        "false",
        0.0,
        "steps",
        told_before_reply=True,
        dismissed="silence",
        shows="null",
    ),
    _HELIX,
    replace(_HELIX, fixture="helix-25.01.1", question="error"),
    Habits("kate-22.12.3", "utf-16", "applied", 0.5, "steps", question="error", shows="error"),
    Habits("vim-9.0-vim-lsp-474c6566", "utf-16", "applied", 0.9, "merged", shows="error"),
    Habits("vim-9.0-yegappan-lsp-33aef9d", "utf-32", "applied", 0.006, "steps", shows="error"),
)
CHECKING = tuple(editor for editor in EDITORS if editor.stale != "applied")
BLIND = tuple(editor for editor in EDITORS if editor.stale == "applied")


def name_of(habits: Habits) -> str:
    """For the ids of tests."""
    return habits.fixture
