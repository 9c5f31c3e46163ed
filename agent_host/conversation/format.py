"""The format of conversation documents: Markdown whose headings say who speaks. Pure.

    ---                       front matter: session, role, model, runtime; all optional
    session: 0f3a
    ---
    ## You                    a prompt; "(next)" and "(now)" mark one that was sent and waits
    ## Agent 9c1b             an answer, with the id of its run

A heading counts wherever it stands, in a code block too, so that one line never depends on another.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

SUFFIX = ".agent.md"
FIELDS = ("session", "role", "model", "runtime")
YOU, AGENT = "## You", "## Agent"
WHITE = " \t\r\n"

Speaker = Literal["you", "agent"]
Mark = Literal["next", "now"]

_HEADING = re.compile(
    r"^## (?:(?P<you>You)(?: \((?P<mark>next|now)\))?|Agent(?: (?P<run>[A-Za-z0-9._:@+-]{1,128}))?)"
    r"[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_MARKS: Mapping[str | None, Mark] = MappingProxyType({"next": "next", "now": "now"})
_FRONT = re.compile(
    r"\A---[ \t]*\r?\n"
    r"(?P<fields>(?:[ \t]*(?:#[^\n]*|[a-zA-Z]+:[^\n]*)?\r?\n){0,40}?)"
    r"---[ \t]*\r?(?:\n|\Z)"
)
_FIELD = re.compile(r"^[ \t]*([a-zA-Z]+):[ \t]*([^\r\n]*?)[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """What one side said. Offsets count characters; `heading` is None for a prompt without one.

    `line` and `last_line` are the first line of the entry and its last one that says something.
    """

    speaker: Speaker
    heading: int | None
    start: int
    end: int
    line: int
    last_line: int
    body: str
    run_id: str | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A parsed document. `fields` are those of the front matter that are known and not empty."""

    fields: Mapping[str, str]
    entries: tuple[Entry, ...]

    @property
    def session_id(self) -> str | None:
        """The session that the document goes on with."""
        return self.fields.get("session")

    @property
    def prompt(self) -> Entry | None:
        """What was written and not sent yet: the last words below the last answer."""
        waiting = _unanswered(self)
        return waiting[-1] if waiting and waiting[-1].mark is None else None

    def marked(self, mark: Mark) -> Entry | None:
        """The first prompt that was sent and waits in that way."""
        return next((each for each in self.entries if each.mark == mark), None)

    def answer(self, run_id: str) -> Entry | None:
        """Where a run's answer goes on: its last entry."""
        of_run = [each for each in self.entries if each.run_id == run_id]
        return of_run[-1] if of_run else None


def is_conversation(uri: str, language_id: str, text: str) -> bool:
    """Whether a document is a conversation: by its name, and an unnamed one by its first line."""
    if uri.endswith(SUFFIX) or language_id == "agent-conversation":
        return True
    return not uri.startswith("file:") and _HEADING.match(text.lstrip("\r\n")) is not None


def parse(text: str) -> Conversation:
    """Read a document. Every text is one; what stands before the first heading is a prompt."""
    front = _FRONT.match(text)
    start = front.end() if front else 0
    fields = dict(_FIELD.findall(front["fields"])) if front else {}
    known = {name: _unquoted(fields[name]) for name in FIELDS if fields.get(name)}
    headings = list(_headings(text, start))
    entries: list[Entry] = []
    first = headings[0].start() if headings else len(text)
    line = text.count("\n", 0, start)
    if text[start:first].strip(WHITE):
        entries.append(_entry(text, None, start, first, line))
    line += text.count("\n", start, first)
    for index, heading in enumerate(headings):
        end = headings[index + 1].start() if index + 1 < len(headings) else len(text)
        entries.append(_entry(text, heading, heading.end(), end, line))
        line += text.count("\n", heading.start(), end)
    return Conversation(known, tuple(entries))


# ---- changes; each returns the new text and is made once only, however often it is applied


def with_session(text: str, session_id: str) -> str:
    """The front matter names the session."""
    if parse(text).session_id == session_id:
        return text
    newline = newline_of(text)
    front = _FRONT.match(text)
    line = f"session: {session_id}{newline}"
    if front is None:
        return f"---{newline}{line}---{newline}{newline}{text}"
    start, end = front.span("fields")
    kept = re.sub(r"(?m)^[ \t]*session:[^\n]*\n", "", front["fields"])
    return text[:start] + line + kept + text[end:]


def with_answer(text: str, prompt: str, run_id: str) -> str:
    """A place for a run's answer below the prompt that it answers, and one for the next prompt."""
    conversation = parse(text)
    if conversation.answer(run_id) is not None:
        return text
    waiting = _unanswered(conversation)
    same = [each for each in waiting if each.body == prompt]
    entry = next(iter(same or waiting[-1:]), None)
    return _answered(text, conversation, entry, run_id)


def with_more_room(text: str, run_id: str) -> str:
    """The answer of a run goes on below the first prompt that is marked as said to it."""
    conversation = parse(text)
    entry = conversation.marked("now")
    return text if entry is None else _answered(text, conversation, entry, run_id)


def with_mark(text: str, prompt: str, mark: Mark | None) -> str:
    """The prompt is marked as one that waits so (None: that does not wait), with room below it."""
    same = [each for each in _unanswered(parse(text)) if each.body == prompt]
    entry = next((each for each in reversed(same) if each.mark != mark), None)
    if entry is None:
        return text
    heading = YOU if mark is None else f"{YOU} ({mark})"
    if entry.heading is None:
        at, newline = entry.start, newline_of(text)
        text = f"{text[:at]}{heading}{newline}{newline}{text[at:].lstrip(WHITE)}"
    else:
        text = text[: entry.heading] + heading + text[entry.start :]
    return with_room(text) if mark else text


def with_prompt(text: str, prompt: str) -> str:
    """The room for the next prompt begins, or goes on, with this one."""
    text = with_room(text)
    newline = newline_of(text)
    body = parse(text).entries[-1].body
    said = text.rstrip(WHITE)
    if said.endswith(prompt.rstrip(WHITE)) and body:
        return text
    gap = newline * 2
    return f"{said}{gap}{prompt}{newline if not prompt.endswith(' ') else ''}"


def with_room(text: str) -> str:
    """The document ends with a place for the next prompt."""
    entries = parse(text).entries
    newline = newline_of(text)
    if entries and _is_room(entries[-1]):
        line_ends = text.count("\n", entries[-1].start)
        return text if entries[-1].body else text + newline * max(0, 2 - line_ends)
    said = text.rstrip(WHITE)
    gap = newline * 2 if said else ""
    return f"{said}{gap}{YOU}{newline}{newline}"


def appended(text: str, run_id: str, piece: str) -> str | None:
    """More of a run's answer at its end; None if its place is gone."""
    entry = parse(text).answer(run_id)
    if entry is None:
        return None
    if not entry.body:
        piece = "\n\n" + piece.lstrip("\n")
    at = entry.start + len(text[entry.start : entry.end].rstrip(WHITE))
    return text[:at] + piece.replace("\n", newline_of(text)) + text[at:]


def newline_of(text: str) -> str:
    """The line ending that a document uses."""
    return "\r\n" if "\r\n" in text[:4096] else "\n"


# ---- the rest


def _headings(text: str, start: int) -> Iterator[re.Match[str]]:
    """All headings from an offset on: a search for their beginning is ten times as fast."""
    at = start if text.startswith("## ", start) else text.find("\n## ", start) + 1
    while text.startswith("## ", at):
        if heading := _HEADING.match(text, at):
            yield heading
        at = text.find("\n## ", at) + 1 or len(text)


def _entry(text: str, heading: re.Match[str] | None, start: int, end: int, line: int) -> Entry:
    inside = text[start:end]
    body = inside.strip(WHITE)
    first = heading.start() if heading else start
    last = line + text.count("\n", first, start + len(inside.rstrip(WHITE)))
    if heading is None:
        line += inside.count("\n", 0, len(inside) - len(inside.lstrip(WHITE)))
        return Entry("you", None, start, end, line, last, body)
    if heading["you"]:
        mark = _MARKS.get(heading["mark"])
        return Entry("you", heading.start(), start, end, line, last, body, mark=mark)
    return Entry("agent", heading.start(), start, end, line, last, body, run_id=heading["run"])


def _unanswered(conversation: Conversation) -> list[Entry]:
    """The prompts below the last answer, oldest first."""
    found: list[Entry] = []
    for entry in reversed(conversation.entries):
        if entry.speaker == "agent":
            break
        if entry.body:
            found.insert(0, entry)
    return found


def _is_room(entry: Entry) -> bool:
    return entry.speaker == "you" and entry.mark is None and entry.heading is not None


def _answered(text: str, conversation: Conversation, entry: Entry | None, run_id: str) -> str:
    """A heading for an answer below an entry; without one before the room for the next prompt."""
    if entry is not None:
        at = entry.start + len(text[entry.start : entry.end].rstrip(WHITE))
        if entry.mark is not None and entry.heading is not None:
            text, before = text[: entry.heading] + YOU + text[entry.start :], len(text)
            at += len(text) - before
    else:
        last = conversation.entries[-1] if conversation.entries else None
        is_empty = last is not None and _is_room(last) and not last.body
        at = len(text[: last.heading if last and is_empty else None].rstrip(WHITE))
    return with_room(_inserted(text, at, f"{AGENT} {run_id}"))


def _inserted(text: str, at: int, heading: str) -> str:
    """The text with a heading of its own at an end of something."""
    newline = newline_of(text)
    after = text[at:].lstrip(WHITE)
    gap = newline * 2 if text[:at] else ""
    tail = f"{newline}{newline}{after}" if after else newline
    return f"{text[:at]}{gap}{heading}{tail}"


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
