"""The Neovim plugin without a host: hostile text, many deltas, questions, requests, words."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from agent_host.lsp.capabilities import COMMANDS
from agent_host.lsp.wire import METHODS, json_schema
from tests.editors.conftest import make_job
from tests.editors.test_nvim_talk import PLUGIN, drive


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return drive(make_job(tmp_path_factory.mktemp("nvim")), "alone.lua")


# ---- text from models and commands


def test_no_text_of_a_model_controls_anything(seen: dict[str, Any]) -> None:
    assert seen["owned"] is False
    assert seen["control characters"] is False
    assert seen["control characters in a question"] is False
    assert seen["log"] is False
    assert seen["diff"] is False
    assert seen["bidi"] is False


def test_all_of_it_is_there_in_lines_that_are_not_too_long(seen: dict[str, Any]) -> None:
    assert seen["all of it"] is True
    assert 1000 < seen["longest line"] < 2100


def test_a_model_writes_neither_into_tools_nor_beyond_its_code_block(seen: dict[str, Any]) -> None:
    assert seen["passes for a tool"] is False
    assert seen["fence closed"] is True


def test_the_plan_is_the_last_one(seen: dict[str, Any]) -> None:
    assert seen["plan"] is True
    assert seen["ended"] == "idle"
    assert seen["changed"] is True


def test_five_thousand_deltas_are_shown_without_holding_the_editor_up(seen: dict[str, Any]) -> None:
    assert seen["words"] == 4500
    assert seen["output"] == [True, True, True]
    assert seen["cpu ms per delta"] < 0.2


# ---- questions


def test_questions_come_in_their_order_and_each_is_answered_once(seen: dict[str, Any]) -> None:
    allowed = [{"optionId": "once"}, {"optionId": "session"}]
    withdrawn_closed_and_host_ended = [None, None, None]
    assert seen["answers"] == allowed + withdrawn_closed_and_host_ended
    assert seen["count in the title"] is True
    assert seen["floats"] == 0


def test_an_edit_is_allowed_in_part(seen: dict[str, Any]) -> None:
    assert seen["parts"] == "[x] a.py\n [ ] b.py"
    assert seen["partly"] == {"optionId": "once", "accepted": ["p1"]}


def test_a_question_takes_no_key_from_somebody_who_types(seen: dict[str, Any]) -> None:
    assert seen["keyboard stays"] is True
    assert seen["denied by command"] == {"optionId": "deny", "reason": "not now, please"}


def test_questions_by_the_users_own_picker(seen: dict[str, Any]) -> None:
    titles = ["Deny", "Deny, and say why", "Allow once", "Allow for this session", "Stop the run"]
    assert seen["picked"] == titles
    assert seen["selected"] == {"optionId": "session"}
    assert seen["dismissed"] is None


# ---- requests


def test_what_the_editor_finds_odd_is_told(seen: dict[str, Any]) -> None:
    (diagnostic,) = seen["diagnostics"]["diagnostics"]
    assert diagnostic["range"]["end"] == {"line": 0, "character": 4}
    assert (diagnostic["severity"], diagnostic["message"]) == (2, "odd")


def test_a_buffer_is_saved_but_never_over_what_somebody_else_wrote(seen: dict[str, Any]) -> None:
    assert len(seen["saved"]["saved"]) == 1
    assert seen["on disk"] == "typed\nname = 'disk'"
    assert seen["saved over"] == {"saved": []}
    assert seen["kept on disk"] == "somebody else, and longer"


# ---- words


def test_the_command_line_completes(seen: dict[str, Any]) -> None:
    assert seen["completion"] == ["send", "sessions", "steer", "stop"]


def lines(first: int, last: int) -> dict[str, Any]:
    return {"start": {"line": first - 1, "character": 0}, "end": {"line": last, "character": 0}}


def test_only_files_of_the_workspace_are_given_to_a_run(seen: dict[str, Any]) -> None:
    found = [
        (unquote(item["uri"].rpartition("/")[2]), item.get("range")) for item in seen["mentioned"]
    ]
    assert found == [
        ("a file.py", lines(2, 2)),
        ("tidy.py", None),
        ("tidy.py", lines(3, 9)),
        ("tidy.py", lines(4, 4)),
    ]
    assert seen["mentions"] == ['@"a file.py":3-9', "@tidy.py:2"]
    assert seen["no mention"] is True


def test_a_missing_host_and_wrong_settings_are_named(seen: dict[str, Any]) -> None:
    assert "Looked for: /nowhere/agent-host" in seen["not found"]
    told = "\n".join(seen["complaints"])
    assert "there is no :AgentHost nonsense" in told
    assert "window.position: must be one of right, left, bottom, tab" in told
    assert "colour: no such setting" in told


def test_the_help_has_every_command_and_group_and_its_tags_are_sound(
    seen: dict[str, Any], tmp_path: Path
) -> None:
    text = (PLUGIN / "doc" / "agent-host.txt").read_text()
    assert [name for name in seen["commands"] if not re.search(rf"\b{name}\b", text)] == []
    assert [name for name in seen["links"] if name not in text] == []
    tags = re.findall(r"(?<=[\s])\*([^*\s]+)\*(?=\s|$)", text)
    assert len(tags) == len(set(tags))
    links = set(re.findall(r"(?<=[\s(])\|(agent[^|\s]+)\|", text))
    assert links - set(tags) == set()
    assert max(len(line.expandtabs(8)) for line in text.splitlines()) <= 80


# ---- what is said on the wire


def properties(schema: dict[str, Any], name: str) -> set[str]:
    return set(schema["$defs"][name].get("properties", ()))


def named(schema: dict[str, Any], method: str, side: str) -> str:
    return schema["methods"][method][side]["$ref"].rpartition("/")[2]


def test_methods_and_params_are_those_of_the_schema(seen: dict[str, Any]) -> None:
    schema: dict[str, Any] = json_schema()
    wire = seen["wire"]
    for method, keys in wire["requests"].items():
        assert set(keys) <= properties(schema, named(schema, method, "params")), method
    for method, keys in wire["answers"].items():
        assert set(keys) <= properties(schema, named(schema, method, "result")), method
    assert set(wire["notifications"]) <= set(METHODS)
    assert set(wire["commands"].values()) <= set(COMMANDS)


def test_what_is_read_from_the_wire_is_in_the_schema(seen: dict[str, Any]) -> None:
    schema: dict[str, Any] = json_schema()
    host = [name for name, method in METHODS.items() if method.sender == "host"]
    answered = {named(schema, name, "result") for name in seen["wire"]["requests"]}
    known = {
        "delta": {
            key
            for name in schema["$defs"]
            if name.endswith("Delta")
            for key in properties(schema, name)
        },
        "answer": {key for name in answered for key in properties(schema, name)},
        "params": {
            key for name in host for key in properties(schema, named(schema, name, "params"))
        },
        "option": properties(schema, "OptionWire"),
        "usage": properties(schema, "UsageWire"),
    }
    ours = {
        # Results of commands, which the schema does not hold.
        "answer": {"trusted", "grants", "accepted", "optionId", "reason"},
        # Params of standard requests.
        "params": {"edit"},
    }
    for file in (PLUGIN / "lua" / "agent_host").glob("*.lua"):
        for word, keys in known.items():
            read = set(re.findall(rf"\b{word}\.(\w+)", file.read_text()))
            assert read - keys - ours.get(word, set()) == set(), f"{file.name}: {word}"


def test_every_kind_of_delta_is_shown(seen: dict[str, Any]) -> None:
    schema: dict[str, Any] = json_schema()
    kinds = {
        shape["properties"]["kind"]["const"]
        for name, shape in schema["$defs"].items()
        if name.endswith("Delta") and "kind" in shape["properties"]
    }
    assert set(seen["kinds"]) == kinds
