"""Settles everything about an agent before it starts: role, model, runtime, limits, instructions.

What can't be settled is an AgentHostError that says what to do. The request goes before the
session, the session before the role, the role before the settings.
"""

import os
import platform
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent_host.core.actions import CallAgent
from agent_host.core.errors import InvalidRequest, RuntimeMissing
from agent_host.core.guidance import GuidanceSource
from agent_host.core.model import SDK, ModelOptions, Role, RunRequest, TextPart, ToolSpec
from agent_host.credentials import Credentials
from agent_host.permissions import paths
from agent_host.permissions.ceiling import narrowed, offered
from agent_host.roles import RoleShelf
from agent_host.session.guide import Known, known
from agent_host.session.plan import Plan
from agent_host.session.session import Session
from agent_host.session.slash import compact_focus, expanded
from agent_host.settings import Settings
from agent_host.tools import specs

MAX_DEPTH = 4
"""How many agents there may be in a line of calls, the run's own included."""


@dataclass(frozen=True, slots=True)
class Planner:
    """`runtimes` gives the names of runtimes; a model of that name is run by it.

    `missing_tools` are those that this editor can't do.
    """

    settings: Callable[[], Settings]
    roles: Callable[[], Awaitable[RoleShelf]]
    credentials: Callable[[], Credentials]
    roots: Callable[[], Sequence[str]]
    runtimes: Callable[[], Sequence[str]]
    today: Callable[[], str]
    guidance: GuidanceSource
    missing_tools: Callable[[], frozenset[str]] = frozenset

    async def plan(self, request: RunRequest, session: Session, run_id: str) -> Plan:
        """The plan of a run."""
        settings = self.settings()
        shelf = await self.roles()
        role = shelf.get(request.role or session.role or settings.role)
        runtime, model = self._model(request, session, role, settings)
        limits = settings.limits.narrowed(role.limits).narrowed(request.limits)
        cwd = self._cwd(request.cwd, session.cwd)
        guidance = await self.guidance.read(cwd)
        guided = known(guidance, role)
        prompt, note = expanded(request.prompt, guidance)
        focus = compact_focus(request.prompt) if runtime == SDK else None
        return Plan(
            session_id=session.session_id,
            run_id=run_id,
            prompt=(*request.context, *prompt) if focus is None else (TextPart(focus),),
            purpose="answer" if focus is None else "compact",
            said=(*request.context, *request.prompt),
            notes=(*guided.notes, note) if note else guided.notes,
            known=guided,
            role=role,
            model=model,
            runtime_name=runtime,
            instructions=self._instructions(role, cwd) + guided.text,
            tools=self._tools(role, shelf, guided),
            history=tuple(session.history),
            limits=limits,
            cwd=cwd,
            options=replace(
                request.options,
                effort=request.options.effort or role.effort or settings.effort,
            ),
            path=(role.name,),
            stream=request.stream,
            progress_token=request.progress_token,
        )

    async def called(self, caller: Plan, action: CallAgent) -> Plan:
        """The plan of an agent that another calls: with no more rights than that one has."""
        shelf = await self.roles()
        own = shelf.get(action.role)
        keeps = {each.role: each.keeps for each in caller.role.may_call}.get(own.name)
        role = narrowed(own, caller.role, keeps=keeps or frozenset[str]())
        path = (*caller.path, role.name)
        if len(path) >= MAX_DEPTH:
            role = replace(role, may_call=())
        wishes = _Wish(own.runtime, own.model), _Wish(caller.runtime_name, caller.model)
        runtime, model = self._usable(*wishes)
        guided = known(await self.guidance.read(caller.cwd), role)
        return replace(
            caller,
            prompt=(TextPart(action.prompt),),
            said=(),
            role=role,
            model=model,
            runtime_name=runtime,
            instructions=self._instructions(role, caller.cwd) + guided.text,
            tools=self._tools(role, shelf, guided),
            known=guided,
            notes=guided.notes,
            history=(),
            limits=own.limits,
            path=path,
            options=ModelOptions(effort=own.effort or caller.options.effort),
            purpose="answer",
            left_open={},
            unanswered=(),
        )

    def _tools(self, role: Role, shelf: RoleShelf, guided: Known) -> tuple[ToolSpec, ...]:
        """What a model with this role is shown; of the agents, those that there are."""
        found = (shelf.roles.get(each.role) for each in role.may_call)
        agents = {each.name: each.description for each in found if each}
        actions = offered(role) | frozenset({"skill.use"} if guided.skills else ())
        missing = self.missing_tools()
        return tuple(tool for tool in specs(actions, agents) if tool.name not in missing)

    def _model(
        self, request: RunRequest, session: Session, role: Role, settings: Settings
    ) -> tuple[str, str]:
        # Another role than before brings its own runtime and model.
        stays = request.role in (None, session.role)
        return self._usable(
            _Wish(request.runtime, request.model),
            _Wish(session.runtime, session.model) if stays else _Wish(None, None),
            _Wish(role.runtime, role.model),
            _Wish(settings.runtime, settings.model),
        )

    def _usable(self, *wishes: "_Wish") -> tuple[str, str]:
        """Runtime and model by what is wished, the first wish first. Raises AgentHostError."""
        known = self.runtimes()
        runtime = next((name for wish in wishes if (name := wish.names(known))), SDK)
        if runtime not in known:
            raise RuntimeMissing(f"There is no runtime {runtime!r}. Known: {', '.join(known)}.")
        fitting = (wish.model for wish in wishes if wish.model and wish.fits(runtime, known))
        model = next(fitting, None)
        if runtime != SDK:
            own = model is None or model.partition("/")[0] == runtime
            return runtime, (model or runtime) if own else f"{runtime}/{model}"
        credentials = self.credentials()
        model = model or credentials.default_model()
        credentials.require(model)
        return runtime, model

    def _cwd(self, wished: str | None, before: str | None) -> str:
        """Where a session was before it is still, in whatever order the folders come now."""
        roots = tuple(self.roots())
        if wished is None:
            if before is not None and paths.root_of(roots, os.path.realpath(before)) is not None:
                return before
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


@dataclass(frozen=True, slots=True)
class _Wish:
    """What one place says about the runtime and the model.

    A model `vendor/name` is run by the runtime `sdk`, `runtime/name` by that runtime; a name with
    no slash by any runtime but `sdk`.
    """

    runtime: str | None
    model: str | None

    def names(self, known: Sequence[str]) -> str | None:
        """The runtime that is wished, by its name or by the model's."""
        if self.runtime is not None or self.model is None:
            return self.runtime
        first, slash, _ = self.model.partition("/")
        return first if first in known else SDK if slash else None

    def fits(self, runtime: str, known: Sequence[str]) -> bool:
        """Whether the model can be that runtime's."""
        first, slash, _ = (self.model or "").partition("/")
        if runtime == SDK:
            return first not in known and (bool(slash) or self.runtime in (None, SDK))
        return runtime in (first, self.runtime) or not slash
