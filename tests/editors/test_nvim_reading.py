"""The Neovim plugin's transcript as it is read: names, motions, places in files, changes, help."""

from typing import Any

import pytest

from tests.editors.conftest import make_job
from tests.editors.test_nvim_talk import drive

TITLE = "mend a\N{DIVISION SLASH}b 100%"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return drive(make_job(tmp_path_factory.mktemp("nvim")), "reading.lua")


def test_buffers_have_names_for_people(seen: dict[str, Any]) -> None:
    assert seen["new"] == ["agent: new session", "prompt: new session"]
    assert seen["called"] == [f"agent: {TITLE}", f"prompt: {TITLE}"]
    assert seen["another of this title"] == f"agent: {TITLE} (2)"
    assert seen["left behind"] == []
    assert seen["status line"] == f"agent: {TITLE}"


def test_the_line_above_the_prompt_tells_state_use_and_the_key_that_counts(
    seen: dict[str, Any],
) -> None:
    assert "idle" in seen["idle"]
    assert "<CR> sends" in seen["idle"]
    assert "working coder · m · context 25% · 1.2k in, 5 out" in seen["working"]
    assert "<C-c> stops" in seen["working"]


def test_a_denials_reason_is_shown_whole_and_no_line_is_empty_twice(seen: dict[str, Any]) -> None:
    assert "▎ The user says: so so" in seen["transcript"]
    assert "so no\n" in seen["transcript"]
    assert "\n\n\n" not in seen["transcript"]
    assert "path: " not in seen["transcript"]


@pytest.mark.parametrize(
    ("from_where", "line"),
    [
        ("a path with a line", 2),
        ("the first path of a line", 2),
        ("a tool", 1),
        ("an added line", 3),
        ("a removed line far below", 21),
    ],
)
def test_what_is_named_opens_in_the_persons_own_window(
    seen: dict[str, Any], from_where: str, line: int
) -> None:
    name, shown, windows = seen[from_where]
    assert (name, windows) == ("tidy.py", 3)
    if from_where != "a tool":
        assert shown == line


def test_keys_go_from_speaker_to_speaker_and_into_the_prompt(seen: dict[str, Any]) -> None:
    lines = seen["transcript"].split("\n")
    speakers = [number for number, line in enumerate(lines, 1) if line.startswith("▌ ")]
    assert seen["speakers"] == [speakers[1], speakers[0]]
    assert seen["into the prompt"] == f"prompt: {TITLE}"
    assert seen["nothing"] == [f"agent: {TITLE}", 1]


def test_the_changes_of_a_run_are_places_in_the_quickfix_list(seen: dict[str, Any]) -> None:
    title, places = seen["list"]
    assert title.startswith("changes of mend")
    names = [name.rpartition("/")[2] for name, _, _ in places]
    assert names == ["tidy.py", "tidy.py", "gone.py", "big.bin"]
    assert [line for _, line, _ in places] == [2, 21, 1, 1]
    assert seen["diff"] == "agent diff"
    assert seen["from the diff"] == ["tidy.py", 21]


def test_the_prompt_completes_as_pickers_of_others_ask_for_it(seen: dict[str, Any]) -> None:
    assert seen["omnifunc"] is True


def test_help_is_shown_where_nobody_has_made_its_tags(seen: dict[str, Any]) -> None:
    assert seen["help"] == ["help", "agent-host.txt"]
