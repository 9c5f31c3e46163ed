"""Wire to core words and back, pure. The only place that knows both spellings.

Not here: checking what came in (wire.py has done that), the fast way of text (delta_encoder.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import assert_never, cast

from agent_host.core.actions import OmittedFile, RunDiff
from agent_host.core.document import Position, Range
from agent_host.core.errors import AgentHostError
from agent_host.core.events import (
    Answered,
    Asked,
    Compacted,
    Compared,
    Delta,
    Edited,
    Ended,
    Logged,
    NumberedDelta,
    Omitted,
    Planned,
    Reasoning,
    Retried,
    Started,
    Text,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    Used,
)
from agent_host.core.model import (
    ImagePart,
    JsonObject,
    Limits,
    ModelInfo,
    ModelOptions,
    Origin,
    PromptPart,
    ResourcePart,
    RunRequest,
    RunResult,
    TextPart,
    Usage,
)
from agent_host.core.permission import Option
from agent_host.core.uris import path_to_uri
from agent_host.lsp import wire, wire_delta
from agent_host.lsp.capabilities import position_encoding
from agent_host.lsp.host import (
    ClientInfo,
    ContentChange,
    Folder,
    PositionEncoding,
    RoleList,
)
from agent_host.lsp.json_values import int_in, is_object, list_in, object_in, text_in
from agent_host.lsp.standard import HeardChange, HeardPosition, HeardRange

CodePoints = Callable[[str, Range], Range]
"""A range of a URI in the client's units as one in code points."""


# ---- from the wire


def run_request(params: wire.RunParams, code_points: CodePoints) -> RunRequest:
    """What `agent/run` asks for."""
    return RunRequest(
        prompt=prompt(params.prompt, code_points),
        session_id=params.session_id,
        create=params.create,
        run_id=params.run_id,
        role=params.role,
        model=params.model,
        runtime=params.runtime,
        cwd=params.cwd,
        context=tuple(_resource(item, code_points) for item in params.context or ()),
        limits=_limits(params.limits),
        options=ModelOptions(params.effort, params.output_schema),
        stream=params.stream is not False,
        progress_token=params.work_done_token,
    )


def prompt(parts: Sequence[wire.PartWire], code_points: CodePoints) -> tuple[PromptPart, ...]:
    """What the person says."""
    return tuple(_part(part, code_points) for part in parts)


def client_info(params: JsonObject) -> ClientInfo:
    """Who sends these `initialize` params; what is odd in them counts as absent."""
    who = object_in(params, "clientInfo")
    return ClientInfo(
        name=text_in(who, "name"),
        version=text_in(who, "version"),
        process_id=int_in(params, "processId"),
        position_encoding=cast("PositionEncoding", position_encoding(params)),
        capabilities=object_in(params, "capabilities"),
        options=object_in(params, "initializationOptions"),
        folders=_folders(params),
    )


def _folders(params: JsonObject) -> tuple[Folder, ...]:
    """The workspace folders, or else the root as old clients tell it."""
    named = [
        Folder(uri, text_in(folder, "name") or uri)
        for folder in list_in(params, "workspaceFolders")
        if is_object(folder) and (uri := text_in(folder, "uri"))
    ]
    if named:
        return tuple(named)
    root = text_in(params, "rootUri")
    if root is None and (path := text_in(params, "rootPath")):
        root = path_to_uri(path)
    return (Folder(root, root),) if root else ()


def position_of(heard: HeardPosition) -> Position:
    """A position as it came, in the client's units."""
    return Position(heard.line, heard.character)


def range_of(heard: HeardRange | wire.RangeWire) -> Range:
    """A range as it came, in the client's units."""
    start, end = heard.start, heard.end
    return Range(Position(start.line, start.character), Position(end.line, end.character))


def content_change(change: HeardChange) -> ContentChange:
    return ContentChange(range_of(change.range) if change.range else None, change.text)


def _part(
    part: wire.TextPartWire | wire.ImagePartWire | wire.ResourcePartWire, code_points: CodePoints
) -> PromptPart:
    match part:
        case wire.TextPartWire():
            return TextPart(part.text)
        case wire.ImagePartWire():
            return ImagePart(part.media_type, part.data)
        case wire.ResourcePartWire():
            return _resource(part, code_points)
        case _:
            assert_never(part)


def _resource(
    item: wire.ResourcePartWire | wire.ContextItem, code_points: CodePoints
) -> ResourcePart:
    found = code_points(item.uri, range_of(item.range)) if item.range else None
    return ResourcePart(item.uri, found)


def _limits(limits: wire.LimitsWire | None) -> Limits:
    if limits is None:
        return Limits()
    return Limits(
        max_turns=limits.max_turns,
        max_cost_usd=limits.max_cost_usd,
        wall_seconds=limits.wall_seconds,
        inactivity_seconds=limits.inactivity_seconds,
    )


# ---- to the wire


def run_answer(result: RunResult) -> wire.RunAnswer:
    failure = result.failure
    return wire.RunAnswer(
        session_id=result.session_id,
        run_id=result.run_id,
        status=result.status,
        output=result.output,
        usage=usage(result.usage),
        edits=[wire.FileEditWire(uri=edit.uri, kind=edit.kind) for edit in result.edits],
        diff=_diff(result.diff) if result.diff else None,
        error=wire.FailureWire(error=failure.message, code=failure.code) if failure else None,
        limit=result.limit,
        reason=result.reason,
    )


def _diff(diff: RunDiff) -> wire.DiffWire:
    return wire.DiffWire(text=diff.text, omitted=_omitted(diff.omitted))


def _omitted(files: Sequence[OmittedFile]) -> list[wire_delta.OmittedFileWire]:
    return [wire_delta.OmittedFileWire(uri=file.uri, reason=file.reason) for file in files]


def roles_answer(found: RoleList) -> wire.RolesAnswer:
    return wire.RolesAnswer(
        roles=[
            wire.RoleWire(
                name=role.name,
                description=role.description,
                source=role.source,
                model=role.model,
                runtime=role.runtime,
                skills=sorted(role.skills),
                may_call=[each.role for each in role.may_call],
                rights=[
                    wire.RightWire.model_validate(asdict(right))
                    for right in found.rights.get(role.name, ())
                ]
                or None,
            )
            for role in found.roles
        ],
        problems=[
            wire.RoleProblemWire(
                name=problem.name,
                source=problem.source,
                line=problem.line,
                reason=problem.reason,
                severity=problem.severity,
            )
            for problem in found.problems
        ],
    )


def models_answer(models: Sequence[ModelInfo]) -> wire.ModelsAnswer:
    return wire.ModelsAnswer(
        models=[
            wire.ModelWire(
                name=model.name,
                provider=model.provider,
                usable=model.usable,
                source=model.source,
                reason=model.reason,
            )
            for model in models
        ]
    )


def usage(used: Usage) -> wire_delta.UsageWire:
    return wire_delta.UsageWire(
        requests=used.requests,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cached_tokens,
        cache_write_tokens=used.cache_write_tokens,
        reasoning_tokens=used.reasoning_tokens,
        cost_usd=used.cost_usd,
        context_tokens=used.context_tokens,
        context_window=used.context_window,
        estimated=used.estimated or None,
    )


def error_data(error: AgentHostError) -> dict[str, object]:
    """The `data` of an error answer: `{error, code, ...details}`."""
    return {**error.details, "error": error.message, "code": error.code}


def agent_delta(numbered: NumberedDelta) -> wire_delta.AgentDelta:
    return wire_delta.AgentDelta(
        session_id=numbered.session_id,
        run_id=numbered.run_id,
        seq=numbered.seq,
        origin=origin(numbered.origin),
        delta=delta(numbered.delta),
    )


def origin(made_by: Origin) -> wire_delta.OriginWire:
    return wire_delta.OriginWire(
        kind=made_by.kind,
        role=made_by.role,
        model=made_by.model,
        path=list(made_by.path) or None,
    )


def option(choice: Option) -> wire_delta.OptionWire:
    return wire_delta.OptionWire(id=choice.id, title=choice.title, kind=choice.kind)


def delta(step: Delta) -> wire_delta.DeltaWire:
    """One step of a run; the fields are the same, the names are the wire's."""
    match step:
        case Started() | Compared() | Ended():
            return _boundary_delta(step)
        case ToolRequested() | Asked() | Answered() | ToolOutput() | ToolFinished() | Edited():
            return _tool_delta(step)
        case _:
            return _spoken_delta(step)


def _boundary_delta(step: Started | Compared | Ended) -> wire_delta.DeltaWire:
    match step:
        case Started():
            return wire_delta.StartedDelta(role=step.role, model=step.model, runtime=step.runtime)
        case Compared():
            return wire_delta.DiffDelta(text=step.text, omitted=_omitted(step.omitted))
        case Ended():
            return wire_delta.EndedDelta(
                status=step.status,
                reason=step.reason,
                exit_code=step.exit_code,
                signal=step.signal,
            )
        case _:
            assert_never(step)


_Spoken = Text | Reasoning | Planned | Used | Logged | Retried | Compacted | Omitted


def _spoken_delta(step: _Spoken) -> wire_delta.DeltaWire:
    match step:
        case Text():
            return wire_delta.TextDelta(text=step.text)
        case Reasoning():
            return wire_delta.ReasoningDelta(text=step.text)
        case Planned():
            entries = [
                wire_delta.PlanEntryWire(text=entry.text, status=entry.status)
                for entry in step.entries
            ]
            return wire_delta.PlanDelta(entries=entries)
        case Used():
            return wire_delta.UsageDelta(usage=usage(step.usage))
        case Logged():
            return wire_delta.LogDelta(source=step.source, text=step.text)
        case Retried():
            return wire_delta.RetryDelta(reason=step.reason, wait_seconds=step.wait_seconds)
        case Compacted():
            return wire_delta.CompactedDelta(
                why=step.why, before=step.before, after=step.after, summary=step.summary
            )
        case Omitted():
            return wire_delta.OmittedDelta(what=step.what, size=step.size)
        case _:
            assert_never(step)


_ToolStep = ToolRequested | Asked | Answered | ToolOutput | ToolFinished | Edited


def _tool_delta(step: _ToolStep) -> wire_delta.DeltaWire:
    call_id = step.call_id
    match step:
        case ToolRequested():
            return wire_delta.ToolCallDelta(
                call_id=call_id,
                name=step.name,
                arguments=step.arguments,
                title=step.title,
                risk=step.risk,
            )
        case Asked():
            return wire_delta.QuestionDelta(
                call_id=call_id,
                title=step.title,
                detail=step.detail,
                options=[option(choice) for choice in step.options],
            )
        case Answered():
            return wire_delta.AnswerDelta(
                call_id=call_id, option_id=step.option_id, reason=step.reason
            )
        case ToolOutput():
            return wire_delta.ToolOutputDelta(call_id=call_id, stream=step.stream, text=step.text)
        case ToolFinished():
            return wire_delta.ToolResultDelta(
                call_id=call_id, status=step.status, summary=step.summary
            )
        case Edited():
            return wire_delta.EditDelta(
                call_id=call_id, uri=step.uri, diff=step.diff, state=step.state
            )
        case _:
            assert_never(step)
