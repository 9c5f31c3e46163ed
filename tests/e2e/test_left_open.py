"""The host is killed while a question is open: the next run of the session puts it once more."""

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import NEVER
from tests.e2e.rawclient import Message
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

ADD = ("terminal_run", {"command": "echo x >> made"})


def asking(hosts: Hosts, vendor: Vendor) -> str:
    """A session whose host was killed while it asked."""
    editor = hosts.start(env=vendor.environment)
    editor.answers = NEVER
    vendor.plays([calls(ADD, text="I will.")])
    editor.run("do it", model="local/any")
    editor.wait_question()
    session = next(
        m["params"]["sessionId"] for m in editor.received() if m.get("method") == "agent/delta"
    )
    editor.kill()
    return session


def results(vendor: Vendor) -> list[str]:
    """What the model reads of the call, before the new prompt."""
    messages: list[Message] = vendor.bodies[-1]["messages"]
    roles = [m["role"] for m in messages if m["role"] != "system"]
    assert roles == ["user", "assistant", "tool", "user"]
    return vendor.tool_results()


@pytest.mark.parametrize("answer", ["Allow once", "Deny", None])
def test_it_is_put_once_and_done_only_if_it_is_allowed(
    hosts: Hosts, vendor: Vendor, answer: str | None
) -> None:
    session = asking(hosts, vendor)
    editor = hosts.start(env=vendor.environment)
    (entry,) = editor.request("agent/session/list").result()["sessions"]
    assert entry["status"] == "interrupted"
    loaded = editor.request("agent/session/load", {"sessionId": session}).result()
    (left,) = loaded["leftOpen"]
    assert "echo x >> made" in left["title"]
    assert editor.questions() == []  # to look at a session asks nothing

    editor.answers = answer
    vendor.plays([says("Went on."), says("And on.")])
    run = editor.run("go on", model="local/any", sessionId=session)
    assert run.result()["output"].strip() == "Went on."
    assert len(editor.questions()) == 1
    assert editor.questions()[0]["params"]["message"] == left["title"]
    made = hosts.root / "made"
    (result,) = results(vendor)
    if answer == "Allow once":
        assert made.read_text() == "x\n"
        assert run.tool_result("terminal_run")["status"] == "ok"
    else:
        assert not made.exists()
        assert "did not run" in result

    # It is nobody's question any more, in this host and in the next.
    again = editor.request("agent/session/load", {"sessionId": session}).result()
    assert "leftOpen" not in again
    editor.kill()
    editor = hosts.start(env=vendor.environment)
    result = editor.run("more", model="local/any", sessionId=session).result()
    assert result["output"].strip() == "And on."
    assert editor.questions() == []


def test_a_run_that_is_stopped_at_it_withdraws_it(hosts: Hosts, vendor: Vendor) -> None:
    session = asking(hosts, vendor)
    editor = hosts.start(env=vendor.environment)
    editor.answers = NEVER
    run = editor.run("go on", model="local/any", sessionId=session)
    editor.wait_question()
    editor.stop(runId=run.id)
    assert run.result()["status"] == "stopped"
    vendor.plays([says("Went on.")])
    result = editor.run("and now?", model="local/any", sessionId=session).result()
    assert result["output"].strip() == "Went on."
    assert len(editor.questions()) == 1
    assert "go on" in str(vendor.bodies[-1]["messages"])
    assert not (hosts.root / "made").exists()


def test_killed_again_it_is_still_put_once_by_the_run_that_goes_on(
    hosts: Hosts, vendor: Vendor
) -> None:
    session = asking(hosts, vendor)
    editor = hosts.start(env=vendor.environment)
    editor.answers = NEVER
    editor.run("go on", model="local/any", sessionId=session)
    editor.wait_question()
    editor.kill()
    editor = hosts.start(env=vendor.environment)
    editor.answers = "Allow once"
    vendor.plays([says("Went on.")])
    editor.run("go on", model="local/any", sessionId=session).result()
    assert len(editor.questions()) == 1
    assert (hosts.root / "made").read_text() == "x\n"
