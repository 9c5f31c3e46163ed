"""What a document's editor does not take of an answer is shown to the person in another way.

It still waits for the document, and its session has it. Not here: writing (writer.py).
"""

import asyncio
from collections.abc import Callable

from agent_host.conversation.writer import DocumentWriter
from agent_host.core.ports import Editor

SECONDS_TO_WRITE = 10.0
"""A document that is told of late, or typed in all the time, has the end of its answer by then."""


class Unwritten:
    """`tell` shows one message to the person."""

    def __init__(self, editor: Editor, tell: Callable[[str], None]) -> None:
        self._editor = editor
        self._tell = tell

    def refused(self, uri: str, reason: str) -> None:
        """The editor refuses to write into a document."""
        self._tell(
            f"The agent can't write into {_name(uri)}: {reason}. Its answer is kept, and is shown "
            "when it is whole. To have it there, make the document writable and change anything."
        )

    async def show(self, writer: DocumentWriter, run_id: str, session_id: str | None) -> None:
        """Once a run is over: show what its document still lacks, if it is open."""
        try:
            async with asyncio.timeout(SECONDS_TO_WRITE):
                await writer.at_rest()
        except TimeoutError:
            pass
        answer, name = writer.unwritten(run_id), _name(writer.uri)
        if writer.is_closed or not answer or self._editor.document(writer.uri) is None:
            return
        where = await self._editor.show_text(f"Answer that {name} lacks", answer)
        if where is not None:
            kept = f" `agent-host sessions show {session_id}` tells it, too." if session_id else ""
            self._tell(f"{name} lacks an answer that its editor did not write. {where}{kept}")


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]
