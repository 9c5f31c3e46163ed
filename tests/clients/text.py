"""An editor's text, done the simplest way: whole strings, nothing kept between two changes."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from agent_host.lsp.host import PositionEncoding

ENDING = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Change:
    """What an editor sends: `start` and `end` are (line, column) in its encoding's units."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def units(text: str, encoding: PositionEncoding) -> int:
    match encoding:
        case "utf-8":
            return len(text.encode())
        case "utf-16":
            return len(text.encode("utf-16-le")) // 2
        case "utf-32":
            return len(text)


def offset_of(text: str, place: tuple[int, int], encoding: PositionEncoding) -> int:
    line, column = place
    offset = 0
    for _ in range(line):
        ending = ENDING.search(text, offset)
        if ending is None:
            return len(text)
        offset = ending.end()
    ending = ENDING.search(text, offset)
    content = text[offset : len(text) if ending is None else ending.start()]
    places = range(len(content) + 1)
    return offset + bisect_right(places, column, key=lambda n: units(content[:n], encoding)) - 1


def place_of(text: str, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line_start = before.rfind("\n") + 1
    return before.count("\n"), units(before[line_start:], encoding)


def changed(text: str, change: Change, encoding: PositionEncoding) -> str:
    start = offset_of(text, change.start, encoding)
    end = offset_of(text, change.end, encoding)
    start, end = min(start, end), max(start, end)
    return text[:start] + change.text + text[end:]


def merged_change(before: str, after: str, encoding: PositionEncoding) -> Change:
    """The one change between two texts, as an editor computes it that compares them."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    if before[:head].endswith("\r"):
        head -= 1
    tail = 0
    while (
        tail < min(len(before), len(after)) - head
        and before[len(before) - 1 - tail] == after[len(after) - 1 - tail]
    ):
        tail += 1
    if tail and before[len(before) - tail] == "\n":
        tail -= 1
    return Change(
        place_of(before, head, encoding),
        place_of(before, len(before) - tail, encoding),
        after[head : len(after) - tail],
    )
