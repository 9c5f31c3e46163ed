"""A real Neovim with a screen, driven by keys over its own RPC (msgpack) as a person would."""

import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack

WAIT = 30.0


class Neovim:
    """`keys` are typed; `lua` looks at what is there. Nothing but keys changes anything."""

    def __init__(self, argv: list[str | Path], *, env: dict[str, str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            [argv[0], "--embed", *argv[1:]],
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._unpacker = msgpack.Unpacker(strict_map_key=False)
        self._number = 0
        self._screen = Screen(100, 40)
        self._call("nvim_ui_attach", 100, 40, {"rgb": True, "ext_linegrid": True})

    def __enter__(self) -> "Neovim":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def keys(self, keys: str) -> None:
        """Type; `<CR>` and the like are keys. Taken even while the editor waits for an answer."""
        self._call("nvim_input", keys)

    def lua(self, code: str, *arguments: object) -> Any:
        """Run some Lua and get its value."""
        return self._call("nvim_exec_lua", code, list(arguments))

    def is_asking(self) -> bool:
        """Whether a list of choices or the like waits for an answer."""
        mode = self._call("nvim_get_mode")
        return bool(mode["blocking"]) or mode["mode"] in ("c", "r", "rm", "r?")

    def screen(self) -> str:
        """What the person sees."""
        self._call("nvim_get_mode")
        return self._screen.text()

    def text(self, path: Path) -> str:
        """What the buffer of a file holds."""
        lines = "vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false)"
        return self.lua(f"return table.concat({lines}, '\\n')", str(path))

    def wait(self, is_true: Callable[[], object], what: str) -> None:
        """Look again and again until it is true."""
        deadline = time.monotonic() + WAIT
        while not is_true():
            assert time.monotonic() < deadline, f"{what} never happened:\n{self.screen()}"
            select.select([self._process.stdout], [], [], 0.02)

    def wait_text(self, path: Path, words: str) -> str:
        """Wait until the buffer holds these words; its text."""

        def holds() -> bool:
            return words in self.text(path)

        self.wait(holds, f"{words!r} in {path.name}")
        return self.text(path)

    def _call(self, method: str, *arguments: object) -> Any:
        self._number += 1
        assert self._process.stdin is not None
        self._process.stdin.write(msgpack.packb([0, self._number, method, arguments]))
        self._process.stdin.flush()
        deadline = time.monotonic() + WAIT
        while True:
            for message in self._read(deadline - time.monotonic()):
                if message[0] == 1 and message[1] == self._number:
                    if message[2] is not None:
                        raise AssertionError(f"{method}: {message[2]}")
                    return message[3]

    def _read(self, seconds: float) -> list[Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, seconds))
        assert ready, "Neovim does not answer"
        data = os.read(self._process.stdout.fileno(), 65536)
        assert data, "Neovim has gone"
        self._unpacker.feed(data)
        messages = list(self._unpacker)
        for message in messages:
            if message[0] == 2 and message[1] == "redraw":
                self._screen.draw(message[2])
        return messages


class Screen:
    """The cells of a Neovim that draws itself with `ext_linegrid`."""

    def __init__(self, width: int, height: int) -> None:
        self._cells = [[" "] * width for _ in range(height)]

    def draw(self, events: list[Any]) -> None:
        """Take the events of one `redraw`."""
        for name, *calls in events:
            for call in calls:
                match name:
                    case "grid_clear":
                        for row in self._cells:
                            row[:] = [" "] * len(row)
                    case "grid_line":
                        self._line(call[1], call[2], call[3])
                    case "grid_scroll":
                        self._scroll(*call[1:6])
                    case _:
                        pass

    def text(self) -> str:
        """The lines, without the white space at their ends."""
        return "\n".join("".join(row).rstrip() for row in self._cells).rstrip()

    def _line(self, row: int, column: int, cells: list[list[Any]]) -> None:
        for text, *more in cells:
            for _ in range(more[1] if len(more) > 1 else 1):
                self._cells[row][column] = text
                column += 1

    def _scroll(self, top: int, bottom: int, left: int, right: int, rows: int) -> None:
        kept = [row[left:right] for row in self._cells]
        for row in range(top, bottom):
            if top <= row + rows < bottom:
                self._cells[row][left:right] = kept[row + rows]
