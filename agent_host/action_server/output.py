"""What a command prints: head and tail are kept, the middle is counted. Bounded, whatever comes."""

import codecs
import re

from agent_host.action_wire import HEAD_BYTES, OUTPUT_BYTES, TAIL_BYTES

# Colours, cursor moves, titles: what a terminal would swallow.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]P^_X][^\x07\x1b]{0,256}\x1b?|[ -/]*)?\Z")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Kept:
    """Both streams in the order of arrival."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-TAIL_BYTES:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    @property
    def too_much(self) -> bool:
        return self.total > OUTPUT_BYTES

    def text(self) -> tuple[str, int]:
        """What is shown, with a mark where something is left out, and how many bytes that is."""
        tail = bytes(self._tail[-TAIL_BYTES:])
        omitted = self.total - len(self._head) - len(tail)
        if omitted == 0:
            return clean((bytes(self._head) + tail).decode("utf-8", "replace")), 0
        # Characters that were cut in two would show as garbage.
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        tail = tail.lstrip(bytes(range(0x80, 0xC0))) if omitted else tail
        end = tail.decode("utf-8", "replace")
        return clean(f"{head}\n[... {omitted} bytes left out ...]\n{end}"), omitted


class Live:
    """One stream as text: whole characters, no terminal sequences, whatever the pieces are."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes, *, last: bool = False) -> str:
        text = self._held + self._decoder.decode(data, last)
        cut = len(text)
        if not last and (unfinished := _UNFINISHED.search(text[-512:])):
            cut -= min(len(text), 512) - unfinished.start()
        self._held = text[cut:]
        return clean(text[:cut])


def clean(text: str) -> str:
    """The text without terminal sequences and control characters; tab, CR and LF stay."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))
