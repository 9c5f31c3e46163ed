"""Runs approved commands so that they see the editor's text, saved or not.

With a sandbox that can mount, unsaved text is laid over its files for the command alone, and what
the command does to such a file comes back as an edit in the editor. Without one, the result says
which files the command saw in their old form.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from agent_host.core.actions import Command, CommandResult, OutputStream, RunCommand
from agent_host.core.document import BufferEdit, Document
from agent_host.core.errors import ActionFailed
from agent_host.core.ports import Actions, Editor
from agent_host.editing.text import FileText, decode
from agent_host.permissions.paths import is_secret
from agent_host.permissions.safe import reading
from agent_host.permissions.shell import Parsed, Plain
from agent_host.session.judge import Judged
from agent_host.session.ledger import Ledger
from agent_host.session.opened import in_doubt
from agent_host.session.saving import Saver
from agent_host.session.sealing import sealed


class CommandRunner:
    """`overlays` says whether the sandbox can lay unsaved text over files; `prepare` makes the
    command that is executed of the one that was judged (the argv or script that was parsed).
    `new_id` gives what no two commands share.
    """

    def __init__(
        self,
        editor: Editor,
        actions: Actions,
        *,
        overlays: Callable[[], bool],
        prepare: Callable[[RunCommand], Command],
        new_id: Callable[[], str],
    ) -> None:
        self._editor = editor
        self._actions = actions
        self._overlays = overlays
        self._prepare = prepare
        self._saver = Saver(editor, actions)
        self._new_id = new_id

    def frozen(self, action: RunCommand, judged: Judged) -> Command:
        """What will be run if it is allowed: from here on nothing of it changes.

        What nobody is asked about sees no secret-looking files.
        """
        command = replace(
            self._prepare(action),
            cwd=judged.subject.cwd or action.cwd,
            hide_secrets=judged.decision.verdict != "ask",
            reads_all=_reads_all(judged.subject.command),
        )
        return sealed(command, judged.policy.sandbox, self._new_id())

    async def run(
        self, command: Command, ledger: Ledger, on_output: Callable[[OutputStream, str], None]
    ) -> CommandResult:
        """Run what was frozen to its end. Raises ActionFailed."""
        doubtful = list(in_doubt(self._editor))
        result = await self._run(command, ledger, on_output)
        return _noted(result, "what the editor holds of these files is not known", doubtful)

    async def _run(
        self, command: Command, ledger: Ledger, on_output: Callable[[OutputStream, str], None]
    ) -> CommandResult:
        unsaved = await self._unsaved()
        if command.hide_secrets:
            # Its unsaved text is as secret as the file.
            unsaved = [each for each in unsaved if not is_secret(each[0].path or "")]
        if not unsaved:
            return await self._actions.run(command, on_output)
        if not self._overlays():
            saved = await self._saver.save([document for document, _ in unsaved])
            left = [each.path or each.uri for each, _ in unsaved if each.uri not in saved]
            result = await self._actions.run(command, on_output)
            return _noted(result, "the command saw these files without unsaved changes", left)
        seen = {document.path or "": file.encoded(document.text) for document, file in unsaved}
        result = await self._actions.run(replace(command, overlay=seen), on_output)
        lost = await self._take_back(unsaved, result.changed, ledger)
        return _noted(result, "what the command did to these files could not be kept", lost)

    async def _unsaved(self) -> list[tuple[Document, FileText]]:
        """Open files whose text is not what the disk holds, with how to encode it."""
        found: list[tuple[Document, FileText]] = []
        for document in self._editor.documents():
            if document.path is None or document.doubtful:
                continue
            try:
                file = decode((await self._actions.read(document.path)).data)
            except ActionFailed as failure:
                if failure.code != "not_found":
                    continue  # not in the workspace, or nothing that an editor could save as text
                file = FileText("")
                found.append((document, file))
                continue
            if file.text != document.text:
                found.append((document, file))
        return found

    async def _take_back(
        self,
        unsaved: list[tuple[Document, FileText]],
        changed: Mapping[str, bytes],
        ledger: Ledger,
    ) -> list[str]:
        """Put what the command did to laid-over files into the editor; returns what failed."""
        lost: list[str] = []
        for document, file in unsaved:
            data = changed.get(document.path or "")
            if data is None:
                continue
            before = file.encoded(document.text)
            entry = await ledger.planned(document.uri, before, data, open=True)
            try:
                after = decode(data).text
                outcome = await self._editor.apply(
                    BufferEdit(document.uri, document.text, after, "Change by a command")
                )
                made = outcome.status == "applied"
            except ActionFailed:
                made = False
            ledger.settled(entry, made=made)
            if not made:
                lost.append(document.path or document.uri)
        return lost


def _reads_all(command: Parsed | None) -> bool:
    """Whether a part of it is known to read whole folders."""
    parts = command.parts if isinstance(command, Plain) else ()
    return any(found.recursive for found in map(reading, parts) if found is not None)


def _noted(result: CommandResult, what: str, paths: list[str]) -> CommandResult:
    if not paths:
        return result
    note = f"Note: {what}: {', '.join(paths)}"
    return replace(result, note=f"{result.note}\n{note}" if result.note else note)
