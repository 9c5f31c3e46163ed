"""A conversation over several runs: one at a time, repaired after a stop, kept over a restart."""

from tests.e2e.conftest import Hosts
from tests.e2e.editor import NEVER
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

LIST = ("fs_list", {"path": "."})
TOUCH = ("terminal_run", {"command": "touch made"})


def test_a_second_run_in_the_same_instant_is_refused_as_busy(hosts: Hosts) -> None:
    editor = hosts.start()
    session = editor.run(model=hosts.script([says("hi")])).result()["sessionId"]
    hang = hosts.script([says("working", hang=True)])
    params = {"prompt": "go", "model": hang, "sessionId": session}
    first = editor.run(model=hang, sessionId=session)
    second = editor.request("agent/run", params)
    error = second.answer()["error"]
    assert error["data"]["code"] == "session_busy"
    first.wait("text")
    assert editor.stop(sessionId=session) == {"stopped": [first.id]}
    assert first.result()["status"] == "stopped"


def test_the_model_reads_what_was_said_before(hosts: Hosts, vendor: Vendor) -> None:
    vendor.plays([calls(LIST), says("first answer"), says("second answer")])
    editor = hosts.start(env=vendor.environment)
    session = editor.run("first question", model="local/any").result()["sessionId"]
    editor.run("second question", model="local/any", sessionId=session).result()
    told = str(vendor.bodies[-1]["messages"])
    for part in ("first question", "fs_list", "first answer", "second question"):
        assert part in told


def test_a_call_that_was_stopped_has_a_result_in_the_next_request(
    hosts: Hosts, vendor: Vendor
) -> None:
    """The vendor refuses a call without its result, so the next run would fail."""
    editor = hosts.start(env=vendor.environment)
    editor.answers = NEVER
    vendor.plays([calls(LIST, TOUCH, text="Let me see."), says("went on")])
    run = editor.run("do it", model="local/any")
    editor.wait_question()
    editor.stop(runId=run.id)
    session = run.result()["sessionId"]
    again = editor.run("and now?", model="local/any", sessionId=session).result()
    assert (again["status"], again["output"].strip()) == ("completed", "went on")
    assert any("stopped" in text or "interrupted" in text for text in vendor.tool_results())
    assert not (hosts.root / "made").exists()


def test_a_session_goes_on_after_a_restart(hosts: Hosts, vendor: Vendor) -> None:
    vendor.plays([calls(LIST), says("blue"), says("still blue")])
    editor = hosts.start(env=vendor.environment)
    session = editor.run("my colour is blue", model="local/any").result()["sessionId"]
    assert editor.shutdown() == 0
    editor = hosts.start(env=vendor.environment)
    result = editor.run("which colour?", model="local/any", sessionId=session).result()
    assert result["output"].strip() == "still blue"
    assert "my colour is blue" in str(vendor.bodies[-1]["messages"])


def test_a_session_goes_on_after_the_host_was_killed_in_mid_call(
    hosts: Hosts, vendor: Vendor
) -> None:
    vendor.plays([calls(TOUCH, text="I will."), says("went on")])
    editor = hosts.start(env=vendor.environment)
    editor.answers = NEVER
    run = editor.run("do it", model="local/any")
    editor.wait_question()
    session = next(
        m["params"]["sessionId"] for m in editor.received() if m.get("method") == "agent/delta"
    )
    assert not run.pending.answered()
    editor.kill()
    editor = hosts.start(env=vendor.environment)
    result = editor.run("and now?", model="local/any", sessionId=session).result()
    assert result["output"].strip() == "went on"
    assert "do it" in str(vendor.bodies[-1]["messages"])
