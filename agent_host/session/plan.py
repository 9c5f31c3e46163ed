"""What is settled about an agent before it starts: the run's own, or one that another calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from agent_host.core.model import JsonObject, Limits, ModelOptions, PromptPart, Role, ToolSpec
from agent_host.session.guide import Known


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is settled. `history` is the session's, oldest first.

    `prompt` is for the runtime; `said` is what the person wrote, where that is something else.
    `path` names the roles from the run's own agent down to this one; `limits` are its own.
    `left_open` are questions of runs whose host is gone, by their calls; `unanswered` are the calls
    among them that the runtime is to wish once more.
    """

    session_id: str
    run_id: str
    prompt: tuple[PromptPart, ...]
    role: Role
    model: str
    runtime_name: str
    instructions: str
    tools: tuple[ToolSpec, ...]
    history: tuple[JsonObject, ...]
    limits: Limits
    cwd: str
    path: tuple[str, ...]
    options: ModelOptions = field(default_factory=ModelOptions)
    stream: bool = True
    progress_token: str | int | None = None
    said: tuple[PromptPart, ...] = ()
    known: Known = field(default_factory=Known)
    notes: tuple[str, ...] = ()
    purpose: Literal["answer", "compact"] = "answer"
    left_open: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unanswered: tuple[str, ...] = ()
