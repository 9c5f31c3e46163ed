"""Wire to core words and back: nothing is lost, nothing is renamed on the way."""

import json
from typing import Any, cast, get_args

import jsonschema
import pytest

from agent_host.core import events
from agent_host.core.actions import ActionServerStatus, FileEdit, OmittedFile, RunDiff
from agent_host.core.document import Position, Range
from agent_host.core.errors import SessionBusy
from agent_host.core.events import NumberedDelta
from agent_host.core.external import ServerStatus
from agent_host.core.model import (
    Failure,
    ImagePart,
    Limits,
    ModelInfo,
    Origin,
    ResourcePart,
    Role,
    RoleProblem,
    RunRequest,
    RunResult,
    SessionStatus,
    TextPart,
    Usage,
)
from agent_host.core.permission import Option
from agent_host.lsp import convert, convert_status, standard, wire
from agent_host.lsp.delta_encoder import DeltaEncoder
from agent_host.lsp.framing import Framer
from agent_host.lsp.host import ClientInfo, Folder, HostStatus, RoleList, WorkspaceStatus
from agent_host.lsp.wire_base import read

WIRE_RANGE = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 6}}
UNITS = Range(Position(1, 4), Position(1, 6))
POINTS = Range(Position(1, 2), Position(1, 3))
ODD = {"jsonrpc": "2.0", "class": None, "type_name": [1, {"_p": "\U0001f600"}]}
ORIGIN = Origin("agent", "coder", "openai/x", ("planner", "coder"))
USAGE = Usage(1, 2, 3, 4, 5, 6, 0.5)
USAGE_JSON = {
    "requests": 1,
    "inputTokens": 2,
    "outputTokens": 3,
    "cachedTokens": 4,
    "cacheWriteTokens": 5,
    "reasoningTokens": 6,
    "costUsd": 0.5,
}

DELTAS: tuple[tuple[events.Delta, dict[str, Any]], ...] = (
    (
        events.Started("coder", "openai/x", "sdk"),
        {"kind": "started", "role": "coder", "model": "openai/x", "runtime": "sdk"},
    ),
    (events.Text('a"\n\u2028\U0001f600'), {"kind": "text", "text": 'a"\n\u2028\U0001f600'}),
    (events.Reasoning("hm"), {"kind": "reasoning", "text": "hm"}),
    (
        events.ToolRequested("c", "fs_read", ODD, "Read", "low"),
        {
            "kind": "toolCall",
            "callId": "c",
            "name": "fs_read",
            "arguments": ODD,
            "title": "Read",
            "risk": "low",
        },
    ),
    (
        events.Asked("c", "May I?", "**x**", (Option("y", "Yes", "allowOnce"),)),
        {
            "kind": "question",
            "callId": "c",
            "title": "May I?",
            "detail": "**x**",
            "options": [{"id": "y", "title": "Yes", "kind": "allowOnce"}],
        },
    ),
    (events.Answered("c", None, "gone"), {"kind": "answer", "callId": "c", "reason": "gone"}),
    (events.Answered("c", "y", None), {"kind": "answer", "callId": "c", "optionId": "y"}),
    (
        events.ToolOutput("c", "stderr", "é\\"),
        {"kind": "toolOutput", "callId": "c", "stream": "stderr", "text": "é\\"},
    ),
    (
        events.ToolFinished("c", "denied", "no"),
        {"kind": "toolResult", "callId": "c", "status": "denied", "summary": "no"},
    ),
    (
        events.Edited("c", "file:///a", "@@", "proposed"),
        {"kind": "edit", "callId": "c", "uri": "file:///a", "diff": "@@", "state": "proposed"},
    ),
    (
        events.Planned((events.PlanEntry("one", "inProgress"),)),
        {"kind": "plan", "entries": [{"text": "one", "status": "inProgress"}]},
    ),
    (events.Used(USAGE), {"kind": "usage", "usage": USAGE_JSON}),
    (events.Logged("stderr", "x"), {"kind": "log", "source": "stderr", "text": "x"}),
    (events.Retried("busy", 1.5), {"kind": "retry", "reason": "busy", "waitSeconds": 1.5}),
    (
        events.Compacted("full", 900, 100, "All of it."),
        {"kind": "compacted", "why": "full", "before": 900, "after": 100, "summary": "All of it."},
    ),
    (events.Omitted("output", 7), {"kind": "omitted", "what": "output", "size": 7}),
    (
        events.Compared("@@", (OmittedFile("file:///b", "it is large"),)),
        {
            "kind": "diff",
            "text": "@@",
            "omitted": [{"uri": "file:///b", "reason": "it is large"}],
        },
    ),
    (events.Ended("completed"), {"kind": "ended", "status": "completed"}),
    (
        events.Ended("failed", "crashed", 1, "KILL"),
        {"kind": "ended", "status": "failed", "reason": "crashed", "exitCode": 1, "signal": "KILL"},
    ),
)


def numbered(delta: events.Delta, seq: int = 1, run_id: str = 'r"1') -> NumberedDelta:
    return NumberedDelta("s", run_id, seq, ORIGIN, delta)


def decoded(data: bytes) -> dict[str, Any]:
    (body,) = Framer().feed(data)
    return json.loads(cast("bytes", body))


def code_points(uri: str, units: Range) -> Range:
    assert (uri, units) == ("file:///a", UNITS)
    return POINTS


def test_every_kind_of_delta_is_here() -> None:
    assert {type(delta) for delta, _ in DELTAS} == set(get_args(events.Delta))


@pytest.mark.parametrize(("delta", "expected"), DELTAS, ids=lambda of: type(of).__name__)
def test_deltas(delta: events.Delta, expected: dict[str, Any]) -> None:
    message = decoded(DeltaEncoder().encode(numbered(delta)))
    assert message == {
        "jsonrpc": "2.0",
        "method": "agent/delta",
        "params": {
            "sessionId": "s",
            "runId": 'r"1',
            "seq": 1,
            "origin": {
                "kind": "agent",
                "role": "coder",
                "model": "openai/x",
                "path": ["planner", "coder"],
            },
            "delta": expected,
        },
    }
    schema = wire.json_schema()
    shape = {"$defs": schema["$defs"], "$ref": "#/$defs/AgentDelta"}
    jsonschema.validate(message["params"], shape)


@pytest.mark.parametrize("delta", [delta for delta, _ in DELTAS], ids=lambda of: type(of).__name__)
def test_both_ways_of_encoding_say_the_same(delta: events.Delta) -> None:
    message = decoded(DeltaEncoder().encode(numbered(delta)))
    assert message["params"] == convert.agent_delta(numbered(delta)).json_object()


def test_deltas_of_many_runs_and_speakers_stay_apart() -> None:
    encoder = DeltaEncoder()
    said: list[tuple[str, int, str]] = []
    for seq in range(1, 4):
        for run_id in ("a", "b"):
            for origin in (ORIGIN, Origin("tool")):
                delta = NumberedDelta("s", run_id, seq, origin, events.Text("x"))
                params = decoded(encoder.encode(delta))["params"]
                said.append((params["runId"], params["seq"], params["origin"]["kind"]))
    assert said == [
        (run_id, seq, kind) for seq in (1, 2, 3) for run_id in "ab" for kind in ("agent", "tool")
    ]


def test_half_characters_and_odd_numbers_still_make_json() -> None:
    odd = {"n": float("nan"), "l": [float("inf"), 1.5], "s": "\ud83d"}
    delta = events.ToolRequested("c", "x", odd, "\ud83d", "low")
    call = decoded(DeltaEncoder().encode(numbered(delta)))["params"]["delta"]
    assert call["arguments"] == {"n": None, "l": [None, 1.5], "s": "\ud83d"}
    assert decoded(DeltaEncoder().encode(numbered(events.Text("\ud83d"))))


def test_run_request() -> None:
    params = {
        "prompt": [
            "look",
            {"type": "image", "mediaType": "image/png", "data": "aGk="},
            {"type": "resource", "uri": "file:///a", "range": WIRE_RANGE},
        ],
        "sessionId": "s",
        "runId": "r",
        "role": "coder",
        "model": "m",
        "runtime": "sdk",
        "cwd": "/w",
        "context": [{"uri": "file:///b"}, {"uri": "file:///a", "range": WIRE_RANGE}],
        "limits": {"maxTurns": 1, "maxCostUsd": 2.5, "wallSeconds": 3, "inactivitySeconds": 4},
        "stream": False,
        "workDoneToken": "t",
    }
    assert convert.run_request(read(wire.RunParams, params), code_points) == RunRequest(
        prompt=(
            TextPart("look"),
            ImagePart("image/png", "aGk="),
            ResourcePart("file:///a", POINTS),
        ),
        session_id="s",
        run_id="r",
        role="coder",
        model="m",
        runtime="sdk",
        cwd="/w",
        context=(ResourcePart("file:///b"), ResourcePart("file:///a", POINTS)),
        limits=Limits(1, 2.5, 3, 4),
        stream=False,
        progress_token="t",
    )


def test_a_run_request_leaves_open_what_was_not_said() -> None:
    request = convert.run_request(read(wire.RunParams, {"prompt": "x"}), code_points)
    assert request == RunRequest(prompt=(TextPart("x"),))


def test_run_answer() -> None:
    result = RunResult(
        "s",
        "r",
        "failed",
        "out",
        USAGE,
        (FileEdit("file:///a", "create"),),
        failure=Failure("no_api_key", "Set a key."),
        diff=RunDiff("@@"),
    )
    assert convert.run_answer(result).json_object() == {
        "sessionId": "s",
        "runId": "r",
        "status": "failed",
        "output": "out",
        "usage": USAGE_JSON,
        "edits": [{"uri": "file:///a", "kind": "create"}],
        "diff": {"text": "@@", "omitted": []},
        "error": {"error": "Set a key.", "code": "no_api_key"},
    }
    limited = RunResult("s", "r", "limit", "", Usage(), limit="maxTurns")
    told = convert.run_answer(limited).json_object()
    assert (told["status"], told["limit"]) == ("limit", "maxTurns")
    assert "costUsd" not in cast("dict[str, object]", told["usage"])


def test_status_roles_and_models() -> None:
    status = HostStatus(
        (SessionStatus("s", "needsInput", "r"),),
        ActionServerStatus(None, 2, "none"),
        ("sdk",),
        (WorkspaceStatus("/w", trusted=False, ignored=("a role",)),),
        (ServerStatus("docs", "failed", "npx", "c.yaml:3", ("find",), "it broke", "mend"),),
    )
    assert convert_status.status_answer(status, "1.0").json_object() == {
        "version": "1.0",
        "sessions": [{"sessionId": "s", "status": "needsInput", "runId": "r"}],
        "actionServer": {"restarts": 2, "sandbox": "none"},
        "runtimes": ["sdk"],
        "workspaces": [{"path": "/w", "trusted": False, "ignored": ["a role"]}],
        "mcpServers": [
            {
                "name": "docs",
                "state": "failed",
                "how": "npx",
                "where": "c.yaml:3",
                "tools": ["find"],
                "reason": "it broke",
                "remedy": "mend",
                "notes": [],
                "restarts": 0,
            }
        ],
    }
    role = Role("coder", "Writes.", "secret prompt", "coder.md", "0", skills=frozenset({"b", "a"}))
    problem = RoleProblem("bad", "bad.md", 3, "no name")
    assert convert.roles_answer(RoleList((role,), (problem,))).json_object() == {
        "roles": [
            {
                "name": "coder",
                "description": "Writes.",
                "source": "coder.md",
                "skills": ["a", "b"],
                "mayCall": [],
            }
        ],
        "problems": [
            {
                "name": "bad",
                "source": "bad.md",
                "line": 3,
                "reason": "no name",
                "severity": "error",
            }
        ],
    }
    models = convert.models_answer((ModelInfo("openai/*", "openai", usable=False, reason="key"),))
    assert models.json_object() == {
        "models": [{"name": "openai/*", "provider": "openai", "usable": False, "reason": "key"}]
    }


def test_error_data_is_sentence_code_and_details() -> None:
    error = SessionBusy("Busy.", runId="r")
    assert convert.error_data(error) == {"error": "Busy.", "code": "session_busy", "runId": "r"}


def test_content_changes() -> None:
    heard = read(
        standard.DidChange,
        {
            "textDocument": {"uri": "u", "version": 1},
            "contentChanges": [{"range": WIRE_RANGE, "text": "x"}, {"text": "y"}],
        },
    )
    first, second = [convert.content_change(change) for change in heard.content_changes]
    assert (first.range, first.text) == (UNITS, "x")
    assert (second.range, second.text) == (None, "y")


@pytest.mark.parametrize(
    ("params", "info"),
    [
        ({}, ClientInfo()),
        (
            {
                "processId": 7,
                "clientInfo": {"name": "nvim", "version": "1"},
                "capabilities": {"general": {"positionEncodings": ["utf-8"]}},
                "initializationOptions": {"model": "x"},
                "rootUri": "file:///other",
                "workspaceFolders": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}, 5],
            },
            ClientInfo(
                "nvim",
                "1",
                7,
                "utf-8",
                {"general": {"positionEncodings": ["utf-8"]}},
                {"model": "x"},
                (Folder("file:///a", "A"), Folder("file:///b", "file:///b")),
            ),
        ),
        (
            {"rootUri": "file:///r", "workspaceFolders": None},
            ClientInfo(folders=(Folder("file:///r", "file:///r"),)),
        ),
        ({"rootPath": "/r s"}, ClientInfo(folders=(Folder("file:///r%20s", "file:///r%20s"),))),
        ({"processId": True, "clientInfo": 5, "capabilities": [], "rootUri": 3}, ClientInfo()),
    ],
)
def test_who_the_client_is(params: dict[str, object], info: ClientInfo) -> None:
    assert convert.client_info(params) == info
