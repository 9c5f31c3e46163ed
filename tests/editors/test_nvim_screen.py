"""The Neovim plugin on a real screen, by keys alone and without any setting: what a person sees."""

import sys
from pathlib import Path

from tests.editors.conftest import DISK, Job
from tests.editors.nvim_child import Neovim
from tests.editors.test_nvim_talk import EDIT, PLUGIN

NVIM = Path(sys.executable).parent / "nvim"
TURNS = [
    [EDIT],
    [{"expect": {"result": "The user says: use tabs"}}, {"text": "As you say."}, EDIT],
    [{"text": "All done."}],
]


def test_a_person_asks_says_why_allows_and_stops_and_sees_it(job: Job, tmp_path: Path) -> None:
    environment = job.with_host(tmp_path / "turns.yaml", TURNS)
    environment |= {"XDG_STATE_HOME": str(tmp_path / "nvim")}
    argv = [NVIM, "--clean", "--cmd", f"set runtimepath^={PLUGIN}", job.file]
    with Neovim(argv, env=environment, cwd=job.root) as editor:

        def sees(*words: str) -> None:
            editor.wait(lambda: all(each in editor.screen() for each in words), f"{words}")

        editor.keys(":1AgentHost send<CR>")
        sees("agent: new session", "prompt: new session", " idle ", "<C-s> sends", "@tidy.py:1")
        editor.keys("<C-u>Tidy @ti")
        sees("@tidy.py")
        editor.keys("<C-s>iMeanwhile")
        sees("The agent asks", "Meanwhile")
        assert "▏ edits:" in editor.screen()
        editor.keys("<Esc>")
        sees("▏ … 1 line")
        assert "▏ edits:" not in editor.screen()
        sees(
            "The agent asks",
            "1  Deny",
            "+name = 'agent'",
            "1-4 chooses",
            " asking ",
            "agent: Tidy @ti",
        )
        editor.keys("r")
        sees("Denied. Tell the agent why:")
        editor.keys("use tabs<CR>")
        sees("⊘ denied", "The agent asks")
        editor.keys(":AgentHost allow<CR>")
        sees("The user says: use tabs", "All done.", "1 file changed", " idle ")
        assert "The agent asks" not in editor.screen()
        assert editor.text(job.file) == "name = 'agent'"
        editor.keys(":AgentHost revert<CR>")
        sees("tidy.py: reverted")
        assert editor.text(job.file) + "\n" == DISK
        editor.keys(":AgentHost send once more<CR>")
        sees("The agent asks")
        editor.keys("s")
        sees("■ stopped", " idle ")
        assert "The agent asks" not in editor.screen()
        assert editor.text(job.file) + "\n" == DISK
        assert "rror" not in editor.lua("return vim.fn.execute('messages')")
