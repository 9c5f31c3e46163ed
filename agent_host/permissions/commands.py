"""The judgement of commands: each part of a chain is judged, a denial of any part wins.

A command is let through only if every part is covered by a grant, an allow rule or the safe
table, and only inside a sandbox that is one. Text that is not plain can be asked, never allowed.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import Literal

from agent_host.core.permission import Decision, Rule
from agent_host.permissions import paths
from agent_host.permissions.matching import Target, matches, names_exactly
from agent_host.permissions.programs import base, inner, is_indirect
from agent_host.permissions.safe import is_safe, reading
from agent_host.permissions.shell import Argv, NotPlain, Plain, Unread
from agent_host.permissions.subject import Policy, Subject, command_key, command_words
from agent_host.permissions.verdicts import (
    allow,
    ask,
    by_rule,
    deny,
    first_match,
    first_path_match,
    rules_of,
)

_DISK = re.compile(
    r"(?<![\w./-])/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|dm-|loop|md[0-9]|mem|kmem)"
)
_MAX_SEEN = 2000
_NARROWING: tuple[Literal["deny", "ask"], ...] = ("deny", "ask")
_REVISION = re.compile(r"HEAD(:.*)?")
_REMOVERS = frozenset({"rm", "rmdir", "unlink", "shred"})
_CHANGERS = frozenset({"chmod", "chown", "chgrp", "chattr", "setfacl"})


def judge_command(subject: Subject, policy: Policy) -> Decision:
    """Decide about a command; the steps up to trust were taken before."""
    command, text, cwd = subject.command, subject.command_text, subject.cwd
    if command is None or text is None or cwd is None:
        return deny("engine", "the facts about the command are missing")
    if isinstance(command, Unread):
        return deny("engine", command.reason)
    case = _Case(subject, policy, command, cwd)
    for step in (_place, _hard, _denied, _sandbox, _protected, _asked, _plain, _unusual):
        if found := step(case):
            return found
    return _covered(case)


@dataclass(frozen=True, slots=True)
class _Case:
    subject: Subject
    policy: Policy
    command: Plain | NotPlain
    cwd: str

    def parts(self) -> tuple[Argv, ...]:
        return self.command.parts if isinstance(self.command, Plain) else self.command.seen

    def places(self) -> Iterator[str]:
        """The paths that words of the command may name: as written, and what they really are."""
        for word in command_words(self.command):
            yield (written := self.written(word))
            yield self.subject.operands.get(word, written)

    def place(self, word: str) -> str:
        """Where a word leads; what a shell may still change is taken as written."""
        written = self.written(word)
        if isinstance(self.command, NotPlain):
            return written
        return self.subject.operands.get(word, written)

    def written(self, word: str) -> str:
        if isinstance(self.command, NotPlain):
            word = self._expanded(word)
        return paths.resolve(self.cwd, word)

    def _expanded(self, word: str) -> str:
        """What a shell would make of the home in a word; good enough to deny."""
        home = self.policy.home or "~"
        word = word.strip("\"'")
        for name in ("$HOME", "${HOME}"):
            word = word.replace(name, home)
        return home + word[1:] if word == "~" or word.startswith("~/") else word


def _place(case: _Case) -> Decision | None:
    if case.subject.outside or paths.root_of(case.policy.roots, case.cwd) is None:
        return deny("hard", "a command can't start outside the workspace")
    return None


def _hard(case: _Case) -> Decision | None:
    """A filter for what must never run; the wall is the sandbox."""
    everything = list(islice(_all(case), _MAX_SEEN + 1))
    if len(everything) > _MAX_SEEN:
        return deny("hard", "it nests too many commands to be judged")
    if any(map(_DISK.search, (case.subject.command_text or "", *case.places()))):
        return deny("hard", "it names a disk or the machine's memory")
    for argv in everything:
        program = base(argv[0])
        if program not in _REMOVERS | _CHANGERS:
            continue
        places = [case.place(word) for word in argv[1:] if word and not word.startswith("-")]
        if any(_holds(_home(case), place) for place in places):
            return deny("hard", "it would remove or change the whole machine or home")
        if program in _REMOVERS and any(_holds(case.policy.roots, place) for place in places):
            return deny("hard", "it would remove the whole workspace")
    return None


def _home(case: _Case) -> tuple[str, ...]:
    return (case.policy.home or "/",)


def _holds(vital: tuple[str, ...], place: str) -> bool:
    """Whether a vital directory is the place or below it."""
    place = place.removesuffix("/*") or "/"
    return any(paths.beneath(place, directory) for directory in vital)


def _denied(case: _Case) -> Decision | None:
    return _by_rules("deny", case)


def _by_rules(effect: Literal["deny", "ask"], case: _Case) -> Decision | None:
    """Rules on any command that can be seen in it, and on reading what its words name."""
    for argv in _all(case):
        if found := first_match(effect, Target("terminal.run", argv=argv), case.policy):
            return by_rule(*found)
    for place in case.places():
        if found := first_path_match(effect, Target("fs.read", place), case.policy):
            return by_rule(*found)
    return None


def _all(case: _Case) -> Iterator[Argv]:
    for part in case.parts():
        yield from inner(part)
    if not case.parts():
        yield ("",)


def _sandbox(case: _Case) -> Decision | None:
    if case.policy.sandbox_required and case.subject.by_runtime:
        return deny("sandbox", "commands need a sandbox here, and the agent would run it outside")
    if case.policy.sandbox_required and not case.policy.confined:
        return deny("sandbox", "commands need a sandbox here, and there is none")
    return None


def _protected(case: _Case) -> Decision | None:
    if all(map(is_safe, case.parts())) and isinstance(case.command, Plain):
        return None
    for place in case.places():
        if _REVISION.fullmatch(place.removeprefix(f"{case.cwd}/")):
            continue  # no file; one that makes a repository is looked for when the command has run
        if reason := paths.is_protected(place, case.policy.roots, case.policy.own):
            return ask("protected", f"it names a protected path ({reason})")
        for effect in ("deny", "ask"):
            if found := first_path_match(effect, Target("fs.write", place), case.policy):
                return replace(by_rule(*found), verdict="ask")
    return None


def _asked(case: _Case) -> Decision | None:
    return _by_rules("ask", case)


def _plain(case: _Case) -> Decision | None:
    if isinstance(case.command, NotPlain):
        return ask("shell", f"it is not a plain command: {case.command.reason}")
    return None


def _unusual(case: _Case) -> Decision | None:
    """What neither a grant nor (but for the network) a rule lets through."""
    if case.subject.hidden:
        return ask("caution", "it holds hidden characters")
    if not case.policy.confined:
        return ask("sandbox", "there is no sandbox: it can do all that you can")
    if case.subject.network and any(_rule_for(case, part) is None for part in case.parts()):
        return ask("network", "it wants to reach the network")
    return None


def _covered(case: _Case) -> Decision:
    indirect = any(map(is_indirect, case.parts()))
    whole = command_key(case.subject, case.policy)
    forgets = indirect or case.subject.network
    if whole and not forgets and (grant := case.policy.grants.find(whole)):
        return allow("grant", f"you allowed it for this {grant.scope}", rule=grant.id)
    decisions = [_part(case, index) for index in range(len(case.parts()))]
    open_parts = [part for part, found in zip(case.parts(), decisions, strict=True) if not found]
    if decisions and not open_parts:
        return next(found for found in decisions if found)
    if indirect:
        return ask("wrapper", "it can run anything, so it is asked each time")
    if _secret(case):
        return ask("secret", "it names a file that looks secret", "session")
    return ask("default", "it runs a command", "session", "workspace")


def _part(case: _Case, index: int) -> Decision | None:
    """What covers one part; None if nothing does."""
    part = case.parts()[index]
    if found := _rule_for(case, part):
        return found
    if not isinstance(case.command, Plain) or case.command.moves or case.subject.network:
        return None
    if found := _safe(case, part):
        return found
    # What a part does depends on what is piped into it: a grant never covers that alone.
    if case.command.fed_by_pipe(index) or is_indirect(part):
        return None
    key = command_key(case.subject, case.policy, shlex.join(part))
    grant = case.policy.grants.find(key) if key else None
    return (
        allow("grant", f"you allowed it for this {grant.scope}", rule=grant.id) if grant else None
    )


def _rule_for(case: _Case, part: Argv) -> Decision | None:
    target = Target("terminal.run", argv=part, network=case.subject.network)
    secret = _secret(case)
    for source, rule in rules_of("allow", case.policy):
        if not matches(rule, target, case.policy.roots):
            continue
        if not secret or names_exactly(rule, target):
            return by_rule(source, rule)
    return None


def _safe(case: _Case, part: Argv) -> Decision | None:
    """The safe table: all that it reads is known, in the workspace, and does not look secret."""
    if not case.policy.shell_auto_allow or case.subject.by_runtime:
        return None  # the table is for what the sandbox confines
    found, why = reading(part), is_safe(part)
    if found is None or why is None or (found.recursive and not _all_hidden(case.policy)):
        return None
    for word in found.files:
        place = case.cwd if word == "." else case.subject.operands.get(word)
        if found.no_folders and word in ({".", ".."} | case.subject.folders):
            return None
        if place is None or paths.is_secret(place) or not paths.root_of(case.policy.roots, place):
            return None
    return allow("safe table", why)


def _all_hidden(policy: Policy) -> bool:
    """Whether a command that reads whole trees sees nothing that reading asks for, or denies."""
    rules = (rule for effect in _NARROWING for _, rule in rules_of(effect, policy))
    return policy.secrets_masked and all(map(_is_hidden, rules))


def _is_hidden(rule: Rule) -> bool:
    """Whether the sandbox hides what the rule says of reading: it goes by the names of files."""
    if rule.path is None or not fnmatchcase("fs.read", rule.action):
        return True
    name = rule.path.rsplit("/", 1)[-1]
    return names_exactly(rule, Target("fs.read")) and paths.is_secret(f"/{name}") is not None


def _secret(case: _Case) -> bool:
    return any(map(paths.is_secret, case.places()))
