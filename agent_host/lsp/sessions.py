"""The `agent/session/*` methods: each reads its params, asks the Library, tells the result."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from pydantic import BaseModel

from agent_host.lsp import convert, convert_session, wire_session
from agent_host.lsp.wire_base import Told
from agent_host.session.library import Library


class Register(Protocol):
    """Registers a handler for a method whose params are checked by a model."""

    def __call__(
        self, method: str, model: type[BaseModel], work: Callable[..., Awaitable[Told]], /
    ) -> None: ...


class SessionMethods:
    """`library` gives the Library once the host is ready."""

    def __init__(self, library: Callable[[], Awaitable[Library]]) -> None:
        self._library = library

    def register(self, on: Register) -> None:
        """Register every method."""
        on("agent/session/list", wire_session.ListSessionsParams, self._list)
        on("agent/session/load", wire_session.LoadSessionParams, self._load)
        on("agent/session/fork", wire_session.ForkSessionParams, self._fork)
        on("agent/session/rename", wire_session.RenameSessionParams, self._rename)
        on("agent/session/delete", wire_session.SessionParams, self._delete)
        on("agent/session/compact", wire_session.CompactSessionParams, self._compact)
        on("agent/session/revert", wire_session.RevertParams, self._revert)
        on("agent/session/attach", wire_session.AttachParams, self._attach)
        on("agent/session/detach", wire_session.SessionParams, self._detach)

    async def _list(self, params: wire_session.ListSessionsParams) -> Told:
        library = await self._library()
        page = await library.list(params.text, params.cursor, params.limit, all=params.all)
        return convert_session.list_answer(page)

    async def _load(self, params: wire_session.LoadSessionParams) -> Told:
        library = await self._library()
        page = await library.load(params.session_id, params.cursor, params.limit)
        is_first = params.cursor is None
        cut_short = await library.cut_short(params.session_id) if is_first else ()
        left_open = await library.left_open(params.session_id) if is_first else ()
        return convert_session.load_answer(page, cut_short, left_open)

    async def _fork(self, params: wire_session.ForkSessionParams) -> Told:
        forked = await (await self._library()).fork(params.session_id, params.run_id)
        return wire_session.ForkSessionAnswer(session_id=forked.session_id)

    async def _rename(self, params: wire_session.RenameSessionParams) -> Told:
        await (await self._library()).rename(params.session_id, params.title)
        return wire_session.DoneAnswer()

    async def _delete(self, params: wire_session.SessionParams) -> Told:
        await (await self._library()).delete(params.session_id)
        return wire_session.DoneAnswer()

    async def _compact(self, params: wire_session.CompactSessionParams) -> Told:
        library = await self._library()
        return convert.run_answer(await library.compact(params.session_id, params.focus))

    async def _revert(self, params: wire_session.RevertParams) -> Told:
        library = await self._library()
        reverted = await library.revert(params.run_id, params.session_id, params.uris)
        return convert_session.revert_answer(reverted)

    async def _attach(self, params: wire_session.AttachParams) -> Told:
        follows = (await self._library()).follows
        after = (params.after.run_id, params.after.seq) if params.after else None
        attached = await follows.attach(params.session_id, params.cursor, after)
        return wire_session.AttachAnswer(cursor=attached.cursor, run_id=attached.run_id)

    async def _detach(self, params: wire_session.SessionParams) -> Told:
        follows = (await self._library()).follows
        return wire_session.DetachAnswer(detached=follows.detach(params.session_id))
