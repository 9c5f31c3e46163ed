"""Vim 9 with ALE and the README's lines: a person converses in a document, by keys alone.

ALE answers no request, asks no question, and checks no version: the least that a client does.
"""

import re
from pathlib import Path

from tests.editors.conftest import DISK, Job, readme_lines
from tests.editors.test_bare_neovim import EDIT
from tests.editors.vim_child import Vim

WORDS = [f"word{number}" for number in range(60)]
TURNS = [
    [
        {"text": {"say": " ".join(WORDS), "seconds": 0.05}},
        {"call": {"name": "fs_edit", "arguments": EDIT}},
    ],
    [{"expect": {"result": "hanged"}}, {"text": "It is done."}, {"hang": True}],
]
BARE = "set nocompatible noswapfile viminfo=\nfiletype on\npackadd! ale\n"


def choose(editor: Vim, title: str) -> None:
    """A code action, by its number in the list that ALE shows."""
    began = len(editor.output)
    editor.keys("<Esc>:ALECodeAction<CR>")
    line = re.compile(rf"(\d+)\) {re.escape(title)}[^ -~]".encode())
    editor.wait(lambda: line.search(editor.output, began), f"{title!r} on the screen")
    number = line.search(editor.output, began)
    assert number is not None
    editor.keys(f"{number[1].decode()}<CR>")


def test_a_prompt_is_answered_asked_about_stopped_and_undone(job: Job, tmp_path: Path) -> None:
    init = tmp_path / "vimrc"
    init.write_text(BARE + readme_lines("vim"))
    talk = job.root / "talk.agent.md"
    with Vim(init, talk, env=job.with_host(tmp_path / "script.yaml", TURNS)) as editor:
        editor.keys("iChange it, please.")
        choose(editor, "Agent: send")
        editor.wait_text(talk, "word3")
        editor.keys("Go")
        for word in ("Meanwhile ", "I ", "type."):
            before = editor.text(talk)
            editor.keys(word)
            editor.wait(lambda was=before: len(editor.text(talk)) > len(was) + 8, "more of both")
        editor.wait_text(talk, "May it?")
        choose(editor, "Agent: allow once")
        text = editor.wait_text(talk, "It is done.")
        assert " ".join(WORDS) in text
        assert text.rstrip().endswith("## You\n\nMeanwhile I type.")
        assert job.file.read_text() == "name = 'agent'\n"
        choose(editor, "Agent: stop")
        editor.wait_text(talk, "> stopped")
        choose(editor, "Agent: undo its changes")
        editor.wait(lambda: job.file.read_text() == DISK, "the undoing")
