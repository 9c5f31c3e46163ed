"""The Neovim plugin in a real Neovim: a person's first hour with it, in one session of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_host.lsp.wire import json_schema
from tests.editors.conftest import TYPED, Job, make_job

NVIM = Path(sys.executable).parent / "nvim"
HERE = Path(__file__).parent / "nvim"
PLUGIN = Path(__file__).parents[2] / "editors" / "nvim"
EDIT = {
    "call": {
        "name": "fs_edit",
        "arguments": {"path": "tidy.py", "edits": [{"old": "disk", "new": "agent"}]},
    }
}
SCRIPTS: dict[str, Any] = {
    "denied": [
        [EDIT],
        [
            {"expect": {"result": r"^(?!.*tabs.*tabs)[\s\S]*The user says: use tabs in this file"}},
            {"text": "The reason has come."},
        ],
    ],
    "hanging": [[{"text": "Once upon a time"}, {"hang": True}]],
    "steered": [[EDIT], [{"expect": {"prompt": "mind the gap"}}, {"text": "I mind it."}]],
    "lines": [[{"expect": {"prompt": "größe"}}, {"text": "I see the line."}]],
    "echo": [[{"text": "{{prompt}}"}]],
}


def drive(
    job: Job, script: str, models: dict[str, Any] | None = None, nvim: Path = NVIM
) -> dict[str, Any]:
    """Run one script of the folder nvim with models that take these turns; returns what it saw.

    Whatever the plugin reads of what the host says must be in the host's schema.
    """
    folder = job.root.parent
    scripts = {name: folder / f"{name}.yaml" for name in models or {}}
    for name, file in scripts.items():
        file.write_text(json.dumps((models or {})[name]))
    schema, config = folder / "schema.json", folder / "config.json"
    schema.write_text(json.dumps(json_schema()))
    settings = {
        "plugin": str(PLUGIN),
        "schema": str(schema),
        "command": [sys.executable, "-m", "agent_host", "serve", "--stdio"],
        "root": str(job.root),
        "file": str(job.file),
        "typed": [*TYPED.splitlines(), ""],
        "model": job.model,
        "scripts": {name: f"scripted/{file}" for name, file in scripts.items()},
    }
    config.write_text(json.dumps(settings))
    done = subprocess.run(
        [nvim, "--clean", "--headless", "-l", HERE / script, config, HERE / "stage.lua"],
        env=job.environment | {"XDG_STATE_HOME": str(folder / "nvim")},
        cwd=job.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["unknown"] == []
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return drive(make_job(tmp_path_factory.mktemp("nvim")), "talk.lua", SCRIPTS)


def test_nothing_is_loaded_before_it_is_used(seen: dict[str, Any]) -> None:
    assert seen["lazy"] is True


def test_a_question_shows_options_and_diff_with_the_safe_one_under_the_cursor(
    seen: dict[str, Any],
) -> None:
    assert seen["float"] == 1
    assert "-name = 'disk'\n+name = 'agent'" in seen["question"]
    assert " 2  Allow once" in seen["question"]
    assert seen["first line under the cursor"] == " 1  Deny"
    assert (seen["asking"], seen["statusline"]) == ("asking", "agent: asking")
    assert seen["key that came too early"] == "not answered"


def test_an_answer_by_a_key_and_by_a_command_allows(seen: dict[str, Any]) -> None:
    assert seen["edited"] + "\n" == TYPED + "name = 'agent'\n"
    assert seen["ran"] is True
    assert seen["floats left"] == 0


def test_one_undo_takes_the_edit_back_and_leaves_what_was_typed(seen: dict[str, Any]) -> None:
    assert seen["undone"] is True


def test_the_transcript_tells_the_run(seen: dict[str, Any]) -> None:
    told = seen["first transcript"]
    assert told.startswith("▌ You\ntidy up\n\n▌ coder\n● Read tidy.py\n\nI see the unsaved text.\n")
    assert "▎ -name = 'disk'\n▎ +name = 'agent'" in told
    assert "● Run touch ran\n\nAll done.\n\nΔ 1 file changed" in told
    marks = seen["first marks"]
    assert "✓ · Changed tidy.py" in marks
    assert "completed" in marks
    assert seen["folded"] >= 1


def test_a_denial_reaches_the_model_once_with_the_persons_words(seen: dict[str, Any]) -> None:
    # The script fails the run, and "The reason has come." is never shown, if it does not.
    assert seen["unchanged after a denial"] is True


def test_a_closed_window_denies_once(seen: dict[str, Any]) -> None:
    assert seen["closed"] is True


def test_stop_ends_a_stream_and_withdraws_a_question_at_once(seen: dict[str, Any]) -> None:
    assert seen["stopping"] == "stopping"
    assert seen["floats after stop"] == 0
    assert seen["question after stop"] is False
    assert seen["unchanged after stop"] is True


def test_what_is_said_meanwhile_waits_is_taken_back_and_is_heard(seen: dict[str, Any]) -> None:
    assert seen["pending"] == ["mind the gap", "and then rest"]
    assert seen["taken back"] == "and then rest"
    assert seen["pending at the end"] == 0
    assert seen["steered"] is True


def test_a_session_goes_on_after_the_host_was_started_again(seen: dict[str, Any]) -> None:
    assert seen["restart"] == "fine"
    assert seen["resumed"].startswith(seen["first transcript"])
    assert "▌ You\nmind the gap" in seen["resumed"]
    assert seen["same session"] is True


def test_a_session_goes_on_after_the_host_died(seen: dict[str, Any]) -> None:
    assert seen["after the end of the host"] == "idle"
    assert seen["session after the end of the host"] is True


def test_checkhealth_says_what_is_there(seen: dict[str, Any]) -> None:
    assert "OK the settings are in order" in seen["health"]
    assert "OK the host: " in seen["health"]


def test_checkhealth_knows_a_host_that_has_just_died(seen: dict[str, Any]) -> None:
    told = seen["health of a host that dies"]
    assert "does not answer" not in told
    assert "has just ended" in told or "the host is not running" in told


def test_others_hear_of_it_by_autocommands(seen: dict[str, Any]) -> None:
    events = seen["events"]
    assert events["AgentHostQuestion"] == events["AgentHostAnswered"] == 6
    assert events["AgentHostRunEnded"] == 10
    assert events["AgentHostDelta"] > 50


def test_nobody_is_warned_of_anything(seen: dict[str, Any]) -> None:
    assert [
        notice
        for notice in seen["notices"]
        if "the next run has the model" not in notice and "quit with exit code" not in notice
    ] == []
