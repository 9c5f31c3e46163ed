"""The files that a prompt can name: as the action server lists them, kept for a few seconds.

Ignored files are not offered, but may be named. Bounded in number; asked for in the background
once there is anything to show.
"""

import asyncio
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_host.conversation.mentions import Mention, mentions
from agent_host.core.document import Position, Range
from agent_host.core.errors import ActionFailed
from agent_host.core.model import PromptPart, ResourcePart, TextPart
from agent_host.core.ports import Actions, Editor
from agent_host.core.uris import is_uri, path_to_uri

FRESH_SECONDS = 10.0
LIST_SECONDS = 3.0
DEPTH = 12
MOST = 20_000
_SUFFIX = re.compile(r"\w\.[a-zA-Z]{1,4}$")


@dataclass(frozen=True, slots=True)
class Attached:
    """What is sent, and what its person is to know of it."""

    parts: tuple[PromptPart, ...]
    notes: tuple[str, ...] = ()


class WorkspaceFiles:
    """Names of the workspace's files. `roots` are true paths; the first one needs no prefix."""

    def __init__(
        self,
        editor: Editor,
        actions: Actions,
        roots: Callable[[], Sequence[str]],
        monotonic: Callable[[], float],
    ) -> None:
        self._editor = editor
        self._actions = actions
        self._roots = roots
        self._monotonic = monotonic
        self._names: tuple[str, ...] = ()
        self._of: tuple[str, ...] = ()
        self._at = float("-inf")
        self._asking = asyncio.Lock()

    async def names(self) -> tuple[str, ...]:
        """Relative paths, directories ending with "/"; files of further roots are absolute."""
        if self._is_fresh():
            return self._names
        async with self._asking:
            if not self._is_fresh():
                await self._list()
        return self._names

    async def attached(self, prompt: str) -> Attached:
        """The prompt as it is written, then each file that it names and that exists."""
        named = mentions(prompt)
        found = [await self._resource(each) for each in named]
        missing = [each.path for each, part in zip(named, found, strict=True) if part is None]
        notes = [_not_attached(path) for path in missing if _looks_like_a_file(path)]
        parts = [each for each in found if each is not None]
        return Attached((TextPart(prompt), *parts), tuple(notes))

    def name_of(self, path: str) -> str:
        """A path as a prompt names it."""
        first = next(iter(self._roots()), None)
        inside = first is not None and path.startswith(first + "/")
        return path[len(first) + 1 :] if first is not None and inside else path

    def shortened(self, text: str) -> str:
        """A text without the path of the first root in it."""
        first = next(iter(self._roots()), None)
        return text if first is None else text.replace(f"{first}/", "")

    def _is_fresh(self) -> bool:
        is_same = self._of == tuple(self._roots())
        return is_same and self._monotonic() - self._at < FRESH_SECONDS

    async def _list(self) -> None:
        names: list[str] = []
        roots = tuple(self._roots())
        for root in roots:
            try:
                async with asyncio.timeout(LIST_SECONDS):
                    listing = await self._actions.list(root, depth=DEPTH, limit=MOST - len(names))
            except (ActionFailed, TimeoutError):
                continue
            names += (each if root == roots[0] else f"{root}/{each}" for each in listing.entries)
            if len(names) >= MOST:
                break
        self._names, self._of, self._at = tuple(names), roots, self._monotonic()

    async def _resource(self, named: Mention) -> ResourcePart | None:
        uri = await self._uri(named.path)
        if uri is None:
            return None
        if named.first is None or named.last is None:
            return ResourcePart(uri)
        first = max(1, named.first)
        return ResourcePart(uri, Range(Position(first - 1, 0), Position(max(first, named.last), 0)))

    async def _uri(self, path: str) -> str | None:
        """The URI of an open document or a regular file of that name."""
        if is_uri(path):
            document = self._editor.document(path)
            return document.uri if document else None
        for root in self._roots():
            whole = _joined(root, path)
            if (document := self._editor.document(whole)) is not None:
                return document.uri
            try:
                facts = await self._actions.inspect(whole)
            except ActionFailed:
                continue
            if facts.kind == "file":
                return path_to_uri(whole)
        return None


def _looks_like_a_file(path: str) -> bool:
    """A word behind an `@` may as well be a person, or a name in a program."""
    return "/" in path or " " in path or _SUFFIX.search(path) is not None


def _not_attached(path: str) -> str:
    if path.endswith("/"):
        return f"@{path} is not attached: only files are; the agent was told its name"
    return f"@{path} is not attached: there is no such file in the workspace"


def _joined(root: str, path: str) -> str:
    """An absolute path as it is, another below the root."""
    return posixpath.normpath(posixpath.join(root, path))
