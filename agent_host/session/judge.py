"""Gathers the facts about an action and has it judged by the pure engine.

Facts that can't be had are left out, and the engine denies what it knows too little of. Not here:
asking (asker.py), doing (hands.py).
"""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

from agent_host.core.actions import (
    CallAgent,
    CallExternal,
    Command,
    CreateDirectory,
    DeletePath,
    EditFile,
    ListDirectory,
    MovePath,
    OpenInEditor,
    PathFacts,
    ReadDiagnostics,
    ReadFile,
    RunCommand,
    SearchFiles,
    SingleAction,
    UseSkill,
    WriteFile,
)
from agent_host.core.document import Document
from agent_host.core.errors import ActionFailed
from agent_host.core.model import Role
from agent_host.core.permission import Decision
from agent_host.core.ports import Actions
from agent_host.core.uris import is_uri
from agent_host.permissions import paths
from agent_host.permissions.engine import judge
from agent_host.permissions.moves import judge_move
from agent_host.permissions.shell import parse
from agent_host.permissions.subject import (
    Policy,
    Subject,
    action_name,
    command_subject,
    command_words,
)
from agent_host.permissions.visible import hides
from agent_host.session.long_results import is_reference

MAX_WORDS = 64
"""How many words of a command are looked up as paths; the others are taken as written."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision with everything that it was made of, and the command that it lets run."""

    subject: Subject
    policy: Policy
    decision: Decision
    root: str
    command: Command | None = None


def by_itself(judged: Judged) -> Judged:
    """The judgement if a runtime does it by its own means, which nothing of ours confines."""
    if judged.subject.action not in {"fs.search", "terminal.run"}:
        return judged
    subject = replace(judged.subject, by_runtime=True)
    return replace(judged, subject=subject, decision=judge(subject, judged.policy))


class OpenDocuments(Protocol):
    """What the editor has open."""

    def document(self, uri_or_path: str) -> Document | None:
        """The open document of that URI or absolute path."""
        ...


class Judge:
    """Judges the actions of all sessions; `policy` gives what holds for a role in a session."""

    def __init__(
        self,
        editor: OpenDocuments,
        actions: Actions,
        *,
        roots: Callable[[], Sequence[str]],
        policy: Callable[[Role, str, str], Policy],
    ) -> None:
        self._editor = editor
        self._actions = actions
        self._roots = roots
        self._policy = policy

    async def judge(self, action: SingleAction, role: Role, session_id: str) -> Judged:
        """Decide about an action as things are now."""
        subject = await self._subject(action)
        target = None
        if isinstance(action, MovePath):
            target = await self._file("fs.write", action.to)
            subject = replace(subject, moved_to=target.true_path)
        roots = self._roots()
        place = subject.cwd or subject.true_path or ""
        root = paths.root_of(tuple(roots), place) or (roots[0] if roots else "")
        policy = self._policy(role, session_id, root)
        decision = judge_move(subject, target, policy) if target else judge(subject, policy)
        return Judged(subject, policy, decision, root)

    async def _subject(self, action: SingleAction) -> Subject:
        match action:
            case RunCommand():
                return await self._command(action)
            case ReadFile(path) if is_reference(action):
                # The session was given the result before; that it may read is all that matters.
                return Subject("fs.read", path=path, uri=path, opened=True)
            case UseSkill(name):
                return Subject("skill.use", uri=f"the skill {name}")
            case CallExternal(tool, arguments):
                return Subject(
                    action_name(action),
                    external=f"{tool.server}/{tool.name}",
                    content=tool.digest,
                    provider=tool.how,
                    said=tool.description,
                    command_text=json.dumps(arguments, ensure_ascii=False, indent=1, default=str),
                )
            case CallAgent(role, prompt):
                return Subject(action_name(action), called=role, command_text=prompt)
            case (
                ReadFile(path)
                | ListDirectory(path)
                | SearchFiles(_, path)
                | CreateDirectory(path)
                | DeletePath(path)
                | MovePath(path)
                | OpenInEditor(path)
                | ReadDiagnostics(path)
            ):
                return await self._file(action_name(action), path)
            case WriteFile(path, text):
                subject = await self._file("fs.write", path)
                return replace(
                    subject, hidden=hides(text), overwrites_unsaved=self._unsaved(subject)
                )
            case EditFile(path, replacements):
                subject = await self._file("fs.write", path)
                return replace(subject, hidden=any(hides(each.new) for each in replacements))

    async def _file(self, name: str, path: str) -> Subject:
        if is_uri(path):
            return Subject(
                name, path=path, uri=path, opened=self._editor.document(path) is not None
            )
        try:
            return Subject(name, path=path, facts=await self._actions.inspect(path))
        except ActionFailed as failure:
            if failure.code == "outside":
                return Subject(name, path=path, outside=True)
            raise

    def _unsaved(self, subject: Subject) -> bool:
        document = self._editor.document(subject.path or "")
        if document is None:
            return False
        if document.doubtful:
            return True
        text = document.text.encode("utf-8", "surrogatepass")
        # Other encodings than UTF-8 count as unsaved, which costs a question at most.
        return subject.facts is None or subject.facts.sha256 != sha256(text).hexdigest()

    async def _command(self, action: RunCommand) -> Subject:
        try:
            cwd = (await self._actions.inspect(action.cwd)).true_path
        except ActionFailed as failure:
            if failure.code != "outside":
                raise
            return replace(command_subject(action, cwd=action.cwd), outside=True)
        command = parse(action.command)
        words = command_words(command)[:MAX_WORDS]
        found = await asyncio.gather(*(self._named(cwd, word) for word in words))
        named = {word: facts for word, facts in zip(words, found, strict=True) if facts}
        return command_subject(
            action,
            cwd=cwd,
            operands={word: facts.true_path for word, facts in named.items()},
            folders=frozenset(word for word, facts in named.items() if facts.kind == "directory"),
        )

    async def _named(self, cwd: str, word: str) -> PathFacts | None:
        """What a word of a command names, if that can be known."""
        try:
            return await self._actions.inspect(os.path.join(cwd, word))  # noqa: PTH118
        except (ActionFailed, ValueError):
            return None
