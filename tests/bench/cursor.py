"""CPU time of the host for what editors ask at each move of the cursor and after each key.

`python tests/bench/cursor.py [rounds]`; in a conversation of a mebibyte and in a source file.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from measure import cpu_seconds, hosts, table

from tests.e2e.editor import Editor

ENTRY = "## You\n\nWhat does @src/main.py do?\n\n## Agent r{n}\n\n{words}\n\n> Read a.py\n\n"
ENTRIES = 600
SOURCE = "def f(x):\n    return x + 1\n\n" * 10_000
ASKED = 100


def main(rounds: int) -> None:
    talk = "".join(ENTRY.format(n=n, words="word " * 340) for n in range(ENTRIES)) + "## You\n\nx"
    rows: list[tuple[str, Sequence[float]]] = []
    with hosts() as made:
        editor = made.start("neovim")
        texts = {"talk.agent.md": (talk, "markdown"), "main.py": (SOURCE, "python")}
        for name, (text, language) in texts.items():
            uri = editor.open(made.root / name, text, language)
            for what, ask in asks(editor, uri, text.count("\n")).items():
                ask(0)
                costs = [cost(editor, ask) for _ in range(rounds)]
                rows.append((f"{name}: {what}", costs))
    table("CPU microseconds a request", rows)


def asks(editor: Editor, uri: str, last: int) -> dict[str, Callable[[int], object]]:
    """Requests by name; each asks anew at another line."""
    document: dict[str, Any] = {"textDocument": {"uri": uri}}

    def at(number: int) -> dict[str, int]:
        return {"line": number * 37 % (last + 1), "character": 0}

    def actions(number: int) -> object:
        here = {"start": at(number), "end": at(number)}
        params = document | {"range": here, "context": {"diagnostics": []}}
        return editor.request("textDocument/codeAction", params).result()

    def key(number: int) -> object:
        end = {"line": last, "character": 0}
        change = {"range": {"start": end, "end": end}, "text": "k"}
        told = {"uri": uri, "version": 100_000 + len(costs_seen)}
        costs_seen.append(number)
        params = {"textDocument": told, "contentChanges": [change]}
        editor.notify("textDocument/didChange", params)
        return editor.request("textDocument/codeLens", document).result()

    costs_seen: list[int] = []
    return {
        "codeAction": actions,
        "codeLens": lambda _: editor.request("textDocument/codeLens", document).result(),
        "foldingRange": lambda _: editor.request("textDocument/foldingRange", document).result(),
        "documentSymbol": lambda _: editor.request(
            "textDocument/documentSymbol", document
        ).result(),
        "a key, then codeLens": key,
    }


def cost(editor: Editor, ask: Callable[[int], object]) -> float:
    """Microseconds of CPU for one of many."""
    used = cpu_seconds(editor.process.pid)
    for number in range(ASKED):
        ask(number)
    return 1e6 * (cpu_seconds(editor.process.pid) - used) / ASKED


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
