"""Turns the deltas of a run into the text of its answer: its words, a short line per deed. Pure.

What comes out only ever continues what came out before, ends without white space, and holds no
line that the format would read as a heading. Not here: where the text goes (writer.py).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, assert_never
from urllib.parse import unquote

from agent_host.conversation.prose import CONTROL, Prose
from agent_host.core.events import (
    Answered,
    Asked,
    Compacted,
    Compared,
    Delta,
    Edited,
    Ended,
    Logged,
    Omitted,
    Planned,
    Reasoning,
    Retried,
    Started,
    Text,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    Used,
)
from agent_host.core.model import Usage

MOST_DIFF_LINES = 60
_PLAN = {"pending": " ", "inProgress": "~", "completed": "x"}


@dataclass(slots=True)
class Composer:
    """The answer of one run, piece by piece. `_after` is what was written last.

    `shorten` makes paths shorter in what is told of deeds; questions and commands stay exact.
    """

    shorten: Callable[[str], str] = str
    _after: Literal["nothing", "words", "deed"] = "nothing"
    _prose: Prose = field(default_factory=Prose)
    _titles: dict[str, str] = field(default_factory=dict[str, str])
    _diffs: dict[str, str] = field(default_factory=dict[str, str])
    _options: dict[str, str] = field(default_factory=dict[str, str])
    _open_call: str | None = None
    _usage: Usage | None = None
    _changed: str = ""

    def feed(self, delta: Delta) -> str:
        """The text that a delta adds; often none."""
        match delta:
            case Text():
                return self._say(delta.text)
            case ToolRequested() | ToolFinished() | Asked() | Answered() | Edited():
                return self._of_call(delta)
            case Planned() | Used() | Retried() | Omitted() | Ended():
                return self._of_run(delta)
            case Compacted():
                return self._deed("the conversation so far was summed up")
            case Started() | Reasoning() | ToolOutput() | Logged() | Compared():
                return ""
            case _:
                assert_never(delta)

    def part(self) -> str:
        """The end of this part of the answer: what comes next is written below something else."""
        out = self._prose.close() if self._after == "words" else ""
        self._after, self._open_call = "nothing", None
        return out

    def note(self, text: str) -> str:
        """What was not done with the prompt as its person may have meant it."""
        return self._deed(text)

    def fail(self, code: str, message: str) -> str:
        """The run never began, or broke."""
        return self._deed(f"failed ({code}): {message}")

    # ---- words and deeds

    def _say(self, text: str) -> str:
        if self._after != "words":
            text = text.lstrip("\n")
            if not text.strip():
                return ""
            self._prose = Prose("\n\n" if self._after == "deed" else "")
            self._after = "words"
        return self._prose.say(text)

    def _deed(self, text: str, call_id: str | None = None) -> str:
        """A line of its own, quoted."""
        gap = {"nothing": "", "deed": "\n", "words": "\n\n"}[self._after]
        rest = self._prose.close() if self._after == "words" else ""
        self._after, self._open_call = "deed", call_id
        return f"{rest}{gap}> {_line(text)}"

    def _of_call(self, delta: ToolRequested | ToolFinished | Asked | Answered | Edited) -> str:
        match delta:
            case ToolRequested():
                is_command = delta.name == "terminal_run"
                title = delta.title if is_command else self.shorten(delta.title)
                self._titles[delta.call_id] = title
                return self._deed(title, delta.call_id)
            case ToolFinished():
                return self._finished(delta)
            case Asked():
                return self._asked(delta)
            case Answered():
                reason = f": {delta.reason}" if delta.reason else ""
                answer = self._options.get(delta.option_id or "", "no answer")
                return self._deed(f"{answer}{reason}")
            case Edited():
                return self._edited(delta)

    def _finished(self, delta: ToolFinished) -> str:
        title = self._titles.pop(delta.call_id, "")
        changed, self._changed = self._changed, ""
        self._diffs.pop(delta.call_id, None)
        said = _line(self.shorten(delta.summary))
        if changed and delta.status == "ok" and said.endswith(changed):
            return ""  # it was told with the lines that changed
        if delta.status != "ok" and not said.lower().startswith(delta.status):
            said = f"{delta.status}: {said}"
        if self._open_call == delta.call_id and self._after == "deed":
            self._open_call = None
            return f" · {said}" if said and said != _line(title) else ""
        return self._deed(f"{title} · {said}" if title and said != title else said)

    def _asked(self, delta: Asked) -> str:
        self._options = {option.id: option.title for option in delta.options}
        out = self._deed(f"**May it?** {delta.title}")
        diff = self._diffs.get(delta.call_id)
        if diff is None:
            return out
        lines = [CONTROL.sub("", line) for line in diff.rstrip("\n").split("\n")]
        shown = lines[:MOST_DIFF_LINES]
        if len(lines) > len(shown):
            shown.append(f"… {len(lines) - len(shown)} more lines")
        longest = max((len(run) for run in re.findall("`+", diff)), default=0)
        fence = "`" * max(3, longest + 1)
        block = [f"{fence}diff", *shown, fence]
        return out + "".join(f"\n> {line}".rstrip() for line in block)

    def _edited(self, delta: Edited) -> str:
        if delta.state == "proposed":
            self._diffs[delta.call_id] = delta.diff
            return ""
        lines = delta.diff.split("\n")
        more = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        less = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        self._changed = unquote(delta.uri.rpartition("/")[2])
        return self._deed(f"changed {self._changed} (+{more} -{less})")

    def _of_run(self, delta: Planned | Used | Retried | Omitted | Ended) -> str:
        match delta:
            case Planned():
                steps = [f"[{_PLAN[each.status]}] {each.text}" for each in delta.entries]
                return "".join(self._deed(step) for step in steps)
            case Used():
                self._usage = delta.usage
                return ""
            case Retried():
                return self._deed(f"asked again ({delta.reason}); the answer begins anew")
            case Omitted():
                return self._deed(f"left out: {delta.size:,} bytes of {delta.what}")
            case Ended():
                reason = f": {delta.reason}" if delta.reason else ""
                return self._deed(f"{delta.status}{reason}{_spent(self._usage)}")


def _spent(usage: Usage | None) -> str:
    if usage is None or not usage.input_tokens + usage.output_tokens:
        return ""
    about = "~" if usage.estimated else ""
    cost = "" if usage.cost_usd is None else f" · {about}${usage.cost_usd:.4f}"
    return f" · {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{cost}"


def _line(text: str) -> str:
    return " ".join(CONTROL.sub(" ", text).split())
