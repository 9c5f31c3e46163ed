"""What the Neovim plugin does with kept sessions: revert, rename, fork, pick, delete."""

from pathlib import Path

from tests.editors.conftest import make_job
from tests.editors.test_nvim_talk import drive


def test_a_kept_session_is_reverted_renamed_forked_picked_and_deleted(tmp_path: Path) -> None:
    seen = drive(make_job(tmp_path), "kept.lua")
    assert seen["reverted"] is True
    assert seen["fork tells what was said"] is True
    sessions, actions = seen["offered"]
    assert len(sessions) == 2
    assert any(title.startswith("tidied once · coder") for title in sessions)
    assert actions == ["resume", "fork", "rename", "delete"]
    assert seen["asked before deleting"] == ["Keep", "Delete"]
    assert seen["the copy stays"] is True
    assert {role.partition(" · ")[0] for role in seen["roles"]} == {"coder", "planner", "reviewer"}
