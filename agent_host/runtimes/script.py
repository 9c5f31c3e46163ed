"""Scripts that the scripted model plays: YAML to frozen steps. scripts/README.md has the format.

A mistake in a script is reported with its file, line and key, and what is allowed there.
Not here: playing (providers/scripted.py).
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_host.core.errors import ModelNotFound
from agent_host.core.model import Usage
from agent_host.fields.reader import Fields, Located, Problem
from agent_host.fields.yaml_source import YamlError, read_yaml
from agent_host.runtimes.provider import Finish

_SCRIPTED = "as the script says"
_ALWAYS = 1_000_000
BUILTINS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True)
class Say:
    """Text, or thinking: by `characters` a piece (None: by words), `seconds` apart.

    Said only if `when` is found in a tool result since the prompt, and `unless` in none.
    """

    text: str
    thinking: bool = False
    characters: int | None = None
    seconds: float = 0.0
    when: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; all calls of a turn are made at once. `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Use:
    usage: Usage


@dataclass(frozen=True, slots=True)
class Fail:
    """An error like a vendor's: an HTTP status, or a cut connection (None).

    It happens `times` times; asked again after that, the turn goes on.
    """

    status: int | None
    message: str
    retry_after: float | None
    times: int


@dataclass(frozen=True, slots=True)
class Wait:
    """`seconds` of silence; None is until the run is stopped."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class End:
    """The turn ends in an odd way; what comes after is not played."""

    finish: Finish
    detail: str = "as the script says"


@dataclass(frozen=True, slots=True)
class Expect:
    """What the run must have told the model by now, as regular expressions; else the run fails."""

    line: int
    prompt: re.Pattern[str] | None
    result: re.Pattern[str] | None


Step = Say | Call | Use | Fail | Wait | End | Expect


@dataclass(frozen=True, slots=True)
class Script:
    """The turns of a run. `repeat`: after the last one comes the first again.

    `aside` answers what is asked beside the conversation: for a summary, for a title.
    """

    source: str
    turns: tuple[tuple[Step, ...], ...]
    repeat: bool = False
    aside: str | None = None


def load_script(name: str, cwd: str) -> Script:
    """The built-in script of that name, else the file, relative to `cwd`.

    Raises ModelNotFound when there is none or when it has mistakes.
    """
    builtin = BUILTINS / f"{name}.yaml"
    is_file = name.endswith((".yaml", ".yml"))
    path = Path(cwd, name).expanduser() if is_file else builtin
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        names = ", ".join(sorted(found.stem for found in BUILTINS.glob("*.yaml")))
        raise ModelNotFound(
            f"There is no script {name!r}: write scripted/ and the path of a .yaml file, relative "
            f"to the run's folder or absolute, or one of {names}."
        ) from error
    return parse_script(text, name)


def parse_script(text: str, source: str) -> Script:
    """Read a script; `source` names it in messages. Raises ModelNotFound that lists mistakes."""
    problems: list[Problem] = []
    try:
        script = _script(read_yaml(text), source, problems)
    except YamlError as error:
        raise ModelNotFound(
            f"The script {source} is broken: line {error.line}: {error.reason}"
        ) from error
    if problems:
        lines = "; ".join(f"line {p.line}: `{p.name}` {p.reason}" for p in problems[:5])
        raise ModelNotFound(f"The script {source} is broken: {lines}")
    return script


def _script(root: Located, source: str, problems: list[Problem]) -> Script:
    turns, repeat, aside = root, False, None
    if root.fields is not None:
        fields = Fields(root, problems)
        repeat, aside = _flag(fields, "repeat"), fields.text("aside")
        turns = fields.get("turns") or Located(root.line)
        fields.finish()
    if not turns.items:
        problems.append(Problem("turns", turns.line, "must be a list of turns, at least one."))
        return Script(source, ())
    read = tuple(
        tuple(_turn(turn, f"turns[{number}]", problems))
        for number, turn in enumerate(turns.items, 1)
    )
    return Script(source, read, repeat, aside)


def _turn(turn: Located, name: str, problems: list[Problem]) -> Iterator[Step]:
    """A turn is a list of steps, or one mapping of them, which are played as they stand."""
    for found in (turn,) if turn.items is None else turn.items:
        fields = Fields(found, problems, name)
        keys = [key for key in found.fields or () if key in _STEPS]
        for key in _STEPS:
            fields.get(key)  # so that the nearest of all is named for one that is not known
        if found.fields is not None and not found.fields:
            fields.report(None, f"must hold steps: {', '.join(_STEPS)}.")
        for key in keys:
            yield from _STEPS[key](fields, key)
        fields.finish()


def _say(fields: Fields, key: str) -> Iterator[Step]:
    found = fields.get(key) or Located(fields.source.line, "")
    if found.fields is None:
        yield Say(_string(fields, key, found) or "", thinking=key == "reasoning")
        return
    inner = fields.mapping(key)
    say = inner.get("say") or Located(found.line, "")
    yield Say(
        _string(inner, "say", say) or "",
        thinking=key == "reasoning",
        characters=inner.whole("characters", 1),
        seconds=inner.positive("seconds") or 0.0,
        when=_pattern(inner, "when"),
        unless=_pattern(inner, "unless"),
    )
    inner.finish()


def _call(fields: Fields, key: str) -> Iterator[Step]:
    yield from _one_call(fields.mapping(key))


def _calls(fields: Fields, key: str) -> Iterator[Step]:
    found = fields.get(key)
    if found is None or found.items is None:
        fields.report(key, "must be a list of calls.")
        return
    for item in found.items:
        yield from _one_call(Fields(item, fields.problems, f"{fields.name}.{key}"))


def _one_call(inner: Fields) -> Iterator[Step]:
    name, arguments = inner.text("name"), inner.get("arguments")
    inner.finish()
    if name is None:
        inner.report("name", "must name the tool to call.")
    elif arguments is None:
        yield Call(name, "{}")
    elif isinstance(arguments.value, str):
        yield Call(name, arguments.value)
    else:
        yield Call(name, json.dumps(arguments.plain(), ensure_ascii=False))


def _use(fields: Fields, key: str) -> Iterator[Step]:
    inner = fields.mapping(key)
    usage = Usage(
        requests=1,
        input_tokens=inner.whole("input", 0) or 0,
        output_tokens=inner.whole("output", 0) or 0,
        cached_tokens=inner.whole("cached", 0) or 0,
        cache_write_tokens=inner.whole("cacheWrite", 0) or 0,
        reasoning_tokens=inner.whole("reasoning", 0) or 0,
        cost_usd=inner.positive("costUsd"),
    )
    inner.finish()
    yield Use(usage)


_KINDS = {
    "auth_failed": 401,
    "model_not_found": 404,
    "rate_limited": 429,
    "overloaded": 529,
    "runtime_failed": 400,
    "cut": None,
}


def _fail(fields: Fields, key: str) -> Iterator[Step]:
    found = fields.get(key)
    if found is not None and found.fields is None:
        kind = fields.choice(key, tuple(_KINDS))
        yield Fail(_KINDS[kind] if kind else None, _SCRIPTED, None, _ALWAYS)
        return
    inner = fields.mapping(key)
    status, kind = inner.whole("status", 400), inner.choice("kind", tuple(_KINDS))
    if status is None and kind is None:
        inner.report(None, f"must have `status` or `kind` (one of {', '.join(_KINDS)}).")
    yield Fail(
        status=status if kind is None else _KINDS[kind],
        message=inner.text("message") or _SCRIPTED,
        retry_after=inner.positive("retryAfter"),
        times=inner.whole("times", 1) or _ALWAYS,
    )
    inner.finish()


def _wait(fields: Fields, key: str) -> Iterator[Step]:
    if key == "wait":
        yield Wait(fields.positive(key) or 0.0)
    elif _flag(fields, key):
        yield Wait(None)


def _end(fields: Fields, key: str) -> Iterator[Step]:
    if key == "refuse":
        yield End("refused", fields.text(key) or _SCRIPTED)
    else:
        yield End("length" if fields.choice(key, ("length", "stop")) == "length" else "stop")


def _expect(fields: Fields, key: str) -> Iterator[Step]:
    inner = fields.mapping(key)
    yield Expect(inner.source.line or 1, _pattern(inner, "prompt"), _pattern(inner, "result"))
    inner.finish()


def _pattern(fields: Fields, key: str) -> re.Pattern[str] | None:
    text = fields.text(key)
    if text is None:
        return None
    try:
        return re.compile(text, re.DOTALL)
    except re.error as error:
        return fields.report(key, f"must be a regular expression: {error}.")


def _flag(fields: Fields, key: str) -> bool:
    found = fields.get(key)
    if found is not None and not isinstance(found.value, bool):
        fields.report(key, "must be yes or no.")
    return found is not None and found.value is True


def _string(fields: Fields, key: str, found: Located) -> str | None:
    if isinstance(found.value, str):
        return found.value
    return fields.report(key, "must be text.")


_STEPS: dict[str, Callable[[Fields, str], Iterator[Step]]] = {
    "text": _say,
    "reasoning": _say,
    "call": _call,
    "calls": _calls,
    "usage": _use,
    "error": _fail,
    "wait": _wait,
    "hang": _wait,
    "refuse": _end,
    "end": _end,
    "expect": _expect,
}
