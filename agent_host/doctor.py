"""Looks at what there is: settings, roles, keys by their sources, local servers, programs.

Never reads out a key. Servers on loopback (or at LOCAL_BASE_URL) are asked for their models, the
sandbox is tried once, both with a bound. Not here: how it is printed.
"""

import asyncio
import contextlib
import json
import os
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from agent_host import __version__, usage
from agent_host.actions.environment import scrubbed
from agent_host.actions.probe import probe
from agent_host.actions.sandbox import Sandbox
from agent_host.app.servers import FolderServers, ServerList, misnamed_in_settings, server_list
from agent_host.app.workspace import Workspace
from agent_host.app.workspace_rules import WorkspaceRules, trust_book
from agent_host.core.errors import AgentHostError
from agent_host.core.external import ServerStatus
from agent_host.core.model import ModelInfo, Role
from agent_host.credentials import Credentials, read_credentials
from agent_host.keychain import Keychain
from agent_host.lsp.host import Folder, WorkspaceStatus
from agent_host.lsp.json_values import is_list, is_object
from agent_host.mcp.connect import Surroundings
from agent_host.mcp.servers import McpServers
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.rules import read_rules
from agent_host.roles import RoleShelf
from agent_host.runtimes.embedded.model import ModelFile, model_file
from agent_host.runtimes.own_programs import OwnPrograms
from agent_host.settings import (
    SettingProblem,
    Settings,
    StateDirs,
    session_store,
    state_dirs,
)
from agent_host.store.probe import shown, trouble

LOCAL_SERVERS: Mapping[str, int] = {"Ollama": 11434, "llama.cpp": 8080, "LM Studio": 1234}
PROGRAMS = ("git",)
PACKAGES = ("pygls", "openai-agents", "openai", "anthropic", "google-genai", "ripgrep")
_SECONDS = 1.0
_ANY = Role("doctor", "", "", "", "", skills=frozenset({"mcp"}))
"""May use every server."""
_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Situation:
    """What is set up for a folder, read from disk and environment only."""

    workspace: Path
    dirs: StateDirs
    settings: Settings
    setting_problems: tuple[SettingProblem, ...]
    folders: tuple[WorkspaceStatus, ...]
    shelf: RoleShelf
    credentials: Credentials
    embedded: ModelFile
    environment: Mapping[str, str] = field(repr=False)

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        """The vendors' models, the embedded one, and what the agents that are runtimes run."""
        return (*self.credentials.models(), self.embedded.info(), *self.agents)

    @property
    def agents(self) -> tuple[ModelInfo, ...]:
        """The agents of others that can be runtimes; starts the claude CLI for its version."""
        return OwnPrograms(
            partial(scrubbed, self.environment), lambda: self.settings.runtimes, usage.price
        ).infos()

    @property
    def servers(self) -> ServerList:
        """The MCP servers of the settings and the workspace."""
        root = str(self.workspace)
        book = trust_book(self.dirs.state, time.time)
        trusted = self.settings.trust == "always" or (
            self.settings.trust == "ask" and book.trusted(root)
        )
        brought = WorkspaceRules(partial(read_rules, narrow_only=True)).of(root)
        folder = FolderServers(root, trusted, brought.servers)
        return server_list(self.settings.mcp_servers, (folder,))

    def model(self) -> str:
        """The model that a run without a wish gets. Raises NoApiKey or ModelNotFound."""
        model = self.settings.model or self.credentials.default_model()
        self.credentials.require(model)
        return model


@dataclass(frozen=True, slots=True)
class LocalServer:
    """An OpenAI-compatible server; `models` are the names that it lists."""

    name: str
    base_url: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that `agent-host doctor` tells; `model` or `model_problem` is set."""

    situation: Situation
    model: str | None
    model_problem: str | None
    servers: tuple[LocalServer, ...]
    programs: Mapping[str, str | None]
    search_path: str
    sandbox: Sandbox
    versions: Mapping[str, str | None]
    store: str
    store_problem: str | None
    mcp: tuple[ServerStatus, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, as sentences; a missing key is not, nor that nobody trusts a folder."""
        situation = self.situation
        settings = [problem.sentence for problem in situation.setting_problems]
        roles = [
            f"{problem.source}:{problem.line}: {problem.reason}"
            for problem in situation.shelf.problems
            if problem.severity == "error"
        ]
        store = [self.store_problem] if self.store_problem else []
        servers = [
            f"{each.where}: MCP server {each.name}: {each.reason}"
            + (f"; {each.remedy}" if each.remedy else "")
            for each in self.mcp
            if each.state == "failed"
        ]
        tools = {each.name: each.tools if each.state == "ready" else None for each in self.mcp}
        misnamed = misnamed_in_settings(situation.settings.rules, tools) if self.mcp else ()
        settings += [each.sentence for each in misnamed if each.sentence not in settings]
        return (*settings, *roles, *store, *servers)


def look(workspace: Path, environ: Mapping[str, str]) -> Situation:
    """Read settings, roles and credentials as a host in that folder would."""
    dirs = state_dirs(environ)
    found = Workspace(
        dirs,
        environ,
        GrantBook(dirs.state, time.time, str),
        trust_book(dirs.state, time.time),
        parse_rules=read_rules,
        narrow_rules=partial(read_rules, narrow_only=True),
        sandbox=lambda: "none",
    )
    found.set_folders([Folder(workspace.as_uri(), workspace.name)])
    found.reload()
    return Situation(
        workspace=workspace,
        dirs=dirs,
        settings=found.settings,
        setting_problems=found.setting_problems,
        folders=found.status(),
        shelf=found.roles_now(),
        credentials=read_credentials(environ, stored=Keychain(dirs.state).stored()),
        embedded=model_file(environ, dirs.cache),
        environment=environ,
    )


async def examine(workspace: Path, environ: Mapping[str, str]) -> Report:
    """Look at everything."""
    situation = look(workspace, environ)
    model, problem = None, None
    try:
        model = situation.model()
    except AgentHostError as error:
        problem = error.message
    path = environ.get("PATH", os.defpath)
    programs = {name: shutil.which(name, path=path) for name in PROGRAMS}
    store = session_store(situation.settings, situation.dirs)
    return Report(
        situation=situation,
        model=model,
        model_problem=problem,
        servers=await local_servers(_addresses(situation.credentials)),
        programs=programs,
        search_path=path,
        sandbox=await probe(scrubbed(environ)),
        versions={
            "agent-host": __version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            **{name: _version(name) for name in PACKAGES},
        },
        store=shown(store),
        store_problem=await asyncio.to_thread(trouble, store),
        mcp=await mcp_servers(situation),
    )


# ---- MCP servers


async def mcp_servers(situation: Situation) -> tuple[ServerStatus, ...]:
    """Start each MCP server that may be used, to see whether it works, and end it again."""
    environment, root = situation.environment, str(situation.workspace)
    found = situation.servers
    around = Surroundings(
        environment, partial(scrubbed, environment), lambda: (root,), lambda: root
    )
    async with asyncio.TaskGroup() as tasks:
        servers = McpServers(lambda: found.usable, lambda: found.unused, around, tasks)
        try:
            await servers.offered(_ANY)
            # As they are now: they are about to be ended.
            return servers.status()
        finally:
            await servers.close()


# ---- local servers


async def local_servers(addresses: Mapping[str, str]) -> tuple[LocalServer, ...]:
    """Those of the named base URLs that answer within a second, all asked at once."""
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(_ask(name, url)) for name, url in addresses.items()]
    return tuple(server for task in asked if (server := task.result()) is not None)


def _addresses(credentials: Credentials) -> dict[str, str]:
    found = {name: f"http://127.0.0.1:{port}/v1" for name, port in LOCAL_SERVERS.items()}
    local = credentials.of("local")
    if local is not None and local.base_url is not None:
        # The address may leave out the version, as for the provider `local`.
        base = local.base_url.rstrip("/")
        base = base if urlsplit(base).path else f"{base}/v1"
        found = {local.base_url_source or "local": base, **found}
    return found


async def _ask(name: str, base_url: str) -> LocalServer | None:
    with contextlib.suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(_SECONDS):
            body = await _get(f"{base_url.rstrip('/')}/models")
        return LocalServer(name, base_url, _model_names(json.loads(body)))
    return None


async def _get(url: str) -> bytes:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None)
    try:
        # HTTP/1.0, so that the answer comes in one piece and ends with the connection.
        host = parts.netloc.rpartition("@")[2]
        writer.write(f"GET {parts.path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        answer = await _read(reader)
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200" not in head.split(b"\r\n", 1)[0]:
        raise ValueError("no list of models")
    return body


async def _read(reader: asyncio.StreamReader) -> bytes:
    answer = b""
    while len(answer) < _MOST_BYTES and (chunk := await reader.read(64 * 1024)):
        answer += chunk
    return answer


def _model_names(answer: object) -> tuple[str, ...]:
    data = answer.get("data") if is_object(answer) else None
    if not is_list(data):
        raise ValueError("no list of models")
    named = (item.get("id") for item in data if is_object(item))
    return tuple(name for name in named if isinstance(name, str))


# ---- the machine


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def names(items: Sequence[str], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown
