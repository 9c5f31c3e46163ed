"""How a talk with an ACP agent begins: versions, its session new or old, a mode in which it asks.

Not here: the talk itself (acp_talk.py).
"""

from dataclasses import dataclass

from agent_host import __version__
from agent_host.core.errors import AgentHostError
from agent_host.core.model import JsonObject
from agent_host.core.ports import RunSink, RuntimeRequest
from agent_host.runtimes.acp_agents import Agent, session_meta
from agent_host.runtimes.acp_failures import WANTED
from agent_host.runtimes.acp_peer import Peer, RpcError, as_object, objects
from agent_host.runtimes.acp_trouble import (
    AUTH_REQUIRED,
    no_session,
    not_logged_in,
    other_version,
    ungated,
)
from agent_host.runtimes.loopback import Address
from agent_host.runtimes.mcp_tools import SERVER_NAME, of_servers
from agent_host.runtimes.resume import OwnSession

VERSION = 1
"""The version of the protocol that is spoken."""


QUIET_SECONDS = 0.3
"""After a session was loaded, so long nothing more must come of what was before."""


class LostSession(Exception):
    """The agent can't go back to its session."""


class Unfit(Exception):
    """The agent can't be worked with; `error` says why, and what to do."""

    def __init__(self, error: AgentHostError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Terms:
    """How a talk is held: with which agent, and whether it may act without asking.

    `tools`: where the tools of MCP servers are offered, each call of which ends in the gate.
    """

    name: str
    agent: Agent
    native: bool
    start_seconds: float
    tools: Address | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """The agent's session; `mode` None: it does not tell of any."""

    session: str
    mode: str | None


async def begin(
    peer: Peer, terms: Terms, request: RuntimeRequest, sink: RunSink, own: OwnSession | None
) -> Begun:
    """Go back to its session `own`, or make one. Raises Unfit, LostSession, RpcError, ChildGone."""
    can = await peer.ask(
        "initialize",
        {
            "protocolVersion": VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
                "_meta": WANTED,
            },
            "clientInfo": {"name": "agent-host", "version": __version__},
        },
    )
    if can.get("protocolVersion") != VERSION:
        raise Unfit(other_version(terms.name, can.get("protocolVersion")))
    info = as_object(can.get("agentInfo"))
    told = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    sink.log(terms.name, f"agent: {told or 'it does not tell its name'}")
    place: JsonObject = {"cwd": request.cwd, "mcpServers": _servers(terms, request, can, sink)}
    if meta := session_meta(terms.agent, request.limits):
        place = {**place, "_meta": meta}
    if own is None:
        session, made = await _new(peer, terms, place, can)
    else:
        session, made = own.id, await _go_back(peer, terms, own, place, can, sink)
    return Begun(session, await _set_mode(peer, terms, session, made))


def _servers(
    terms: Terms, request: RuntimeRequest, can: JsonObject, sink: RunSink
) -> list[JsonObject]:
    """Our own server, which offers the tools of the others, if the agent can reach it."""
    if terms.tools is None:
        return []
    capabilities = as_object(can.get("agentCapabilities"))
    if as_object(capabilities.get("mcpCapabilities")).get("http") is not True:
        names = ", ".join(tool.name for tool in of_servers(request.tools))
        sink.log(
            terms.name,
            f"It has no tools of MCP servers, since it reaches no server by HTTP: {names}",
        )
        return []
    headers = [{"name": "Authorization", "value": f"Bearer {terms.tools.token}"}]
    return [{"type": "http", "name": SERVER_NAME, "url": terms.tools.url, "headers": headers}]


async def _new(
    peer: Peer, terms: Terms, place: JsonObject, can: JsonObject
) -> tuple[str, JsonObject]:
    try:
        made = await peer.ask("session/new", place)
    except RpcError as error:
        if error.code != AUTH_REQUIRED:
            raise
        raise Unfit(not_logged_in(terms.name, objects(can.get("authMethods")))) from error
    session = made.get("sessionId")
    if not isinstance(session, str) or not session:
        raise Unfit(no_session(terms.name))
    return session, made


async def _go_back(
    peer: Peer, terms: Terms, own: OwnSession, place: JsonObject, can: JsonObject, sink: RunSink
) -> JsonObject:
    capabilities = as_object(can.get("agentCapabilities"))
    more = as_object(capabilities.get("sessionCapabilities"))
    if more.get("resume") is not None:
        method = "session/resume"
    elif capabilities.get("loadSession"):
        method = "session/load"
    else:
        raise LostSession
    if own.fork:
        raise LostSession  # two sessions of ours in one of its own would mix
    try:
        made = await peer.ask(method, {**place, "sessionId": own.id})
    except RpcError as error:
        sink.log(terms.name, f"{method}: {error.message}")
        raise LostSession from error
    if method == "session/load":
        # Some tell of the earlier conversation after the answer, too.
        await peer.quiet(QUIET_SECONDS)
    return made


async def _set_mode(peer: Peer, terms: Terms, session: str, made: JsonObject) -> str | None:
    """The mode that it is in now."""
    wanted = terms.agent.modes
    now = as_object(made.get("modes")).get("currentModeId")
    if not isinstance(now, str):
        return None
    if terms.native or not wanted or now in wanted:
        return now
    try:
        await peer.ask("session/set_mode", {"sessionId": session, "modeId": wanted[0]})
    except RpcError as error:
        told = f"is in the mode {now}, and can't be set to {wanted[0]}: {error.message}"
        raise Unfit(ungated(terms.name, told)) from error
    return wanted[0]
