"""The README's ten lines for Neovim, as they stand there, run a prompt in a bare Neovim."""

import os
import subprocess
import sys
from pathlib import Path

from tests.editors.conftest import readme_lines

NVIM = Path(sys.executable).parent / "nvim"
DRIVE = """
local said = {}
vim.notify = function(text) table.insert(said, text) end
dofile(arg[1])
vim.cmd.edit('a.txt')
local function client() return vim.lsp.get_clients({ name = 'agent_host' })[1] end
assert(vim.wait(30000, function() return client() and client().initialized end, 10), 'no host')
vim.cmd('Agent say this back')
assert(vim.wait(30000, function() return #said >= 1 end, 10), 'no answer')
vim.cmd('AgentStop')
assert(vim.wait(30000, function() return #said >= 2 end, 10), 'no stop')
client():stop()
assert(vim.wait(10000, function() return client() == nil end, 10), 'no end')
io.stdout:write(table.concat(said, '|'), '\\n')
vim.cmd('qa!')
"""


def test_a_prompt_is_run_and_answered(tmp_path: Path) -> None:
    (tmp_path / "init.lua").write_text("vim.cmd('filetype on')\n" + readme_lines("lua"))
    (tmp_path / "drive.lua").write_text(DRIVE)
    (tmp_path / "a.txt").write_text("text\n")
    done = subprocess.run(
        [NVIM, "--clean", "--headless", "-l", "drive.lua", "init.lua"],
        env={
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path / "home"),
            "XDG_STATE_HOME": str(tmp_path / "nvim"),
            "AGENT_HOST_HOME": str(tmp_path / "home"),
            "AGENT_HOST_MODEL": "scripted/echo",
        },
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "say this back|stopped"
