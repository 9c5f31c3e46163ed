"""Settles everything about a run before it starts: role, model, runtime, limits, instructions.

What can't be settled is an AgentHostError that says what to do. The request goes before the
session, the session before the role, the role before the settings.
"""

import os
import platform
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_host.core.errors import InvalidRequest, RuntimeMissing
from agent_host.core.model import Role, RunRequest
from agent_host.credentials import Credentials
from agent_host.permissions import paths
from agent_host.permissions.ceiling import offered
from agent_host.roles import RoleShelf
from agent_host.session.run import Plan
from agent_host.session.session import Session
from agent_host.settings import Settings
from agent_host.tools import specs

SDK = "sdk"
"""The runtime for models of vendors."""


@dataclass(frozen=True, slots=True)
class Planner:
    """`runtimes` are the names of runtimes; a model of that name is run by it."""

    settings: Callable[[], Settings]
    roles: Callable[[], Awaitable[RoleShelf]]
    credentials: Callable[[], Credentials]
    roots: Callable[[], Sequence[str]]
    runtimes: tuple[str, ...]
    today: Callable[[], str]

    async def plan(self, request: RunRequest, session: Session, run_id: str) -> Plan:
        """The plan of a run."""
        settings = self.settings()
        shelf = await self.roles()
        role = shelf.get(request.role or session.role or settings.role)
        runtime, model = self._model(request, session, role, settings)
        limits = settings.limits.narrowed(role.limits).narrowed(request.limits)
        cwd = self._cwd(request.cwd)
        return Plan(
            session_id=session.session_id,
            run_id=run_id,
            prompt=(*request.context, *request.prompt),
            role=role,
            model=model,
            runtime_name=runtime,
            instructions=self._instructions(role, cwd),
            tools=specs(offered(role)),
            history=tuple(session.history),
            limits=limits,
            cwd=cwd,
            stream=request.stream,
            progress_token=request.progress_token,
        )

    def _model(
        self, request: RunRequest, session: Session, role: Role, settings: Settings
    ) -> tuple[str, str]:
        runtime = request.runtime or session.runtime or role.runtime or settings.runtime or SDK
        # Another role than before brings its own model.
        before = session.model if request.role in (None, session.role) else None
        model = request.model or before or role.model or settings.model
        if model in self.runtimes and request.runtime is None:
            runtime = model
        if runtime not in self.runtimes:
            known = ", ".join(self.runtimes)
            raise RuntimeMissing(f"There is no runtime {runtime!r}. Known: {known}.")
        if runtime != SDK:
            return runtime, model or runtime
        credentials = self.credentials()
        model = model or credentials.default_model()
        credentials.require(model)
        return runtime, model

    def _cwd(self, wished: str | None) -> str:
        roots = tuple(self.roots())
        if wished is None:
            return roots[0] if roots else "/"
        path = os.path.normpath(wished)
        if roots and paths.root_of(roots, os.path.realpath(path)) is None:
            raise InvalidRequest("`cwd` must be inside a workspace folder.", field="cwd")
        return path

    def _instructions(self, role: Role, cwd: str) -> str:
        folders = ", ".join(self.roots()) or "none is open"
        return (
            f"{role.prompt.strip()}\n\n"
            "# Where you are\n\n"
            f"- Workspace folders: {folders}\n"
            f"- Working directory: {cwd}\n"
            f"- Platform: {platform.system()}\n"
            f"- Date: {self.today()}\n"
        )
