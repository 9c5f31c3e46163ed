"""The Neovim plugin and what people ran into with other agents: each case with a real host."""

from typing import Any

import pytest

from tests.editors.conftest import make_job
from tests.editors.test_nvim_talk import EDIT, drive

RUN = {"call": {"name": "terminal_run", "arguments": {"command": "touch ran"}}}
COUNT = "seq -f 'line %.0f of many' 35000"
SCRIPTS: dict[str, Any] = {
    "plainly": [
        [EDIT],
        [{"expect": {"result": r"^(?![\s\S]*The user says)"}}, {"text": "No words came."}],
    ],
    "twice": [[EDIT], [RUN], [{"text": "I go on without it."}]],
    "slow": [[{"text": {"say": "{{prompt}} is heard", "seconds": 0.4}}]],
    "much": [
        [{"call": {"name": "terminal_run", "arguments": {"command": COUNT}}}],
        [{"text": "I have counted."}],
    ],
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return drive(make_job(tmp_path_factory.mktemp("nvim")), "cases.lua", SCRIPTS)


def test_a_dismissed_question_denies_and_is_not_asked_again(seen: dict[str, Any]) -> None:
    assert seen["dismissed"] == [2, True, True]


def test_a_question_that_the_picker_cannot_show_comes_as_a_window(seen: dict[str, Any]) -> None:
    floats, told = seen["failing picker"]
    assert floats == 1
    assert "can not be shown by vim.ui.select" in told
    assert "no picker here" in told


def test_a_question_that_cannot_be_shown_at_all_is_denied_at_once(seen: dict[str, Any]) -> None:
    unchanged, told = seen["nowhere to ask"]
    assert unchanged is True
    assert "no room" in told


def test_an_answer_after_a_stop_does_nothing(seen: dict[str, Any]) -> None:
    assert seen["late answer"] == [0, True, "idle"]
    assert "Error" not in seen["complaints"]


def test_prompts_that_wait_run_in_their_order(seen: dict[str, Any]) -> None:
    assert seen["in order"] == ["work", "one", "three"]
    assert seen["left"] == 0


def test_a_question_that_a_killed_host_left_open_is_told_and_comes_again(
    seen: dict[str, Any],
) -> None:
    assert "tidy.py" in seen["asked again"]


def test_a_command_that_says_very_much_is_cut_and_cheap(seen: dict[str, Any]) -> None:
    much = seen["much"]
    assert much["lines"] < 600
    assert (much["first"], much["last"]) == (True, True)
    assert int(much["left_out"]) > 30_000
    assert much["bytes"] < 3 * 35_000 * len("line 35000 of many\n")
    assert much["cpu"] < 0.5
