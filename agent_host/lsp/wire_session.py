"""The `agent/session/*` methods as they are on the wire: sessions that are kept."""

from typing import Annotated, Literal

from pydantic import Field

from agent_host.lsp.wire_base import Id, Index, Name, Params, Text, Told, Whole
from agent_host.lsp.wire_delta import AgentDelta

StoredStatusWire = Literal[
    "running", "completed", "stopped", "failed", "limit", "refused", "interrupted"
]
Limit = Annotated[Whole, Field(ge=1, le=1000)]


class ListSessionsParams(Params):
    """Newest first. Every word of `text` is in the title or a prompt; `all`: every workspace."""

    text: Text = ""
    cursor: str | None = None
    limit: Limit = 50
    all: bool = False


class LoadSessionParams(Params):
    """A page of past deltas, oldest first, from a cursor that an earlier page gave."""

    session_id: Id
    cursor: str | None = None
    limit: Limit = 200


class ForkSessionParams(Params):
    """`runId`: the last run that the copy holds; the last one that ended if left out."""

    session_id: Id
    run_id: Id | None = None


class RenameSessionParams(Params):
    session_id: Id
    title: Annotated[Text, Field(max_length=200)]


class SessionParams(Params):
    session_id: Id


class CompactSessionParams(Params):
    """`focus`: what the summary must hold above all."""

    session_id: Id
    focus: Annotated[Text, Field(max_length=2000)] = ""


class RevertParams(Params):
    """`uris`: only these files of the run."""

    run_id: Id
    session_id: Id | None = None
    uris: list[Name] | None = None


class Seen(Params):
    """The last delta of a run that the editor has."""

    run_id: Id
    seq: Index


class AttachParams(Params):
    """From where on: `cursor` of a page, or `after` a delta; else from the beginning."""

    session_id: Id
    cursor: str | None = None
    after: Seen | None = None


class AttachAnswer(Told):
    """Everything up to now has been sent. `runId`: the run that goes on elsewhere."""

    cursor: str
    run_id: str | None = None


class DetachAnswer(Told):
    """False: it was not attached."""

    detached: bool


class DetachedParams(Told):
    """The host has ended an attachment; `reason` is a sentence."""

    session_id: str
    reason: str


class SessionWire(Told):
    """`status` is of the last run; `elsewhere`: another host that is alive owns it."""

    session_id: str
    title: str
    role: str
    model: str
    runtime: str
    created: float
    updated: float
    runs: int = 0
    status: StoredStatusWire | None = None
    elsewhere: bool = False
    parent_session_id: str | None = None
    parent_run_id: str | None = None


class ListSessionsAnswer(Told):
    """No `cursor`: this was the last page."""

    sessions: list[SessionWire]
    cursor: str | None = None


class StoredRunWire(Told):
    """A run that begins in the page; times in seconds since the epoch."""

    run_id: str
    prompt: str
    status: StoredStatusWire
    started: float
    ended: float | None = None


class CutShortWire(Told):
    """An edit during which a host ended: what is there now tells what became of it."""

    run_id: str
    uri: str
    kind: Literal["create", "change", "delete", "move"]
    outcome: Literal["made", "notMade", "unknown"]


class LeftOpenWire(Told):
    """A question that was open when a host ended: the session's next run puts it once more."""

    run_id: str
    call_id: str
    title: str


class LoadSessionAnswer(Told):
    """`cursor` goes on after this page, also when `more` is false: then with what came since.

    `cutShort` and `leftOpen` come with the first page, if there is something.
    """

    deltas: list[AgentDelta]
    runs: list[StoredRunWire]
    cut_short: list[CutShortWire] | None = None
    left_open: list[LeftOpenWire] | None = None
    cursor: str
    more: bool


class ForkSessionAnswer(Told):
    session_id: str


class DoneAnswer(Told):
    ok: Literal[True] = True


class RevertedFileWire(Told):
    uri: str
    status: Literal["reverted", "unchanged", "skipped", "failed"]
    reason: str | None = None


class RevertAnswer(Told):
    """`runId` is the revert's own: revert that to have the changes again."""

    run_id: str
    files: list[RevertedFileWire]
