"""A bare Neovim with the README's lines: a person converses in a document, by keys alone."""

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.editors.conftest import DISK, Job, Turns, readme_lines
from tests.editors.nvim_child import Neovim

BIN = Path(sys.executable).parent
EDIT = {"path": "tidy.py", "edits": [{"old": "disk", "new": "agent"}]}
WORDS = [f"word{number}" for number in range(50)]
ANSWER = {"text": {"say": " ".join(WORDS), "seconds": 0.02}}
INITIALIZED = """
local client = vim.lsp.get_clients({ name = 'agent_host', bufnr = 0 })[1]
return client ~= nil and client.initialized == true
"""

Begin = Callable[..., AbstractContextManager[Neovim]]


@pytest.fixture
def begin(job: Job, tmp_path: Path) -> Begin:
    """Starts Neovim on a document of the workspace, with a model that takes these turns."""
    init = tmp_path / "init.lua"
    init.write_text(readme_lines("lua"))

    def start(name: str, turns: Turns) -> Neovim:
        environment = job.with_host(tmp_path / f"{name}.yaml", turns)
        environment |= {"XDG_STATE_HOME": str(tmp_path / "nvim")}
        editor = Neovim([BIN / "nvim", "--clean", "-u", init, name], env=environment, cwd=job.root)
        editor.wait(lambda: editor.lua(INITIALIZED), "the host's start")
        return editor

    return start


def choose(editor: Neovim, title: str) -> None:
    """A code action, out of the list that the editor shows."""
    editor.keys("<Esc>gra")
    pick(editor, title)


def pick(editor: Neovim, title: str) -> None:
    """One of the choices on the screen, by its number."""
    line = re.compile(rf"^(\d+): {re.escape(title)}$", re.MULTILINE)
    editor.wait(lambda: editor.is_asking() and line.search(editor.screen()), f"{title!r} in a list")
    found = line.search(editor.screen())
    assert found is not None
    editor.keys(f"{found[1]}<CR>")
    editor.wait(lambda: not editor.is_asking(), f"the end of the list with {title!r}")


def complaints(editor: Neovim) -> str:
    said = editor.lua("return vim.fn.execute('messages')")
    return "\n".join(line for line in said.split("\n") if re.search("rror|E\\d+:", line))


def test_a_prompt_is_answered_in_the_document_while_its_person_goes_on_typing(
    begin: Begin, job: Job
) -> None:
    talk = job.root / "talk.agent.md"
    turns = [
        [ANSWER, {"call": {"name": "fs_edit", "arguments": EDIT}}],
        [{"expect": {"result": "Changed|changed"}}, {"text": "It is done."}],
    ]
    with begin(talk.name, turns) as editor:
        editor.keys(":edit tidy.py<CR>Gotyped = 1<Esc>:edit #<CR>")
        editor.keys("iChange it, please.<Esc>")
        editor.wait_text(talk, "Change it, please.")
        choose(editor, "Agent: send")
        editor.wait_text(talk, "word3")
        for word in ("Meanwhile ", "I ", "go ", "on ", "typing."):
            before = editor.text(talk)
            editor.keys(("" if "Meanwhile" in before else "i") + word)
            editor.wait(lambda was=before: len(editor.text(talk)) > len(was) + 8, "more of both")
        editor.wait(editor.is_asking, "the question")
        assert "coder wants to change" in editor.screen()
        assert "Press ENTER" not in editor.screen()
        pick(editor, "Allow once")
        editor.wait_text(talk, "> completed")
        text = editor.text(talk)
        assert " ".join(WORDS) in text
        assert text.endswith("## You\nMeanwhile I go on typing.")
        assert "> +name = 'agent'\n>  typed = 1\n> ```\n> Allow once\n" in text
        assert "> changed tidy.py (+1 -1)\n" in text
        assert editor.text(job.file) == "name = 'agent'\ntyped = 1"
        editor.keys("<Esc>:buffer tidy.py<CR>u")
        editor.wait_text(job.file, f"{DISK}typed = 1")
        assert job.file.read_text() == DISK
        assert complaints(editor) == ""


def test_a_run_is_stopped_denied_and_taken_back_from_the_document(begin: Begin, job: Job) -> None:
    talk = job.root / "talk.agent.md"
    turns = [
        [{"call": {"name": "fs_edit", "arguments": EDIT}}],
        [{"text": "Next I wait."}, {"hang": True}],
    ]
    with begin(talk.name, turns) as editor:
        editor.keys("iChange it.<Esc>")
        editor.wait_text(talk, "Change it.")
        choose(editor, "Agent: send")
        pick(editor, "Deny")
        editor.wait_text(talk, "Next I wait.")
        assert "> Deny\n" in editor.text(talk)
        choose(editor, "Agent: stop")
        editor.wait_text(talk, "> stopped")
        assert job.file.read_text() == DISK
        editor.keys("<Esc>Goonce more<Esc>")
        editor.wait_text(talk, "once more")
        choose(editor, "Agent: send")
        pick(editor, "Allow once")
        editor.wait(lambda: editor.text(talk).count("Next I wait.") == 2, "the second answer")
        # Being shown where the next prompt goes would open the document again once it is closed.
        editor.wait(lambda: editor.lua("return vim.fn.line('.') == vim.fn.line('$')"), "the cursor")
        assert job.file.read_text() == "name = 'agent'\n"
        editor.keys("<Esc>:write | bdelete<CR>")
        editor.wait(lambda: editor.lua("return vim.fn.bufloaded('talk.agent.md')") == 0, "closing")
        editor.keys(":edit tidy.py<CR>")
        editor.wait(lambda: editor.lua(INITIALIZED), "the other document")
        choose(editor, "Agent: stop")
        editor.keys(":edit talk.agent.md<CR>")
        editor.wait(lambda: editor.text(talk).count("> stopped") == 2, "what was told meanwhile")
        assert talk.read_text().count("> stopped") == 1
        choose(editor, "Agent: undo its changes")
        editor.wait_text(job.file, DISK.rstrip())
        assert complaints(editor) == ""
