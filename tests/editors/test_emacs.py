"""A bare Emacs 30 with the README's lines: a person converses in a document, by keys alone."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.editors.conftest import DISK, Job, Turns, readme_lines
from tests.editors.emacs_child import Emacs
from tests.editors.test_bare_neovim import EDIT

WORDS = [f"word{number}" for number in range(200)]
ANSWER = {"text": {"say": " ".join(WORDS), "seconds": 0.03}}
QUIET = "(setq make-backup-files nil auto-save-default nil create-lockfiles nil)\n"
"""So that nothing but the files of the test is in the workspace."""

Begin = Callable[..., AbstractContextManager[Emacs]]


@pytest.fixture
def begin(job: Job, tmp_path: Path) -> Begin:
    """Starts Emacs on a document of the workspace, with a model that takes these turns."""
    init = tmp_path / "init.el"
    init.write_text(QUIET + readme_lines("elisp"))

    def start(name: str, turns: Turns) -> Emacs:
        environment = job.with_host(tmp_path / f"{name}.yaml", turns)
        editor = Emacs(init, job.root / name, env=environment, folder=tmp_path)
        editor.wait(lambda: editor.lisp("(and (eglot-current-server) t)"), "the host's start")
        return editor

    return start


def choose(editor: Emacs, title: str) -> None:
    """A code action, by its name."""
    editor.keys("<M-x>eglot-code-actions<CR>")
    pick(editor, "Pick an action", title)


def pick(editor: Emacs, question: str, answer: str) -> None:
    """Answer in the minibuffer, in place of what is offered there."""
    offered = editor.wait_minibuffer(question).rpartition(": ")[2]
    editor.keys("<C-a><C-k>" if offered == "Deny" else "")
    editor.keys(answer.replace(" ", "<C-q> ") + "<CR>")  # a plain space would complete a word
    editor.wait(lambda: question not in editor.minibuffer(), f"the end of {question!r}")


def test_a_prompt_is_answered_in_the_document_while_its_person_goes_on_typing(
    begin: Begin, job: Job
) -> None:
    talk = job.root / "talk.agent.md"
    turns = [
        [ANSWER, {"call": {"name": "fs_edit", "arguments": EDIT}}],
        [{"expect": {"result": "hanged"}}, {"text": "It is done."}],
    ]
    with begin(talk.name, turns) as editor:
        editor.keys("<C-x><C-f>tidy.py<CR><M->>typed = 1<C-x>btalk.agent.md<CR>")
        editor.keys("Change it, please.")
        editor.wait_text(talk, "Change it, please.")
        choose(editor, "Agent: send")
        editor.wait_text(talk, "word3")
        editor.keys("<M->>")
        for word in ("Meanwhile ", "I ", "type."):
            before = editor.text(talk)
            editor.keys(word)
            editor.wait(lambda was=before: len(editor.text(talk)) > len(was) + 8, "more of both")
        assert "coder wants to change" in editor.said() + editor.wait_minibuffer("Choose an option")
        pick(editor, "Choose an option", "Allow once")
        editor.wait_text(talk, "> completed")
        text = editor.text(talk)
        assert " ".join(WORDS) in text
        assert text.rstrip().endswith("## You\n\nMeanwhile I type.")
        assert "> Allow once\n> changed tidy.py (+1 -1)\n" in text
        assert editor.text(job.file) == "name = 'agent'\ntyped = 1"
        editor.keys("<C-x>btidy.py<CR><C-_>")
        editor.wait(lambda: editor.text(job.file) == f"{DISK}typed = 1", "the undoing")
        assert job.file.read_text() == DISK


def test_a_run_is_stopped_denied_and_taken_back(begin: Begin, job: Job) -> None:
    talk = job.root / "talk.agent.md"
    turns = [
        [{"call": {"name": "fs_edit", "arguments": EDIT}}],
        [{"text": "Next I wait."}, {"hang": True}],
    ]
    with begin(talk.name, turns) as editor:
        editor.keys("Change it.")
        editor.wait_text(talk, "Change it.")
        choose(editor, "Agent: send")
        pick(editor, "Choose an option", "Deny")
        editor.wait_text(talk, "Next I wait.")
        assert "> Deny\n" in editor.text(talk)
        editor.keys("<M-x>agent-stop<CR>")
        editor.wait_text(talk, "> stopped")
        assert job.file.read_text() == DISK
        editor.keys("<M-x>agent-ask<CR>once more<CR>")
        editor.wait_minibuffer("Choose an option")
        editor.keys("<C-g>")  # that answers nothing, and the question stays open in the document
        editor.wait(lambda: editor.minibuffer() == "", "the end of the dialog")
        editor.wait(lambda: editor.text(talk).count("May it?") == 2, "the question in the document")
        choose(editor, "Agent: allow once")
        editor.wait(lambda: editor.text(talk).count("Next I wait.") == 2, "the second answer")
        assert job.file.read_text() == "name = 'agent'\n"
        choose(editor, "Agent: stop")
        editor.wait(lambda: editor.text(talk).count("> stopped") == 2, "the second stop")
        choose(editor, "Agent: undo its changes")
        editor.wait(lambda: job.file.read_text() == DISK, "the undoing")
