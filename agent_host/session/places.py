"""Where things on disk really are, and which directories are not there yet. Nothing is changed."""

import asyncio
import posixpath

from agent_host.core.actions import PathFacts
from agent_host.core.document import Document
from agent_host.core.errors import ActionFailed
from agent_host.core.ports import Actions, Editor


async def true_place(actions: Actions, path: str, facts: PathFacts) -> str:
    """The path without links in the way to it; a link at its end stays the link that it is."""
    if not facts.through_link:
        return facts.true_path
    folder, _, name = path.rstrip("/").rpartition("/")
    return f"{(await actions.inspect(folder)).true_path.rstrip('/')}/{name}"


async def missing_directories(actions: Actions, path: str) -> list[str]:
    """The directory and those above it that do not exist, outermost first."""
    missing: list[str] = []
    try:
        while (await actions.inspect(path)).kind == "missing":
            missing.append(path)
            path = posixpath.dirname(path)
    except ActionFailed:
        pass  # above the workspace nothing is made
    return missing[::-1]


async def documents_at(editor: Editor, actions: Actions, place: str) -> list[Document]:
    """The open documents of what is there and beneath it, by whatever name they were opened."""
    documents = [each for each in editor.documents() if each.path is not None]
    places = await asyncio.gather(*(_true_path(actions, each.path or "") for each in documents))
    return [
        each
        for each, found in zip(documents, places, strict=True)
        if found == place or found.startswith(f"{place}/")
    ]


async def _true_path(actions: Actions, path: str) -> str:
    try:
        return (await actions.inspect(path)).true_path
    except ActionFailed:
        return path
