"""Who the sessions of one host work with. Not here: who makes them (compose.py)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_host.core.ports import Editor, Runtime, ToolServers
from agent_host.core.records import SessionStore
from agent_host.session.asker import Asker
from agent_host.session.changes import Changes
from agent_host.session.clock import Clock
from agent_host.session.hands import Hands
from agent_host.session.judge import Judge
from agent_host.session.long_results import LongResults
from agent_host.session.planner import Planner
from agent_host.session.settling import Settler


@dataclass(frozen=True, slots=True)
class Staff:
    """Who the sessions work with; `asker` makes the asker of one session, `show` a path short."""

    editor: Editor
    store: SessionStore
    judge: Judge
    changes: Changes
    hands: Hands
    long_results: LongResults
    planner: Planner
    asker: Callable[[str], Asker]
    runtime: Callable[[str], Awaitable[Runtime]]
    clock: Clock
    new_id: Callable[[], str]
    workspace: Callable[[], str]
    show: Callable[[str], str]
    settler: Settler
    servers: ToolServers
