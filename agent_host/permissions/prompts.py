"""Builds the question for an action: our frame around text that is made visible.

The title is one line of at most 600 characters; the first option is the safe one. What is longer is
in `detail`, and in `full_text` for editors that only show the title.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_host.core.permission import Decision, EditPart, Option, Question
from agent_host.permissions import paths, visible
from agent_host.permissions.engine import folder_of
from agent_host.permissions.matching import FROM_HOST
from agent_host.permissions.subject import Policy, Scope, Subject

STOP = Option("stop", "Stop", "stop")
"""The last option of every question."""

_PATH_LENGTH = 220
_NAME_LENGTH = 40
_MIN_BODY = 80
_MOST_SAID = 1500
_VERBS = {
    "fs.read": "read",
    "fs.list": "list",
    "fs.search": "search in",
    "fs.write": "change",
    "fs.createDirectory": "create the directory",
    "fs.delete": "delete",
    "editor.open": "open",
}


@dataclass(frozen=True, slots=True)
class Asking:
    """What a question needs beside the judgement.

    `diff`: of a write, unified. `explanation`: what the model says about it, shown apart and
    marked as unchecked. `parts`: of an edit, what may be accepted without the rest. `agents`: the
    roles from the run's own agent down to the one that wishes it.
    """

    session_id: str
    run_id: str
    call_id: str
    diff: str | None = None
    explanation: str | None = None
    parts: tuple[EditPart, ...] = ()
    agents: tuple[str, ...] = ()


def question_for(subject: Subject, decision: Decision, policy: Policy, asking: Asking) -> Question:
    """The question about a subject whose decision is `ask`."""
    body = _body(subject, asking)
    who = "/".join(asking.agents) or policy.role.name
    wish = f"{visible.line(who, _NAME_LENGTH * 2)} wants to {_wish(subject)}"
    title = _title(subject, decision, policy, body, wish)
    whole = asking.diff or (body if body and visible.visible(body) not in title else None)
    options = _options(subject, decision, policy, show=whole is not None)
    return Question(
        asking.session_id,
        asking.run_id,
        asking.call_id,
        title,
        _detail(subject, decision, policy, asking),
        options,
        asking.diff,
        whole,
        _visible_parts(asking),
        wish,
    )


def question_about_files(
    files: Sequence[tuple[Subject, Decision]], policy: Policy, asking: Asking
) -> Question:
    """One question about the edits of several files, each of which is asked about."""
    count = f"{visible.line(policy.role.name, _NAME_LENGTH)} wants to change {len(files)} files"
    names = ", ".join(_short(subject, policy) for subject, _ in files)
    notes = dict.fromkeys(
        note for subject, decision in files for note in _notes(subject, decision, policy, None)
    )
    tail = visible.line("".join(f" · {note}" for note in notes), visible.MAX_LENGTH // 2)
    room = max(visible.MAX_LENGTH - len(count) - len(tail) - 2, _MIN_BODY)
    lines: list[str] = []
    for subject, decision in files:
        why = f" (rule in {decision.where})" if decision.where else ""
        lines.append(f"- {_inline(f'{_short(subject, policy)}: {decision.reason}{why}')}")
    return Question(
        asking.session_id,
        asking.run_id,
        asking.call_id,
        f"{count}: {visible.line(names, room)}{tail}",
        "\n\n".join(lines),
        _options_for_files(files, policy),
        asking.diff,
        asking.diff,
        _visible_parts(asking),
        count,
    )


def _visible_parts(asking: Asking) -> tuple[EditPart, ...]:
    return tuple(
        replace(part, title=visible.line(part.title, _PATH_LENGTH)) for part in asking.parts
    )


# ---- the title


def _title(
    subject: Subject, decision: Decision, policy: Policy, body: str | None, wish: str
) -> str:
    shown = _first_change(body) if subject.action == "fs.write" else body
    notes = "".join(f" · {note}" for note in _notes(subject, decision, policy, shown))
    if not shown:
        return wish + notes
    room = max(visible.MAX_LENGTH - len(wish) - len(notes) - 2, _MIN_BODY)
    return f"{wish}: {visible.line(shown, room)}{notes}"


def _wish(subject: Subject) -> str:
    path = visible.line(subject.true_path or "?", _PATH_LENGTH)
    facts = subject.facts
    match subject.action:
        case "terminal.run":
            return f"run in {visible.line(subject.cwd or '?', _PATH_LENGTH)}"
        case "fs.write" if facts and facts.kind == "missing":
            return f"create {path}"
        case "fs.delete" if subject.moved_to is not None:
            to = visible.line(subject.moved_to, _PATH_LENGTH)
            is_directory = facts is not None and facts.kind == "directory"
            what = f"the directory {path} ({_contents(subject)})" if is_directory else path
            return f"move {what} to {to}"
        case "fs.delete" if facts and facts.kind == "directory":
            return f"delete the directory {path} ({_contents(subject)})"
        case action if action in FROM_HOST:
            return f"read {visible.line(subject.uri or '?', _PATH_LENGTH)}"
        case "agent.call":
            return f"call the agent {visible.line(subject.called or '?', _NAME_LENGTH)}"
        case action if action in _VERBS:
            return f"{_VERBS[action]} {path}"
        case _:
            return f"use the tool {_tool(subject)}"


def _tool(subject: Subject) -> str:
    server, _, tool = (subject.external or "?").partition("/")
    return f"{_name(tool)} of the MCP server {_name(server)}"


def _contents(subject: Subject) -> str:
    facts = subject.facts
    if facts is None or not facts.count:
        return "empty"
    names = ", ".join(visible.line(name, _NAME_LENGTH) for name in facts.first_names[:5])
    return f"{facts.count:,} entries: {names}{', ...' if facts.count > 5 else ''}"


def _first_change(diff: str | None) -> str | None:
    for line in (diff or "").splitlines():
        if line[:1] in {"+", "-"} and line[:3] not in {"+++", "---"} and line[1:].strip():
            return line[0] + line[1:].strip()  # its indentation says nothing
    return None


def _notes(
    subject: Subject, decision: Decision, policy: Policy, shown: str | None
) -> tuple[str, ...]:
    notes = [] if decision.source == "default" else [visible.line(decision.reason, _PATH_LENGTH)]
    if subject.action == "terminal.run":
        if subject.network and decision.source != "network":
            notes.append("with network")
        if subject.by_runtime:
            notes.append("the agent runs it itself, outside our sandbox")
        elif policy.confined:
            notes.append(f"sandbox: {policy.sandbox}")
        elif decision.source != "sandbox":
            notes.append("no sandbox")
    elif subject.true_path and (warning := paths.warning(subject.true_path)):
        notes.append(warning)
    notes += visible.notes(f"{subject.true_path or ''}{shown or ''}")
    return tuple(notes)


def _body(subject: Subject, asking: Asking) -> str | None:
    if subject.action in {"terminal.run", "agent.call"} or subject.external is not None:
        return subject.command_text
    return asking.diff


# ---- the detail


def _detail(subject: Subject, decision: Decision, policy: Policy, asking: Asking) -> str:
    lines = [visible.fenced(place) for place in _cut_places(subject)]
    body = _body(subject, asking)
    if body and asking.diff is None:
        languages = {"terminal.run": "bash", "agent.call": ""}
        lines.append(visible.fenced(body, languages.get(subject.action, "json")))
    notes = _notes(subject, decision, policy, body)
    why = f"Asked because {decision.reason}."
    if decision.where:
        why = f"Asked because of the rule in {decision.where}: {decision.reason}"
    lines += [_inline(why), *(f"- {_inline(note)}" for note in notes if note != decision.reason)]
    if subject.provider:
        lines += ["The server is:", visible.fenced(subject.provider)]
    if subject.said:
        lines += ["It says of the tool (not checked):", visible.fenced(_cut(subject.said))]
    if asking.explanation:
        lines += ["The agent says (not checked):", visible.fenced(asking.explanation)]
    return "\n\n".join(lines)


def _cut(text: str) -> str:
    left = len(text) - _MOST_SAID
    return text if left <= 0 else f"{text[:_MOST_SAID]}\n[{left} more characters]"


def _cut_places(subject: Subject) -> tuple[str, ...]:
    """The places that the title can't hold whole."""
    place = subject.cwd if subject.action == "terminal.run" else subject.true_path
    named = [each for each in (place, subject.moved_to, subject.uri) if each is not None]
    return tuple(each for each in dict.fromkeys(named) if len(visible.visible(each)) > _PATH_LENGTH)


def _inline(text: str) -> str:
    """Text within Markdown that formats nothing and links nowhere."""
    shown = visible.visible(text)
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|!" else char for char in shown)


# ---- the options


def _options(
    subject: Subject, decision: Decision, policy: Policy, *, show: bool
) -> tuple[Option, ...]:
    options = [Option("deny", "Deny", "deny"), Option("once", "Allow once", "allowOnce")]
    if "session" in decision.remember:
        title = f"Allow {_scope(subject, policy)} for this session"
        options.append(Option("session", title, "allowSession"))
    if "workspace" in decision.remember:
        title = f"Allow {_scope(subject, policy)} in this workspace for 30 days"
        options.append(Option("workspace", title, "allowWorkspace"))
    if show:
        options.append(Option("show", "Show", "show"))
    return (*options, STOP)


def _options_for_files(
    files: Sequence[tuple[Subject, Decision]], policy: Policy
) -> tuple[Option, ...]:
    options = [Option("deny", "Deny", "deny"), Option("once", "Allow once", "allowOnce")]
    if all("session" in decision.remember for _, decision in files):
        scopes = dict.fromkeys(_scope(subject, policy) for subject, _ in files)
        scope = next(iter(scopes)) if len(scopes) == 1 else "edits in the folders of these files"
        options.append(Option("session", f"Allow {scope} for this session", "allowSession"))
    return (*options, Option("show", "Show", "show"), STOP)


def _short(subject: Subject, policy: Policy) -> str:
    path = subject.true_path or "?"
    return visible.line(paths.relative(policy.roots, path) or path, _PATH_LENGTH)


def _scope(subject: Subject, policy: Policy) -> str:
    match subject.action:
        case "terminal.run":
            return "this exact command"
        case "fs.write":
            folder = folder_of(subject.true_path or "")
            inside = paths.relative(policy.roots, folder) or folder
            return "edits in " + ("the workspace" if inside == "." else _name(inside) + "/")
        case "fs.delete":
            return "deleting this file"
        case "fs.read" | "fs.list" | "fs.search":
            return "reading this file"
        case "editor.open":
            return "opening this file"
        case _:
            return f"the tool {_tool(subject)} as it is now"


def _name(text: str) -> str:
    return visible.line(text, _NAME_LENGTH * 2)


def scope_of(option: Option) -> Scope | None:
    """For how long the chosen option holds; None: for this call, or not at all."""
    match option.kind:
        case "allowSession":
            return "session"
        case "allowWorkspace":
            return "workspace"
        case _:
            return None
