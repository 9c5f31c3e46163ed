"""The `agent/*` methods as they are on the wire: params, results, and the table of all of them.

JSON Schema and the clients' types come from here. Not here: the kinds of delta (wire_delta.py),
what the host asks (wire_ask.py), the standard messages that we read (standard.py), core words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from agent_host.lsp import wire_ask as wa
from agent_host.lsp import wire_guidance as wg
from agent_host.lsp import wire_session as ws
from agent_host.lsp import wire_settings as wt
from agent_host.lsp import wire_status as wst
from agent_host.lsp.json_values import is_list, is_object
from agent_host.lsp.wire_base import Count, Heard, Id, Index, Name, Params, Text, Token, Told
from agent_host.lsp.wire_delta import AgentDelta, OmittedFileWire, Status, UsageWire

# ---- what an editor asks


class PositionWire(Params):
    line: Index
    character: Index


class RangeWire(Params):
    """Columns count code units of the negotiated position encoding."""

    start: PositionWire
    end: PositionWire


class TextPartWire(Params):
    type: Literal["text"]
    text: Text


class ImagePartWire(Params):
    """An image, or a document of `mediaType` application/pdf; `data` is base64."""

    type: Literal["image", "document"]
    media_type: Name
    data: str


class ResourcePartWire(Params):
    type: Literal["resource"]
    uri: Name
    range: RangeWire | None = None


class ContextItem(Params):
    uri: Name
    range: RangeWire | None = None


def _tag(item: object) -> str | None:
    kind = item.get("type") if is_object(item) else getattr(item, "type", None)
    return f"<{kind}>" if isinstance(kind, str) else None


PartWire = Annotated[
    Annotated[TextPartWire, Tag("<text>")]
    | Annotated[ImagePartWire, Tag("<image>")]
    | Annotated[ResourcePartWire, Tag("<resource>")],
    Discriminator(
        _tag,
        custom_error_type="part",
        custom_error_message="Input should be text, or a part: text, image, document or resource",
    ),
]


def _parts(value: object) -> list[object]:
    """A string, one part, or a list of both."""
    if is_list(value):
        return [_part(item) for item in value]
    if isinstance(value, str) or is_object(value):
        return [_part(value)]
    raise ValueError("Input should be a string or a list of parts")


def _part(item: object) -> object:
    return {"type": "text", "text": item} if isinstance(item, str) else item


def _not_blank(parts: list[PartWire]) -> list[PartWire]:
    if all(isinstance(part, TextPartWire) and not part.text.strip() for part in parts):
        raise ValueError("Input should say something")
    return parts


Prompt = Annotated[
    list[PartWire],
    BeforeValidator(_parts, json_schema_input_type=str | list[PartWire | str]),
    AfterValidator(_not_blank),
]


class LimitsWire(Params):
    """What ends the run early; money in US dollars."""

    max_turns: Count | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    wall_seconds: Annotated[float, Field(gt=0)] | None = None
    inactivity_seconds: Annotated[float, Field(gt=0)] | None = None


class RunParams(Params):
    """One prompt. A `runId` that was seen before is that run: it is not started twice.

    `create`: a session of that `sessionId` begins if there is none.
    """

    prompt: Prompt
    session_id: Id | None = None
    create: bool = False
    run_id: Id | None = None
    role: Name | None = None
    model: Name | None = None
    runtime: Name | None = None
    cwd: Name | None = None
    context: list[ContextItem] | None = None
    limits: LimitsWire | None = None
    effort: Literal["none", "low", "medium", "high", "max"] | None = None
    output_schema: dict[str, object] | None = None
    stream: bool | None = None
    work_done_token: Token | None = None


class StopParams(Params):
    """Neither: all runs."""

    run_id: Id | None = None
    session_id: Id | None = None


class SteerParams(Params):
    """`when`: "now" is before the next call of the model, "next" as a run of its own."""

    session_id: Id
    prompt: Prompt
    when: Literal["now", "next"] = "now"


class PendingParams(Params):
    session_id: Id


class UnsteerParams(Params):
    """Takes back what waits."""

    session_id: Id
    id: Id


class NoParams(Params):
    """`{}`, or no params at all."""


class Anything(Heard):
    """Params that say nothing to us."""


# ---- what the host answers


class FileEditWire(Told):
    uri: str
    kind: Literal["create", "change", "delete"]


class DiffWire(Told):
    """All that the run changed, unified; `omitted` are changed files that are not in it."""

    text: str
    omitted: list[OmittedFileWire]


class FailureWire(Told):
    """`error` is one sentence that says what to do."""

    error: str
    code: str


class RunAnswer(Told):
    """`error` comes with status failed, `limit` with status limit, `reason` with refused.

    No `diff`: the run has changed nothing.
    """

    session_id: str
    run_id: str
    status: Status
    output: str
    usage: UsageWire
    edits: list[FileEditWire]
    diff: DiffWire | None = None
    error: FailureWire | None = None
    limit: (
        Literal["maxTurns", "maxCostUsd", "wallSeconds", "inactivitySeconds", "denials"] | None
    ) = None
    reason: str | None = None


class WaitingWire(Told):
    """A prompt that waits for the run ("now") or for a run of its own ("next")."""

    id: str
    prompt: str
    when: Literal["now", "next"]


class StopAnswer(Told):
    """The runs that are gone now. `handedBack`: what was said to them that no run has taken."""

    stopped: list[str]
    handed_back: list[WaitingWire] | None = None


class SteerAnswer(Told):
    """What became of it: `runId` is of the run that it started."""

    accepted: Literal["steered", "queued", "started"]
    id: str
    run_id: str | None = None


class PendingAnswer(Told):
    pending: list[WaitingWire]


class UnsteerAnswer(Told):
    """False: it is not waiting any more."""

    removed: bool


class PingAnswer(Told):
    pong: Literal[True] = True


class RightWire(Told):
    """What a role may do with an ordinary file or command, and the step or rule that says so.

    `overrides` are rules that say otherwise and do not win, `exceptions` those about some paths or
    commands only.
    """

    action: str
    verdict: Literal["allow", "ask", "deny"]
    source: str
    reason: str
    where: str | None = None
    overrides: list[str]
    exceptions: list[str]


class RoleWire(Told):
    name: str
    description: str
    source: str
    model: str | None = None
    runtime: str | None = None
    skills: list[str]
    may_call: list[str]
    rights: list[RightWire] | None = None


class RoleProblemWire(Told):
    """`line` counts from 1."""

    name: str
    source: str
    line: int
    reason: str
    severity: Literal["error", "warning"]


class RolesAnswer(Told):
    roles: list[RoleWire]
    problems: list[RoleProblemWire]


class ModelWire(Told):
    """`source` says where its key or URL comes from; `reason` why it can't be used."""

    name: str
    provider: str
    usable: bool
    source: str | None = None
    reason: str | None = None


class ModelsAnswer(Told):
    models: list[ModelWire]


# ---- the table


@dataclass(frozen=True, slots=True)
class Method:
    """A method; `sender` says who sends it, `result` None makes it a notification."""

    sender: Literal["editor", "host"]
    params: type[BaseModel]
    result: type[BaseModel] | None


METHODS: Mapping[str, Method] = {
    "agent/run": Method("editor", RunParams, RunAnswer),
    "agent/stop": Method("editor", StopParams, StopAnswer),
    "agent/steer": Method("editor", SteerParams, SteerAnswer),
    "agent/steer/list": Method("editor", PendingParams, PendingAnswer),
    "agent/steer/remove": Method("editor", UnsteerParams, UnsteerAnswer),
    "agent/ping": Method("editor", Anything, PingAnswer),
    "agent/status": Method("editor", NoParams, wst.StatusAnswer),
    "agent/roles": Method("editor", NoParams, RolesAnswer),
    "agent/models": Method("editor", NoParams, ModelsAnswer),
    "agent/guidance": Method("editor", NoParams, wg.GuidanceAnswer),
    "agent/prompts": Method("editor", NoParams, wg.PromptsAnswer),
    "agent/settings": Method("editor", wt.SettingsParams, wt.SettingsAnswer),
    "agent/session/list": Method("editor", ws.ListSessionsParams, ws.ListSessionsAnswer),
    "agent/session/load": Method("editor", ws.LoadSessionParams, ws.LoadSessionAnswer),
    "agent/session/fork": Method("editor", ws.ForkSessionParams, ws.ForkSessionAnswer),
    "agent/session/rename": Method("editor", ws.RenameSessionParams, ws.DoneAnswer),
    "agent/session/delete": Method("editor", ws.SessionParams, ws.DoneAnswer),
    "agent/session/compact": Method("editor", ws.CompactSessionParams, RunAnswer),
    "agent/session/revert": Method("editor", ws.RevertParams, ws.RevertAnswer),
    "agent/session/attach": Method("editor", ws.AttachParams, ws.AttachAnswer),
    "agent/session/detach": Method("editor", ws.SessionParams, ws.DetachAnswer),
    "agent/session/detached": Method("host", ws.DetachedParams, None),
    "agent/delta": Method("host", AgentDelta, None),
    "agent/ask": Method("host", wa.AskParams, wa.AskAnswer),
    "agent/save": Method("host", wa.SaveParams, wa.SaveAnswer),
    "agent/diagnostics": Method("host", wa.DiagnosticsParams, wa.DiagnosticsAnswer),
}


def json_schema() -> dict[str, object]:
    """JSON Schema (2020-12) of all methods: `methods` refers to the shapes in `$defs`."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = []
    for method in METHODS.values():
        models.append((method.params, _mode(method.params)))
        if method.result is not None:
            models.append((method.result, _mode(method.result)))
    references, schema = models_json_schema(
        list(dict.fromkeys(models)), by_alias=True, title="agent-host"
    )
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "methods": {
            name: {
                "sender": method.sender,
                "params": references[method.params, _mode(method.params)],
                "result": method.result and references[method.result, _mode(method.result)],
            }
            for name, method in METHODS.items()
        },
    }


def _mode(model: type[BaseModel]) -> JsonSchemaMode:
    return "serialization" if issubclass(model, Told) else "validation"
