"""What can be done now, as commands with titles: the lenses and code actions. Pure, cheap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_host.conversation.format import Conversation, Entry
from agent_host.core.permission import Question

Intent = Literal["explain", "fix", "edit", "ask"]
MOST_DIAGNOSTICS = 3
_LONGEST = 70


@dataclass(frozen=True, slots=True)
class Offer:
    """A command; `line` is where a lens of it stands. `arguments` is one JSON object."""

    title: str
    command: str
    arguments: Mapping[str, object]
    line: int = 0
    kind: str = "quickfix"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the cursor or the selection is. `lines` count from 1, both ends included."""

    uri: str
    name: str
    lines: tuple[int, int]
    is_selection: bool
    diagnostics: Sequence[str] = field(default=())


def in_conversation(
    uri: str, conversation: Conversation, run_id: str | None, questions: Sequence[Question]
) -> tuple[Offer, ...]:
    """What a conversation document offers, top to bottom. `run_id` is the run that goes on."""
    found: list[Offer] = []
    if run_id is not None and conversation.answer(run_id) is None:
        found += _of_run(run_id, questions, 0, 0)  # not written yet, or deleted by the person
    for entry in conversation.entries:
        if entry.speaker == "agent":
            found += _of_answer(entry, conversation, run_id, questions)
        elif entry.mark is not None:
            arguments: dict[str, object] = {"uri": uri, "prompt": entry.body}
            found.append(Offer("Take back", "agentHost.takeBack", arguments, entry.line))
    if (prompt := conversation.prompt) is not None:
        found += _of_prompt(uri, prompt, run_id, questions)
    return tuple(found)


def nearest(offers: Sequence[Offer], line: int) -> tuple[Offer, ...]:
    """Of offers with the same title, for a list without places, the one that the cursor means.

    That is the last at or above its line, counted from 0; else the first.
    """
    chosen: dict[str, Offer] = {}
    for offer in offers:
        if offer.title not in chosen or offer.line <= line:
            chosen[offer.title] = offer
    return tuple(chosen.values())


def about_questions(questions: Sequence[Question], line: int = 0) -> Iterator[Offer]:
    """The answers to open questions; with several, each title says to which."""
    for question in questions:
        about = f": {_short(question.title)}" if len(questions) > 1 else ""
        for option in question.options:
            if option.kind == "stop":
                continue  # what stops the run is offered beside the questions
            name = "show" if option.kind == "show" else "answer"
            arguments: dict[str, object] = {"callId": question.call_id}
            if option.kind != "show":
                arguments["optionId"] = option.id
            yield Offer(f"{option.title}{about}", f"agentHost.{name}", arguments, line)


def about_place(place: Place) -> Iterator[Offer]:
    """What the agent could do with a place in a file."""
    for message in place.diagnostics[:MOST_DIAGNOSTICS]:
        yield _wish(place, "fix", f"Agent: fix: {_short(message)}", message)
    if place.is_selection:
        yield _wish(place, "explain", "Agent: explain the selection")
        yield _wish(place, "edit", "Agent: edit the selection")
    yield _wish(place, "ask", "Agent: ask about this file")


def wish(intent: Intent, where: str, message: str | None) -> str:
    """The prompt for an intent; one that ends with a space is for the person to go on with."""
    match intent:
        case "explain":
            return f"Explain {where}."
        case "fix":
            return f"Fix this problem in {where}: {message or 'what is wrong there'}"
        case "edit":
            return f"In {where}, please "
        case "ask":
            return f"About {where}: "


def stop(run_id: str | None, line: int = 0) -> Offer:
    """Stop a run, or all of them."""
    arguments: dict[str, object] = {} if run_id is None else {"runId": run_id}
    return Offer("Stop", "agentHost.stop", arguments, line)


def _of_answer(
    entry: Entry, conversation: Conversation, run_id: str | None, questions: Sequence[Question]
) -> Iterator[Offer]:
    if entry.run_id is None:
        return
    if run_id is None or entry.run_id != run_id:
        if "\n> changed " in f"\n{entry.body}":
            arguments: dict[str, object] = {"runId": entry.run_id}
            yield Offer("Undo its changes", "agentHost.revert", arguments, entry.line)
        return
    if entry is conversation.answer(run_id):
        yield from _of_run(run_id, questions, entry.line, entry.last_line)


def _of_run(
    run_id: str, questions: Sequence[Question], line: int, last_line: int
) -> Iterator[Offer]:
    yield stop(run_id, line)
    yield from about_questions([each for each in questions if each.run_id == run_id], last_line)


def _of_prompt(
    uri: str, prompt: Entry, run_id: str | None, questions: Sequence[Question]
) -> Iterator[Offer]:
    here: dict[str, object] = {"uri": uri}
    if run_id is None:
        yield Offer("Send", "agentHost.send", here, prompt.line)
        return
    yield Offer("Send now", "agentHost.send", here | {"when": "now"}, prompt.line)
    yield Offer("Send after this", "agentHost.send", here | {"when": "next"}, prompt.line)
    for question in [each for each in questions if each.run_id == run_id][:1]:
        why = here | {"callId": question.call_id, "prompt": prompt.body}
        yield Offer("Deny, for this reason", "agentHost.deny", why, prompt.line)


def _wish(place: Place, intent: Intent, title: str, message: str | None = None) -> Offer:
    arguments: dict[str, object] = {"intent": intent, "uri": place.uri}
    if intent != "ask":
        arguments["lines"] = list(place.lines)
    if message is not None:
        arguments["message"] = message
    kind = "quickfix" if intent == "fix" else "refactor"
    return Offer(title, "agentHost.ask", arguments, kind=kind)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
