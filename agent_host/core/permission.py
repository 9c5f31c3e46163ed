"""What may be done: rules, decisions, questions and answers, as frozen data."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of policy: what `effect` has on actions that match; see permissions/rules.py.

    `action` is a glob over action names (`fs.*`), `path` a glob over the true path (relative to a
    root or absolute), `argv` a sequence of globs over the words of a command; the last may be
    `...` for any further words. `network`: an allow rule also covers a wish for the network.
    `where` is the file and line that the rule was read from, for reports.
    """

    effect: Literal["allow", "ask", "deny"]
    action: str = "*"
    path: str | None = None
    argv: tuple[str, ...] | None = None
    where: str = "built in"
    reason: str | None = None
    network: bool = False


# ---- permission


@dataclass(frozen=True, slots=True)
class Decision:
    """What may happen to one action; `source` names the step of the judgement that decided.

    `remember` lists the scopes a person may be offered; empty means this call only.
    """

    verdict: Literal["allow", "ask", "deny"]
    source: str
    reason: str
    rule: str | None = None
    where: str | None = None
    remember: tuple[Literal["session", "workspace"], ...] = ()


@dataclass(frozen=True, slots=True)
class EditPart:
    """A piece of an edit that can be accepted without the others; `diff` is its own, unified."""

    id: str
    title: str
    uri: str
    diff: str


OptionKind = Literal["deny", "allowOnce", "allowSession", "allowWorkspace", "show", "stop"]
"""`stop` denies, and ends the whole run as agent/stop does."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question; `title` is what the person clicks and names the scope."""

    id: str
    title: str
    kind: OptionKind


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked. `title` is one safe line, `detail` Markdown, `diff` unified.

    `wish` is the title without what `detail` and `diff` tell, for where these are shown below it;
    `full_text` what `Show` opens when the title can't hold everything. `parts` are what an editor
    may let the person choose from; where it can't, the answer is for all of them.
    """

    session_id: str
    run_id: str
    call_id: str
    title: str
    detail: str
    options: tuple[Option, ...]
    diff: str | None = None
    full_text: str | None = None
    parts: tuple[EditPart, ...] = ()
    wish: str | None = None

    @property
    def whole(self) -> str:
        """What `Show` opens."""
        if self.full_text is not None:
            return self.full_text
        diff = "" if self.diff is None else f"\n\n```diff\n{self.diff}\n```"
        return f"{self.title}\n\n{self.detail}{diff}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The chosen option; None means nobody chose, and `reason` says why (or why they denied).

    `accepted`: the ids of the parts that the option holds for; None means all of them.
    """

    option: Option | None
    reason: str | None = None
    accepted: tuple[str, ...] | None = None
