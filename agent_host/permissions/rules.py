"""Reads rules as people write them, and says what is wrong with them, with file and line.

    rules:
      - allow terminal.run git status          # exactly this command
      - allow terminal.run git diff ...        # and anything after it
      - deny terminal.run curl                 # deny and ask also cover longer commands
      - ask fs.write **/*.sql                  # a path below a root; `*.sql` alone means any depth
      - deny mcp:docs                          # each tool of an MCP server; or `mcp:docs/search`
      - deny: {path: secrets/**, reason: Customers' data.}
      - allow: {command: pytest ..., match: [pytest -q tests], noMatch: [pytest-watch]}

Each is `allow`, `ask` or `deny`, an action (a glob; `fs.*` where only a path is given,
`terminal.run` where only a command is), and a path, or a command. `network: true` lets an allow
rule cover a command that wants the network. `match` and `noMatch` are checked when rules are read.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from agent_host.core.permission import Rule
from agent_host.permissions import paths
from agent_host.permissions.matching import ANY_MORE, Target, knows_action, matches
from agent_host.permissions.programs import base, inner, is_indirect
from agent_host.permissions.servers import whole, wrong_form
from agent_host.permissions.shell import Argv, NotPlain, Plain, parse

Effect = Literal["allow", "ask", "deny"]
_EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
_FIELDS = frozenset({"action", "path", "command", "argv", "reason", "network", "match", "noMatch"})
_EXAMPLE_ROOT = "/workspace"


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """What is wrong with a rule. An "error" rule is left out, a "warning" rule is used."""

    source: str
    line: int
    reason: str
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that can be used, and what is wrong with the others."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[RuleProblem, ...] = ()


def read_rules(
    data: object, source: str, *, lines: Sequence[int] = (), narrow_only: bool = False
) -> Rules:
    """Rules from decoded YAML or JSON: a list of strings and mappings.

    `lines` are the lines of the items, from 1; without them items are counted. `narrow_only`:
    allow rules are left out, with a warning (rules that come with a workspace). A deny or ask
    rule that is broken can't be kept, so callers must show the problems.
    """
    if data is None:
        return Rules()
    if not isinstance(data, list):
        return Rules(problems=(RuleProblem(source, 1, "rules are a list"),))
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for index, item in enumerate(cast("list[object]", data)):
        line = lines[index] if index < len(lines) else index + 1
        reader = _Reader(f"{source}:{line}" if lines else f"{source}, rule {line}")
        rule = reader.read(item)
        if rule is not None and rule.effect == "allow" and narrow_only:
            reader.warn("a workspace can't allow anything; this rule is not used")
            rule = None
        if rule is not None and not reader.errors:
            rules.append(rule)
        problems += [RuleProblem(source, line, reason) for reason in reader.errors]
        problems += [RuleProblem(source, line, reason, "warning") for reason in reader.warnings]
    return Rules(tuple(rules), tuple(problems))


class _Reader:
    """Reads one rule; collects what is wrong with it."""

    def __init__(self, where: str) -> None:
        self._where = where
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def warn(self, reason: str) -> None:
        self.warnings.append(reason)

    def read(self, item: object) -> Rule | None:
        """The rule, or None with `errors` filled in."""
        found = self._effect_of(item)
        if found is None:
            self.errors.append(
                "a rule is `allow`, `ask` or `deny` with what it is about, such as"
                " `deny terminal.run curl` or `ask: {path: '**/*.sql'}`"
            )
            return None
        effect, body = found
        fields = self._fields_of(body)
        rule = self._build(effect, fields) if fields is not None else None
        if rule is not None:
            self._check_examples(rule, fields or {})
        return rule

    def _effect_of(self, item: object) -> tuple[Effect, object] | None:
        if isinstance(item, str):
            effect, _, body = item.strip().partition(" ")
            return next(((name, body) for name in _EFFECTS if name == effect), None)
        if not isinstance(item, Mapping):
            return None
        mapping = dict(cast("Mapping[object, object]", item))
        effects: list[Effect] = [name for name in _EFFECTS if name in mapping]
        if len(effects) != 1:
            return None
        body = mapping.pop(effects[0])
        if mapping and isinstance(body, str):
            body = self._fields_of(body)
        if not mapping:
            return effects[0], body
        if not isinstance(body, Mapping):
            return None
        return effects[0], {**mapping, **cast("Mapping[object, object]", body)}

    def _fields_of(self, body: object) -> dict[object, object] | None:
        if isinstance(body, Mapping):
            given = dict(cast("Mapping[object, object]", body))
            for name in given.keys() - _FIELDS:
                self.errors.append(f"a rule has no `{name}`; it has {', '.join(sorted(_FIELDS))}")
            return given
        if not isinstance(body, str) or not body.strip():
            self.errors.append("the rule says nothing about what it covers")
            return None
        action, _, rest = body.strip().partition(" ")
        fields: dict[object, object] = {"action": action}
        if rest.strip():
            fields["command" if action == "terminal.run" else "path"] = rest.strip()
        return fields

    def _build(self, effect: Effect, fields: Mapping[object, object]) -> Rule | None:
        argv = self._argv(fields)
        path = self._path(fields)
        if path is not None and argv is not None:
            self.errors.append("a rule has a path or a command, not both")
        if self.errors:
            return None
        action = self._action(fields, path=path, argv=argv)
        network = fields.get("network", False)
        reason = fields.get("reason")
        if not isinstance(network, bool):
            self.errors.append("`network` is true or false")
        if reason is not None and not isinstance(reason, str):
            self.errors.append("`reason` is a text")
        if self.errors or action is None:
            return None
        if effect == "allow" and argv and argv[-1] == ANY_MORE and _too_wide(argv):
            self.warn(f"`{' '.join(argv)}` allows every command, because `{argv[0]}` can run any")
        reason = reason if isinstance(reason, str) else None
        return Rule(effect, action, path, argv, self._where, reason, network is True)

    def _action(
        self, fields: Mapping[object, object], *, path: str | None, argv: Argv | None
    ) -> str | None:
        default = "terminal.run" if argv is not None else "fs.*" if path is not None else None
        action = fields.get("action", default)
        if not isinstance(action, str) or not action:
            self.errors.append("the rule names no action, path or command")
            return None
        action = whole(action)
        if not knows_action(action):
            self.errors.append(wrong_form(action) or f"there is no action `{action}`")
        elif argv is not None and action not in {"terminal.run", "terminal.*", "*"}:
            self.errors.append(f"`{action}` has no command")
        elif path is not None and action.startswith(("terminal", "mcp")):
            self.errors.append(f"`{action}` has no path")
        return action

    def _path(self, fields: Mapping[object, object]) -> str | None:
        path = fields.get("path")
        if path is None:
            return None
        if not isinstance(path, str) or not path:
            self.errors.append("`path` is a glob such as `src/**`")
            return None
        if reason := paths.sane(path, windows=False):
            self.errors.append(reason)
        elif ".." in path.split("/"):
            self.errors.append("a path of a rule can't go up (..)")
        return path

    def _argv(self, fields: Mapping[object, object]) -> Argv | None:
        if "command" in fields and "argv" in fields:
            self.errors.append("a rule has `command` or `argv`, not both")
            return None
        words = fields.get("command", fields.get("argv"))
        if words is None:
            return None
        if isinstance(words, str):
            try:
                words = shlex.split(words)
            except ValueError:
                words = None
        if not isinstance(words, list) or not words:
            self.errors.append("a command is a text or a list of words")
            return None
        argv = tuple(word for word in cast("list[object]", words) if isinstance(word, str))
        if len(argv) != len(cast("list[object]", words)):
            self.errors.append("each word of a command is a text; put numbers in quotes")
        if ANY_MORE in argv[:-1]:
            self.errors.append(f"`{ANY_MORE}` stands only at the end")
        if operators := {"&&", "||", ";", "|", "&"} & set(argv):
            self.errors.append(f"a rule is about one command; `{min(operators)}` joins several")
        return argv

    def _check_examples(self, rule: Rule, fields: Mapping[object, object]) -> None:
        for name, expected in (("match", True), ("noMatch", False)):
            examples = fields.get(name, [])
            if not isinstance(examples, list):
                self.errors.append(f"`{name}` is a list of examples")
                continue
            for example in cast("list[object]", examples):
                if not isinstance(example, str):
                    self.errors.append(f"an example of `{name}` is not a text")
                elif _covers(rule, example) is not expected:
                    self.errors.append(
                        f"the rule {'does not match' if expected else 'matches'} {example!r}"
                    )


def _covers(rule: Rule, example: str) -> bool:
    """Whether the rule matches a command line, a path or the name of an action."""
    roots = (_EXAMPLE_ROOT,)
    if rule.argv is not None:
        return _covers_command(rule, example)
    if rule.path is not None:
        action = "fs.read" if "*" in rule.action else rule.action
        return matches(rule, Target(action, paths.resolve(_EXAMPLE_ROOT, example)), roots)
    return matches(rule, Target(example), roots)


def _covers_command(rule: Rule, example: str) -> bool:
    def covered(part: Argv) -> bool:
        return matches(rule, Target("terminal.run", argv=part), ())

    match parse(example):
        case Plain(parts=parts) if rule.effect == "allow":
            return all(map(covered, parts))
        case NotPlain() if rule.effect == "allow":
            return False
        case Plain(parts=parts) | NotPlain(seen=parts):
            return any(covered(argv) for part in parts for argv in inner(part))


def _too_wide(argv: Argv) -> bool:
    return len(argv) == 1 or (len(argv) == 2 and is_indirect((base(argv[0]), "run")))
