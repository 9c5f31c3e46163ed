"""What is there without an editor: settings, roles, permissions, the action server."""

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from agent_host.actions.client import ActionClient
from agent_host.actions.environment import scrubbed
from agent_host.actions.policy import ActionPolicy
from agent_host.app.workspace import Workspace
from agent_host.app.workspace_rules import trust_book
from agent_host.guidance.reader import GuidanceReader
from agent_host.mcp.connect import Surroundings
from agent_host.mcp.servers import McpServers
from agent_host.permissions.grants import GrantBook
from agent_host.permissions.protected import PROTECTED_NAMES, SECRET_NAMES
from agent_host.permissions.rules import read_rules
from agent_host.runtimes.embedded.model import model_file
from agent_host.runtimes.sdk import Embedded
from agent_host.settings import state_dirs
from agent_host.store.results import ResultFiles

log = logging.getLogger(__name__)


class Base:
    """What is there without an editor: settings, roles, permissions, the action server."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.dirs = state_dirs(environment)
        self.grants = GrantBook(self.dirs.state, time.time, new_id)
        self.embedded = Embedded(model_file(environment, self.dirs.cache), scrubbed(environment))
        self.trust = trust_book(self.dirs.state, time.time)
        self.actions = ActionClient(
            state_dir=self.dirs.state,
            policy=ActionPolicy(secret=SECRET_NAMES, protected=PROTECTED_NAMES),
            environment=environment,
            log=partial(log.info, "action server: %s"),
        )
        self.workspace = Workspace(
            self.dirs,
            environment,
            self.grants,
            self.trust,
            parse_rules=read_rules,
            narrow_rules=partial(read_rules, narrow_only=True),
            sandbox=lambda: self.actions.status().sandbox,
        )
        self.guidance = GuidanceReader(self.workspace.guidance_places)
        self._environment = environment
        self.results = ResultFiles(self.dirs.state, new_id)

    def servers(self, tasks: asyncio.TaskGroup) -> McpServers:
        """The MCP servers of the settings and of the folders; none is started by that."""
        workspace, environment = self.workspace, self._environment
        servers = McpServers(
            lambda: workspace.servers().usable,
            lambda: workspace.servers().unused,
            Surroundings(
                environment,
                partial(scrubbed, environment),
                lambda: workspace.roots,
                lambda: workspace.roots[0] if workspace.roots else str(Path.home()),
            ),
            tasks,
            workspace.wrong_names,
        )
        workspace.know_tools(servers.known_tools)
        return servers


def new_id() -> str:
    """A name that nothing else has."""
    return uuid.uuid4().hex
