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
PICKER = """
asked = {}
local own = vim.ui.select
vim.ui.select = function(items, opts, choose)
  if opts.kind ~= 'lsp_message' then return own(items, opts, choose) end
  table.insert(asked, function(title)
    for index, item in ipairs(items) do
      if item.title == title then return choose(item, index) end
    end
  end)
end
"""
"""A person's own picker of answers, as plug-ins bring them: the editor does not wait for it."""

Begin = Callable[..., AbstractContextManager[Neovim]]


@pytest.fixture
def begin(job: Job, tmp_path: Path) -> Begin:
    """Starts Neovim on a document of the workspace, with a model that takes these turns."""
    init = tmp_path / "init.lua"

    def start(name: str, turns: Turns, more: str = "") -> Neovim:
        init.write_text(readme_lines("lua") + more)
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


def test_what_waits_for_a_run_is_done_in_its_order_or_taken_back(begin: Begin, job: Job) -> None:
    talk = job.root / "talk.agent.md"
    turns = [
        [{"call": {"name": "fs_edit", "arguments": EDIT}}],
        [{"text": "{{prompt}} is heard."}],
    ]
    with begin(talk.name, turns, PICKER) as editor:
        editor.keys("iBegin<Esc>")
        editor.wait_text(talk, "Begin")
        choose(editor, "Agent: send")
        editor.wait(lambda: editor.lua("return #asked") == 1, "the question")
        for prompt in ("First", "Never", "Last"):
            editor.keys(f"<Esc>Go{prompt}<Esc>")
            editor.wait_text(talk, prompt)
            choose(editor, "Agent: send after this")
            editor.wait_text(talk, f"## You (next)\n\n{prompt}")
        editor.keys("<Esc>:call search('Never')<CR>")
        choose(editor, "Agent: take back")
        editor.wait(lambda: editor.text(talk).count("## You (next)") == 2, "taking back")
        for number in (1, 2, 3):
            editor.wait(lambda n=number: editor.lua("return #asked") == n, "a question")
            editor.lua("asked[...]('Deny')", number)
        editor.wait(lambda: editor.text(talk).count("> completed") == 3, "three answers")
        heard = re.findall(r"^(\w+) is heard\.", editor.text(talk), re.MULTILINE)
        assert heard == ["Begin", "First", "Last"]
        assert complaints(editor) == ""


def test_a_picker_that_waits_leaves_time_to_say_why_and_its_late_answer_does_nothing(
    begin: Begin, job: Job
) -> None:
    talk = job.root / "talk.agent.md"
    once = r"^(?!.*tabs[\s\S]*tabs)[\s\S]*The user says: use tabs"
    turns = [
        [{"call": {"name": "fs_edit", "arguments": EDIT}}],
        [
            {"expect": {"result": once}},
            {"text": "As you say."},
            {"call": {"name": "fs_edit", "arguments": EDIT}},
        ],
    ]
    with begin(talk.name, turns, PICKER) as editor:
        editor.keys("iChange it.<Esc>")
        editor.wait_text(talk, "Change it.")
        choose(editor, "Agent: send")
        editor.wait(lambda: editor.lua("return #asked") == 1, "the question")
        editor.keys("<Esc>Gouse tabs<Esc>")
        editor.wait_text(talk, "use tabs")
        choose(editor, "Agent: deny, for this reason")
        editor.wait_text(talk, "As you say.")
        editor.wait(lambda: editor.lua("return #asked") == 2, "the next question")
        choose(editor, "Agent: stop")
        editor.wait_text(talk, "> stopped")
        for number in (1, 2):
            editor.lua("asked[...]('Allow once')", number)
        assert editor.lua("return #asked") == 2
        assert job.file.read_text() == DISK
        assert complaints(editor) == ""


def test_a_dismissed_question_denies_and_no_word_goes_with_it(begin: Begin, job: Job) -> None:
    talk = job.root / "talk.agent.md"
    turns = [
        [{"call": {"name": "fs_edit", "arguments": EDIT}}],
        [{"expect": {"result": r"^(?![\s\S]*The user says)"}}, {"text": "I leave it."}],
    ]
    with begin(talk.name, turns) as editor:
        editor.keys("iChange it.<Esc>")
        editor.wait_text(talk, "Change it.")
        choose(editor, "Agent: send")
        editor.wait(editor.is_asking, "the question")
        editor.keys("q")
        editor.wait_text(talk, "I leave it.")
        editor.wait_text(talk, "> completed")
        assert not editor.is_asking()
        assert job.file.read_text() == DISK
        assert complaints(editor) == ""


def test_a_command_of_many_lines_keeps_the_document_short(begin: Begin, job: Job) -> None:
    talk = job.root / "talk.agent.md"
    call = {"name": "terminal_run", "arguments": {"command": "seq 35000"}}
    with begin(talk.name, [[{"call": call}], [{"text": "I have counted."}]]) as editor:
        editor.keys("iCount.<Esc>")
        editor.wait_text(talk, "Count.")
        choose(editor, "Agent: send")
        pick(editor, "Allow once")
        editor.wait_text(talk, "I have counted.")
        assert len(editor.text(talk)) < 20_000
        assert complaints(editor) == ""
