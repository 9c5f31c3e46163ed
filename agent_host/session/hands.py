"""Does what was decided, through the editor where a document is open, else by the action server.

Nothing here decides or asks. What goes wrong is an ActionFailed whose reason is for the model.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

from agent_host.core.actions import (
    Command,
    CommandResult,
    CreateDirectory,
    DeletePath,
    ListDirectory,
    Match,
    MovePath,
    OpenInEditor,
    OutputStream,
    PathFacts,
    ReadDiagnostics,
    ReadFile,
    RunCommand,
    SearchFiles,
    SearchQuery,
)
from agent_host.core.document import Position, Range
from agent_host.core.errors import ActionFailed
from agent_host.core.model import RawResult, ToolResult
from agent_host.core.ports import Actions, Editor
from agent_host.core.uris import path_to_uri
from agent_host.editing.text import decode
from agent_host.permissions.engine import unread_because
from agent_host.session import diagnoses
from agent_host.session.changes import exact_lines, numbered
from agent_host.session.command_runner import CommandRunner
from agent_host.session.judge import Judged
from agent_host.session.ledger import Ledger
from agent_host.session.mover import Mover
from agent_host.session.opened import in_doubt
from agent_host.session.places import documents_at, missing_directories, true_place
from agent_host.session.twins import the_open

READ_LINES = 2000
"""How many lines one read gives at most."""

SEARCH_MATCHES = 200

MOST_KEPT = 10 * 1024 * 1024
"""Bytes of a deleted file that are kept in the ledger; larger ones are in the trash alone."""

PlainAction = (
    ReadFile
    | ListDirectory
    | SearchFiles
    | CreateDirectory
    | DeletePath
    | MovePath
    | RunCommand
    | OpenInEditor
    | ReadDiagnostics
)
"""Every action but the changes of a file's text, which are planned first (changes.py)."""


class Report(Protocol):
    """Where a command's output is told while it runs."""

    def output(self, stream: OutputStream, text: str) -> None:
        """Tell a piece of it."""

    def omitted(self, what: str, size: int) -> None:
        """Tell that so many bytes were not told."""


class Hands:
    """Performs actions. `show` makes a true path short for people and models."""

    def __init__(
        self,
        editor: Editor,
        actions: Actions,
        commands: CommandRunner,
        *,
        show: Callable[[str], str],
    ) -> None:
        self._editor = editor
        self._actions = actions
        self._commands = commands
        self._mover = Mover(editor, actions)
        self._show = show

    async def perform(  # noqa: PLR0911 - one line for each action
        self,
        action: PlainAction,
        judged: Judged,
        ledger: Ledger,
        report: Report,
    ) -> ToolResult:
        """Do it, as it was judged. Raises ActionFailed."""
        facts = judged.subject.facts
        match action:
            case ReadFile():
                return await self._read(action, facts)
            case ListDirectory():
                return await self._list(action)
            case SearchFiles():
                return await self._search(action, judged)
            case CreateDirectory(path):
                # The true path: what was judged, and the action server follows no link to make it.
                return await self._create(facts.true_path if facts else path, ledger)
            case DeletePath():
                return await self._delete(action, facts, ledger)
            case MovePath():
                return await self._move(action, facts, ledger)
            case RunCommand():
                return await self._run(judged.command, ledger, report)
            case ReadDiagnostics():
                return await self._diagnostics(action)
            case OpenInEditor():
                return await self._open(action)
            case _:
                assert_never(action)

    async def _read(self, action: ReadFile, facts: PathFacts | None) -> ToolResult:
        document = await the_open(self._editor, self._actions, action.path, facts)
        if document is not None:
            text = document.text
        else:
            read = await self._actions.read(action.path)
            if facts is not None and read.true_path != facts.true_path:
                raise ActionFailed("stale", f"{action.path} became another file meanwhile.")
            text = decode(read.data).text
        limit = min(action.limit or READ_LINES, READ_LINES)
        shown, count, lines = numbered(text, action.offset, limit)
        name = self._show(action.path)
        if not text:
            return ToolResult("ok", "The file is empty.", f"Read {name} (empty)", RawResult(""))
        if not lines:
            raise ActionFailed("invalid", f"{action.path} has only {count} lines.")
        last = action.offset + lines - 1
        if last < count:
            shown += f"\n[Lines {last + 1} to {count} are left out; read them with offset.]"
        source = ", unsaved text included" if document is not None else ""
        raw = RawResult(exact_lines(text, action.offset, action.limit))
        return ToolResult("ok", shown, f"Read {name}, {lines} of {count} lines{source}", raw)

    async def _list(self, action: ListDirectory) -> ToolResult:
        listing = await self._actions.list(action.path, depth=action.depth)
        text = "\n".join(listing.entries) or "The directory is empty."
        if listing.omitted:
            text += f"\n[{listing.omitted} more entries are left out; list a subdirectory.]"
        found = f"{len(listing.entries)} entries"
        return ToolResult("ok", text, f"Listed {self._show(action.path)}, {found}")

    async def _search(self, action: SearchFiles, judged: Judged) -> ToolResult:
        found = await self._actions.search(
            SearchQuery(
                action.pattern,
                action.path,
                action.glob,
                action.ignore_case,
                SEARCH_MATCHES,
                {
                    each.path: each.text
                    for each in self._editor.documents()
                    if each.path and not each.doubtful
                },
            )
        )
        hidden = _hidden(found.matches, judged)
        matches = [match for match in found.matches if match.path not in hidden]
        text = _matches(matches, self._show) or "Nothing was found."
        for path, why in list(hidden.items())[:20]:
            text += f"\n[What was found in {self._show(path)} is not shown: {why}.]"
        if found.omitted:
            text += f"\n[{found.omitted} more matches are left out; search more narrowly.]"
        if found.skipped_secret:
            names = ", ".join(map(self._show, found.skipped_secret[:20]))
            text += f"\n[Not searched, since they look secret: {names}]"
        if doubtful := in_doubt(self._editor):
            names = ", ".join(map(self._show, doubtful[:20]))
            text += f"\n[Searched as on disk; the editor's text is not known: {names}]"
        count = len(matches) + found.omitted
        return ToolResult("ok", text, f"Searched {action.pattern!r}: {count} matches")

    async def _create(self, path: str, ledger: Ledger) -> ToolResult:
        new = await missing_directories(self._actions, path)
        entries = await ledger.planned_directories(new)
        try:
            await self._actions.create_directory(path)
        except ActionFailed:
            for entry in entries:
                ledger.settled(entry, made=False)
            raise
        for entry in entries:
            ledger.settled(entry, made=True)
        text = f"Created {path}." if new else f"{path} is there already."
        return ToolResult("ok", text, f"Created {self._show(path)}")

    async def _delete(
        self, action: DeletePath, facts: PathFacts | None, ledger: Ledger
    ) -> ToolResult:
        if facts is None or facts.identity is None:
            raise ActionFailed("not_found", f"There is no {action.path}.")
        place = await true_place(self._actions, action.path, facts)
        # Of a link only the link is deleted, not what it leads to.
        is_file = facts.kind == "file" and place == facts.true_path
        data = None
        if is_file and facts.size <= MOST_KEPT:
            data = (await self._actions.read(action.path)).data
        entry = await ledger.planned(
            path_to_uri(place),
            data,
            None,
            open=False,
            kind="delete",
            before_sha256=facts.sha256 if is_file else None,
        )
        try:
            await self._actions.delete(action.path, identity=facts.identity, trash_id=entry)
        except ActionFailed:
            ledger.settled(entry, made=False)
            raise
        ledger.settled(entry, made=True)
        left = await documents_at(self._editor, self._actions, place)
        self._editor.files_changed([place], left_open=left)
        names = ", ".join(each.path or each.uri for each in left)
        note = f" Still open in the editor, with its text: {names}" if left else ""
        text = f"Deleted {action.path}.{note}"
        return ToolResult("ok", text, f"Deleted {self._show(action.path)}")

    async def _move(self, action: MovePath, facts: PathFacts | None, ledger: Ledger) -> ToolResult:
        if facts is None or facts.kind == "missing":
            raise ActionFailed("not_found", f"There is no {action.path}.")
        note = await self._mover.move(action.path, action.to, facts, ledger)
        text = f"Moved {action.path} to {action.to}. {note}".rstrip()
        summary = f"Moved {self._show(action.path)} to {self._show(action.to)}"
        return ToolResult("ok", text, summary)

    def frozen(self, action: RunCommand, judged: Judged) -> Command:
        """The command as it will be run if it is allowed."""
        return self._commands.frozen(action, judged)

    async def _run(self, command: Command | None, ledger: Ledger, report: Report) -> ToolResult:
        if command is None:
            raise ActionFailed("denied", "Nobody has allowed this command.")
        shown = 0

        def on_output(stream: OutputStream, text: str) -> None:
            nonlocal shown
            shown += len(text.encode("utf-8", "replace"))
            report.output(stream, text)

        result = await self._commands.run(command, ledger, on_output)
        printed = result.omitted + len(result.output.encode("utf-8", "replace"))
        if result.omitted and printed > shown:
            report.omitted("output", printed - shown)
        return _told(result)

    async def _diagnostics(self, action: ReadDiagnostics) -> ToolResult:
        document = self._editor.document(action.path)
        uri = document.uri if document else path_to_uri(action.path)
        found = await self._editor.diagnostics(uri)
        if found is None:
            raise ActionFailed("unavailable", "The editor did not tell its diagnostics.")
        summary = f"Read {len(found)} diagnostics of {self._show(action.path)}"
        return ToolResult("ok", diagnoses.told(found), summary)

    async def _open(self, action: OpenInEditor) -> ToolResult:
        document = self._editor.document(action.path)
        uri = document.uri if document else path_to_uri(action.path)
        place = None
        if action.line is not None:
            start = Position(action.line - 1, 0)
            place = Range(start, start)
        if not await self._editor.show(uri, place):
            raise ActionFailed("unavailable", "The editor can't show files to the person.")
        return ToolResult("ok", f"Showed {action.path}.", f"Opened {self._show(action.path)}")


def _hidden(found: Sequence[Match], judged: Judged) -> dict[str, str]:
    """The files found in which may not be read unasked, and why; what was asked for itself may."""
    places = {match.path for match in found} - {judged.subject.true_path}
    whys = ((path, unread_because(path, judged.policy)) for path in sorted(places))
    return {path: why for path, why in whys if why is not None}


def _matches(found: Sequence[Match], show: Callable[[str], str]) -> str:
    return "\n".join(f"{show(match.path)}:{match.line}: {match.text}" for match in found)


def _told(result: CommandResult) -> ToolResult:
    """What model and person hear of a command that has run."""
    if result.timed_out:
        end = "It was stopped: its time was up."
    elif result.signal:
        end = f"It was ended by {result.signal}."
    else:
        end = f"Exit code {result.exit_code}."
    parts = [result.output.rstrip("\n"), f"[{end}]"]
    if result.omitted:
        parts.append(f"[{result.omitted} bytes of output in the middle are left out.]")
    if result.tampered:
        parts.append(f"[It changed protected files: {', '.join(result.tampered)}]")
    if result.note:
        parts.append(f"[{result.note}]")
    text = "\n".join(part for part in parts if part)
    signal = result.signal or ("SIGTERM" if result.timed_out else None)
    raw = RawResult(result.output, None if signal else result.exit_code, signal)
    return ToolResult("ok", text, end.rstrip("."), raw)
