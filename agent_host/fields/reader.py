"""Values together with the line they came from, and a reader that takes a mapping key by key.

Nothing wrong passes silently: bad values and unknown keys become Problems with name and line.
Not here: where the text comes from, and what a role or a setting means.
"""

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, TypeGuard, cast, get_args

from agent_host.core.model import Effort, Limits
from agent_host.core.permission import Rule

Scalar = str | int | float | bool | None
EFFORTS: tuple[Effort, ...] = get_args(Effort)
_NOTHING: Mapping[str, "Located"] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Located:
    """A value of YAML or JSON; `line` counts from 1, None where a source has no lines.

    A list has its values in `items`, a mapping in `fields`; `value` is then None.
    """

    line: int | None
    value: object = None
    items: tuple["Located", ...] | None = None
    fields: Mapping[str, "Located"] | None = None

    def plain(self) -> object:
        """The value as JSON would give it."""
        if self.items is not None:
            return [item.plain() for item in self.items]
        if self.fields is not None:
            return {key: value.plain() for key, value in self.fields.items()}
        return self.value

    @property
    def empty(self) -> bool:
        """Whether it is the same as not given at all."""
        return self.items is None and self.fields is None and self.value is None


def located(value: object, line: int | None = None) -> Located:
    """Wrap plain data, such as decoded JSON."""
    if _is_mapping(value):
        inner = {str(key): located(item, line) for key, item in value.items()}
        return Located(line, fields=MappingProxyType(inner))
    if _is_list(value):
        return Located(line, items=tuple(located(item, line) for item in value))
    return Located(line, value)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the field `name` (dotted; empty means the whole), and where."""

    name: str
    line: int | None
    reason: str
    warning: bool = False


@dataclass(slots=True)
class Fields:
    """Reads one mapping; `finish` then reports what nobody asked for.

    Every reading method returns None (or an empty tuple) for what is absent or wrong.
    """

    source: Located
    problems: list[Problem]
    name: str = ""
    _asked: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        if self.source.fields is None and not self.source.empty:
            self.report(None, f"must be a mapping of keys to values, not {_kind(self.source)}.")

    def get(self, key: str) -> Located | None:
        """The raw value; None when absent or null."""
        self._asked.add(key)
        found = (self.source.fields or _NOTHING).get(key)
        return None if found is None or found.empty else found

    def text(self, key: str) -> str | None:
        found = self.get(key)
        if found is None:
            return None
        if not isinstance(found.value, str):
            return self.report(key, f"must be text, not {_kind(found)}.")
        return found.value.strip() or None

    def choice(self, key: str, allowed: Collection[str]) -> str | None:
        found = self.get(key)
        if found is None or found.value == "":
            return None
        if isinstance(found.value, str) and found.value in allowed:
            return found.value
        return self.report(key, f"must be one of {', '.join(allowed)}; it is {_shown(found)}.")

    def flag(self, key: str) -> bool | None:
        found = self.get(key)
        if found is None or isinstance(found.value, bool):
            return None if found is None else bool(found.value)
        return self.report(key, f"must be true or false; it is {_shown(found)}.")

    def whole(self, key: str, least: int) -> int | None:
        found = self.get(key)
        if found is None:
            return None
        value = found.value
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        reason = f"must be a whole number, {least} or more; it is {_shown(found)}."
        return self.report(key, reason)

    def positive(self, key: str) -> float | None:
        found = self.get(key)
        if found is None:
            return None
        value = found.value
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
            return float(value)
        return self.report(key, f"must be a number above 0; it is {_shown(found)}.")

    def texts(self, key: str) -> tuple[Located, ...]:
        """A list of texts, each with its line."""
        found = self.get(key)
        if found is None:
            return ()
        if found.items is None:
            self.report(key, f"must be a list, not {_kind(found)}.")
            return ()
        good: list[Located] = []
        for item in found.items:
            if isinstance(item.value, str) and item.value.strip():
                good.append(Located(item.line, item.value.strip()))
            else:
                self.report(key, f"must hold texts only, not {_kind(item)}.", item.line)
        return tuple(good)

    def mapping(self, key: str) -> "Fields":
        """A nested mapping to read in its turn; call its `finish` too."""
        found = self.get(key) or Located(self.source.line)
        return Fields(found, self.problems, self._dotted(key))

    def wholes(self, key: str, least: int) -> dict[str, int]:
        """A mapping of free names to whole numbers."""
        inner = self.mapping(key)
        found = {name: inner.whole(name, least) for name in inner.rest()}
        return {name: value for name, value in found.items() if value is not None}

    def rest(self) -> Mapping[str, Located]:
        """All fields of a mapping whose keys are free; none of them is unknown then."""
        fields = self.source.fields or _NOTHING
        self._asked.update(fields)
        return fields

    def finish(self) -> None:
        """Report each key that was not asked for, with the nearest one that exists."""
        for key, value in (self.source.fields or _NOTHING).items():
            if key not in self._asked:
                reason = f"is no known key.{hint(key, self._asked)}"
                self.problems.append(Problem(self._dotted(key), value.line, reason))

    def report(self, key: str | None, reason: str, line: int | None = None) -> None:
        """Note a problem of a key (None: of the mapping itself); returns None for `return`."""
        found = self.source if key is None else (self.source.fields or _NOTHING).get(key)
        where = line if line is not None else (found or self.source).line
        name = self.name if key is None else self._dotted(key)
        self.problems.append(Problem(name, where, reason))

    def _dotted(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key


def effort_of(fields: Fields) -> Effort | None:
    """The key `effort`, the same in roles and in settings."""
    return cast("Effort | None", fields.choice("effort", EFFORTS))


def limits_of(fields: Fields) -> Limits:
    """The block `limits`, the same in roles and in settings."""
    limits = Limits(
        max_turns=fields.whole("maxTurns", 1),
        max_cost_usd=fields.positive("maxCostUsd"),
        wall_seconds=fields.positive("wallSeconds"),
        inactivity_seconds=fields.positive("inactivitySeconds"),
    )
    fields.finish()
    return limits


class RuleTrouble(Protocol):
    """What is wrong with one rule; `line` counts from 1."""

    @property
    def line(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def severity(self) -> Literal["error", "warning"]: ...


class FoundRules(Protocol):
    """The rules that can be used, and what is wrong with the others."""

    @property
    def rules(self) -> Sequence[Rule]: ...
    @property
    def problems(self) -> Sequence[RuleTrouble]: ...


class ParseRules(Protocol):
    """Reads the plain data of a `rules` block; `lines` are those of its items."""

    def __call__(self, data: object, source: str, *, lines: Sequence[int]) -> FoundRules: ...


def rules_of(fields: Fields, source: str, parse_rules: ParseRules | None) -> tuple[Rule, ...]:
    """The block `rules`; without a parser it is reported, for a ban must not vanish silently."""
    block = fields.get("rules")
    if block is None:
        return ()
    if parse_rules is None:
        fields.report("rules", "can't be read here.")
        return ()
    lines = [item.line for item in block.items or () if item.line is not None]
    found = parse_rules(block.plain(), source, lines=lines)
    for wrong in found.problems:
        line = wrong.line if lines else block.line
        warning = wrong.severity == "warning"
        fields.problems.append(Problem("rules", line, f"{wrong.reason}.", warning=warning))
    return tuple(found.rules)


def hint(word: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """A sentence, led by a space, that names the nearest known word, or all of a few."""
    lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=cutoff)
    if near:
        return f" Did you mean `{lower[near[0]]}`?"
    return f" Known: {', '.join(sorted(known))}." if known and len(known) <= 20 else ""


def _kind(found: Located) -> str:
    if found.items is not None:
        return "a list"
    if found.fields is not None:
        return "a mapping"
    match found.value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case other:
            return f"a {type(other).__name__}"


def _shown(found: Located) -> str:
    plain = repr(found.value) if found.items is None and found.fields is None else _kind(found)
    return plain if len(plain) <= 60 else plain[:57] + "..."


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, list | tuple)
