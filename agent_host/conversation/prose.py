"""The model's words on their way into a document, piece by piece. Pure.

A piece ends without white space (it comes with the next one), and no line of it can be read as a
heading of ours: such a line is indented by one space, which Markdown does not mind.
"""

import re
from dataclasses import dataclass

from agent_host.conversation.format import AGENT, YOU

CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
"""What must not reach a document: terminal sequences, control characters, odd line endings."""

_HEADINGS = (YOU.lower(), AGENT.lower())
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(slots=True)
class Prose:
    """Words in a row. `white` is the white space that is written before the next word.

    `_line` is the line so far, `_held` its beginning while that is in doubt.
    """

    white: str = ""
    _line: str = ""
    _held: str = ""
    _fence: str = ""

    def say(self, text: str) -> str:
        """What can be written now."""
        return "".join(
            self._end_line() if part == "\n" else self._words(part)
            for part in re.split(r"(\n)", CONTROL.sub("", text))
        )

    def close(self) -> str:
        """The rest, and the end of a code block that was left open; then all begins anew."""
        out = self._end_line()
        if self._fence:
            out += f"\n{self._fence}"
        self._line = self.white = self._fence = ""
        return out

    def _words(self, part: str) -> str:
        if not part:
            return ""
        if not self._line:
            part, self._held = self._held + part, ""
            low = part.lower()
            if any(each.startswith(low) for each in _HEADINGS if each != low):
                self._held = part
                return ""
            if low.startswith(_HEADINGS):
                part = " " + part
        return self._put(part)

    def _end_line(self) -> str:
        held, self._held = self._held, ""
        out = self._put(held)
        fence = _FENCE.fullmatch(self._line)
        if fence is not None and not self._fence:
            self._fence = fence[1]
        elif fence is not None and fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = ""
        self._line = ""
        self.white += "\n"
        return out

    def _put(self, part: str) -> str:
        self._line += part
        kept = part.rstrip(" \t")
        if not kept:
            self.white += part
            return ""
        out, self.white = self.white + kept, part[len(kept) :]
        return out
