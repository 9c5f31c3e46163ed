"""A model server that breaks off, refuses or hangs: always one end, and finished work is kept."""

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

TOUCH = ("terminal_run", {"command": "echo once >> count"})


def test_a_stream_that_ends_before_it_says_anything_is_asked_for_again(
    hosts: Hosts, vendor: Vendor
) -> None:
    vendor.plays([says("", cut="nothing"), says("whole")])
    run = hosts.start(env=vendor.environment).run(model="local/any")
    result = run.result(60)
    assert (result["status"], result["output"].strip()) == ("completed", "whole")
    assert len(run.deltas("retry")) == 1


@pytest.mark.parametrize("cut", ["text", "half a call", "calls"])
def test_a_stream_that_is_cut_later_ends_the_run_and_not_the_session(
    hosts: Hosts, vendor: Vendor, cut: str
) -> None:
    """What was shown stays, a call that is not whole is not made, and the next prompt works."""
    vendor.plays([calls(TOUCH, text="I will count.", cut=cut), says("went on")])
    editor = hosts.start(env=vendor.environment)
    run = editor.run(model="local/any")
    result = run.result(60)
    assert (result["status"], result["error"]["code"]) == ("failed", "runtime_failed")
    assert result["output"].strip() == "I will count."
    assert editor.questions() == []
    assert not (hosts.root / "count").exists()
    again = editor.run(model="local/any", sessionId=result["sessionId"]).result()
    assert (again["status"], again["output"].strip()) == ("completed", "went on")


def test_a_stream_that_is_always_cut_ends_the_run(hosts: Hosts, vendor: Vendor) -> None:
    vendor.plays([says("", cut="nothing")] * 30)
    result = hosts.start(env=vendor.environment).run(model="local/any").result(60)
    assert (result["status"], result["error"]["code"]) == ("failed", "runtime_failed")
    assert len(vendor.bodies) < 10


def test_a_finished_tool_is_not_run_again_after_a_cut(hosts: Hosts, vendor: Vendor) -> None:
    vendor.plays([calls(TOUCH), says("", cut="nothing"), says("done")])
    editor = hosts.start(env=vendor.environment)
    result = editor.run(model="local/any").result(60)
    assert result["output"].strip() == "done"
    assert (hosts.root / "count").read_text() == "once\n"
    assert len(editor.questions()) == 1


@pytest.mark.parametrize(("status", "code"), [(401, "auth_failed"), (404, "model_not_found")])
def test_a_refusal_is_one_sentence(hosts: Hosts, vendor: Vendor, status: int, code: str) -> None:
    vendor.plays([says("", status=status)] * 3)
    editor = hosts.start(env=vendor.environment)
    result = editor.run(model="local/any").result(60)
    assert (result["status"], result["error"]["code"]) == ("failed", code)
    assert len(vendor.bodies) == 1


def test_a_hanging_server_is_left_when_the_run_is_stopped(hosts: Hosts, vendor: Vendor) -> None:
    vendor.plays([says("Thinking", hang=True)])
    editor = hosts.start(env=vendor.environment)
    run = editor.run(model="local/any")
    run.wait("text")
    editor.stop(runId=run.id)
    assert run.result()["status"] == "stopped"


def test_no_server_at_all_is_one_sentence(hosts: Hosts) -> None:
    editor = hosts.start(env={"LOCAL_BASE_URL": "http://127.0.0.1:9/v1"})
    result = editor.run(model="local/any").result(60)
    assert result["status"] == "failed"
    assert "127.0.0.1:9" in result["error"]["error"]
