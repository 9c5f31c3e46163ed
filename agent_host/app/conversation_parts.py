"""Puts together what conversation documents need: a part of the wiring diagram."""

import asyncio
import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent_host.app.conversation_commands import ConversationCommands
from agent_host.app.conversing import Conversing, PromptCommand
from agent_host.app.workspace import Workspace
from agent_host.conversation.conversations import Conversations
from agent_host.conversation.editor import ConversationEditor
from agent_host.conversation.files import Attached, WorkspaceFiles
from agent_host.conversation.format import SUFFIX
from agent_host.conversation.mentions import command_of
from agent_host.conversation.questions import OpenQuestions
from agent_host.core.guidance import GuidanceSource
from agent_host.core.ports import Actions, Editor
from agent_host.lsp.documents import Documents
from agent_host.lsp.host import Edge
from agent_host.session.manager import SessionManager
from agent_host.session.slash import COMPACT

_COMPACT = PromptCommand(
    COMPACT, "Sum up the conversation so far; words after it are kept in mind."
)

_WARNING = 2


@dataclass(frozen=True, slots=True)
class ConversationParts:
    """`editor` is the port that the sessions are to work with."""

    editor: ConversationEditor
    conversations: Conversations
    conversing: Conversing
    commands: ConversationCommands


def conversation_parts(  # noqa: PLR0913 - the wiring diagram names every part
    edge: Edge,
    documents: Documents,
    editor: Editor,
    actions: Actions,
    workspace: Workspace,
    *,
    guidance: GuidanceSource,
    manager: Callable[[], SessionManager],
    new_id: Callable[[], str],
) -> ConversationParts:
    """`manager` is made after this, with the editor that this returns."""

    def running() -> Sequence[str]:
        return [each.run_id for each in manager().status() if each.run_id]

    async def commands() -> Sequence[PromptCommand]:
        found = await guidance.read(next(iter(workspace.roots), "/"))
        prompts = found.prompts.values()
        return [_COMPACT, *(PromptCommand(each.name, each.description) for each in prompts)]

    def tell(message: str) -> None:
        edge.notify("window/showMessage", {"type": _WARNING, "message": message})

    async def composed(prompt: str) -> Attached:
        attached = await files.attached(prompt)
        name, _ = command_of(prompt) or ("", "")
        found = await guidance.read(next(iter(workspace.roots), "/")) if name else None
        broken = [each.name for each in found.problems if each.kind == "prompt"] if found else []
        known = [COMPACT, *found.prompts] if found else []
        if not name or name in (*known, *broken):
            return attached
        there = ", ".join(f"/{each}" for each in known)
        note = f"/{name} is no prompt file, so it was sent as it is; there are {there}"
        return Attached(attached.parts, (note, *attached.notes))

    files = WorkspaceFiles(editor, actions, lambda: workspace.roots, time.monotonic)
    conversations = Conversations(
        editor,
        manager,
        edge.tasks,
        compose=composed,
        shorten=files.shortened,
        new_id=new_id,
        tell=tell,
    )
    questions = OpenQuestions(lambda: conversing.refresh())  # noqa: PLW0108 - made below
    conversing = Conversing(
        edge, documents, conversations, questions, files, running=running, commands=commands
    )
    return ConversationParts(
        ConversationEditor(editor, conversations, questions),
        conversations,
        conversing,
        ConversationCommands(
            editor,
            conversations,
            questions,
            files,
            partial(_new_document, workspace.state_folder, new_id),
        ),
    )


async def _new_document(state: Path, new_id: Callable[[], str], text: str) -> str:
    """A new conversation document in the state folder; returns its URI."""

    def write() -> Path:
        folder = state / "conversations"
        folder.mkdir(parents=True, exist_ok=True)
        name = datetime.datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
        path = folder / f"{name}-{new_id()[:4]}{SUFFIX}"
        path.write_text(text, encoding="utf-8")
        return path

    return (await asyncio.to_thread(write)).as_uri()
