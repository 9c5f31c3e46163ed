"""The words on the wire: what is accepted, how refusals read, and a schema that says the same."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from agent_host.core import events
from agent_host.core.errors import InvalidRequest
from agent_host.lsp import standard, wire, wire_delta
from agent_host.lsp.wire_base import read

RANGE = {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 3}}

GOOD_RUNS: tuple[dict[str, Any], ...] = (
    {"prompt": "text"},
    {"prompt": ["text", {"type": "text", "text": "more"}]},
    {"prompt": [{"type": "image", "mediaType": "image/png", "data": "aGk="}]},
    {"prompt": [{"type": "resource", "uri": "file:///a", "range": RANGE}]},
    {"prompt": "x", "sessionId": "s-1", "runId": "a.b:c_d", "role": "coder", "model": "openai/x"},
    {"prompt": "x", "runtime": "sdk", "cwd": "/a", "stream": False, "workDoneToken": 7},
    {"prompt": "x", "workDoneToken": "t", "context": [{"uri": "file:///a"}]},
    {"prompt": "x", "limits": {"maxTurns": 3, "maxCostUsd": 0.5, "wallSeconds": 1}},
    {"prompt": "x", "role": None, "limits": None, "context": None},
)

BAD_RUNS: tuple[tuple[object, str], ...] = (
    ({}, "prompt: Field required."),
    ({"prompt": 5}, "prompt: Input should be a string or a list of parts."),
    ({"prompt": " \n"}, "prompt: Input should say something."),
    ({"prompt": []}, "prompt: Input should say something."),
    (
        {"prompt": [5]},
        "prompt[0]: Input should be text, or a part: text, image, document or resource.",
    ),
    (
        {"prompt": [{"type": "sound"}]},
        "prompt[0]: Input should be text, or a part: text, image, document or resource.",
    ),
    ({"prompt": [{"type": "image", "data": ""}]}, "prompt[0].mediaType: Field required."),
    ({"prompt": [{"type": "text", "text": "x", "a": 1}]}, "prompt[0].a: there is no such key."),
    ({"prompt": "x", "stream": "no"}, "stream: Input should be a valid boolean."),
    ({"prompt": "x", "stream": 1}, "stream: Input should be a valid boolean."),
    ({"prompt": "x", "model": ""}, "model: String should have at least 1 character."),
    ({"prompt": "x", "workDoneToken": []}, "workDoneToken: Input should be a string or a whole"),
    ({"prompt": "x", "workDoneToken": True}, "workDoneToken: Input should be a string or a whole"),
    ({"prompt": "x", "limits": {"maxTurns": 0}}, "limits.maxTurns: Input should be greater than"),
    ({"prompt": "x", "limits": {"turns": 1}}, "limits.turns: there is no such key."),
    ({"prompt": "x", "limits": {"maxCostUsd": "1"}}, "limits.maxCostUsd: Input should be a valid"),
    (
        {"prompt": "x", "context": [{"uri": "a", "range": {**RANGE, "end": 1}}]},
        "context[0].range.end: Input should be",
    ),
    (
        {"prompt": "x", "session_id": "s"},
        "session_id: there is no such key. Known: context, create, cwd,",
    ),
    ([], "params: Input should be an object."),
)


@pytest.mark.parametrize("params", GOOD_RUNS)
def test_good_runs_are_accepted(params: dict[str, Any]) -> None:
    read(wire.RunParams, params)


@pytest.mark.parametrize(("params", "sentence"), BAD_RUNS)
def test_bad_runs_are_refused_in_words_that_name_the_field(params: object, sentence: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(wire.RunParams, params)
    assert caught.value.message.startswith(sentence)
    assert caught.value.details["field"] == sentence.partition(":")[0]


def test_refusals_never_repeat_the_value() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(wire.RunParams, {"prompt": "x", "model": ["sk-secret"]})
    assert "sk-secret" not in f"{caught.value.message} {caught.value.details}"


def test_whole_numbers_may_be_written_as_lua_does() -> None:
    params = read(wire.RunParams, {"prompt": "x", "limits": {"maxTurns": 3.0}})
    assert params.limits == wire.LimitsWire.model_validate({"maxTurns": 3})


def test_a_prompt_has_no_half_characters() -> None:
    params = read(wire.RunParams, {"prompt": "a\ud83db\ud83d\ude00"})
    assert params.prompt == [wire.TextPartWire(type="text", text="a\ufffdb\U0001f600")]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_are_finite(number: float) -> None:
    with pytest.raises(InvalidRequest, match="finite"):
        read(wire.RunParams, {"prompt": "x", "limits": {"maxCostUsd": number}})


# ---- standard messages


def test_untidy_documents_are_taken() -> None:
    item = {"uri": "file:///a", "languageId": None, "version": None, "text": "\ud83d", "more": 1}
    opened = read(standard.DidOpen, {"textDocument": item}).text_document
    assert (opened.language_id, opened.version, opened.text) == ("", 0, "\ud83d")
    short = read(standard.DidOpen, {"textDocument": {"uri": "file:///a", "text": ""}})
    assert short.text_document.language_id == ""


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": []}])
def test_a_command_needs_no_arguments(arguments: dict[str, Any]) -> None:
    assert read(standard.ExecuteCommand, {"command": "x", **arguments}).arguments == []


# ---- schema


def test_the_schema_accepts_what_is_accepted() -> None:
    schema = wire.json_schema()
    validator = jsonschema.Draft202012Validator(
        {"$defs": schema["$defs"], "$ref": "#/$defs/RunParams"}
    )
    for params in GOOD_RUNS:
        validator.validate(params)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"prompt": 5},
        {"prompt": "x", "promt": 1},
        {"prompt": [{"type": "sound"}]},
        {"prompt": "x", "limits": {"maxTurns": 0}},
        {"prompt": "x", "runId": "../x"},
    ],
)
def test_the_schema_refuses_what_is_refused(params: object) -> None:
    schema = wire.json_schema()
    validator = jsonschema.Draft202012Validator(
        {"$defs": schema["$defs"], "$ref": "#/$defs/RunParams"}
    )
    assert not validator.is_valid(params)


def test_the_schema_is_sound_and_names_every_method() -> None:
    schema: dict[str, Any] = wire.json_schema()
    assert set(schema["methods"]) == set(wire.METHODS)
    assert schema["methods"]["agent/delta"]["result"] is None
    for shape in schema["$defs"].values():
        jsonschema.Draft202012Validator.check_schema(shape)
    references = [each["params"]["$ref"] for each in schema["methods"].values()]
    assert all(reference.removeprefix("#/$defs/") in schema["$defs"] for reference in references)


def test_every_kind_of_delta_is_on_the_wire() -> None:
    kinds = [
        each.model_fields["kind"].default for each in get_args(get_args(wire_delta.DeltaWire)[0])
    ]
    assert len(kinds) == len(set(kinds)) == len(get_args(events.Delta))


def test_the_extensions_types_are_made_of_this_schema() -> None:
    script = Path(__file__).parents[2] / "editors" / "vscode" / "scripts" / "wire.mjs"
    node = shutil.which("node")
    assert node is not None, "node is needed to check the types of editors/vscode"
    schema = json.dumps(wire.json_schema())
    done = subprocess.run(
        [node, script, "--check"], input=schema, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
