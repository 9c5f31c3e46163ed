"""Stopped means stopped: one end, no later delta, no process left, no open dialog."""

import pytest

from tests.e2e.conftest import Hosts, Shared
from tests.e2e.editor import NEVER, Editor
from tests.e2e.processes import descendants, wait_gone, with_command
from tests.e2e.rawclient import RpcError
from tests.e2e.run import Run
from tests.e2e.script import calls, says

LONG = says(" ".join(f"word{n}" for n in range(2000)), seconds=0.005)
ASKS = calls(("terminal_run", {"command": "touch made"}))


def deltas_after(editor: Editor, run: Run, position: int) -> list[object]:
    later = editor.received(position)
    return [m for m in later if m.get("method") == "agent/delta" and m["params"]["runId"] == run.id]


def stop_and_check(editor: Editor, run: Run) -> None:
    """Stop a run; its answer comes, says so, and nothing of the run comes after the stop's."""
    stop = editor.request("agent/stop", {"runId": run.id})
    assert stop.result() == {"stopped": [run.id]}
    position = 1 + next(
        n for n, m in enumerate(editor.received()) if "method" not in m and m.get("id") == stop.id
    )
    assert run.result()["status"] == "stopped"
    assert editor.request("agent/ping").result() == {"pong": True}
    assert deltas_after(editor, run, position) == []
    status = editor.request("agent/status").result()
    states = {s["sessionId"]: s["status"] for s in status["sessions"]}
    assert states.get(run.result()["sessionId"], "idle") == "idle"
    run.check()


def test_while_the_model_streams(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(model=shared.script([LONG]))
    run.wait("text", count=5)
    stop_and_check(editor, run)
    after = editor.run(model=shared.script([says("fresh")]), sessionId=run.result()["sessionId"])
    assert after.result()["output"] == "fresh"
    assert after.text() == "fresh"


def test_while_the_model_hangs(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(model=shared.script([says("Waiting", hang=True)]))
    run.wait("text")
    stop_and_check(editor, run)


def test_while_a_question_is_open(shared: Shared) -> None:
    """The dialog is withdrawn, the session is free at once, and a late answer does nothing."""
    editor = shared.editor
    editor.answers = NEVER
    run = editor.run(model=shared.script([ASKS, says("ok")]))
    question = editor.wait_question()
    stop_and_check(editor, run)
    cancelled = editor.wait_for("$/cancelRequest")
    assert cancelled["params"]["id"] == question["id"]
    editor.answer(question, "Allow once")
    again = editor.run(model=shared.script([says("free")]), sessionId=run.result()["sessionId"])
    assert again.result()["output"] == "free"
    assert not (shared.root / "made").exists()
    assert [m for m in editor.received() if m.get("method") == "window/showMessage"] == []
    assert [d["status"] for d in run.deltas("toolResult")] == ["stopped"]


def test_while_a_command_runs(hosts: Hosts) -> None:
    """A grandchild in the background that ignores signals goes too."""
    script = hosts.file(
        "beat.sh",
        "trap '' TERM HUP INT\n"
        "(while :; do date +%N > beat; sleep 0.05; done) &\n"
        "until [ -e beat ]; do sleep 0.05; done; echo begun; wait\n",
    )
    command = {"command": f"bash {script.name}"}
    editor = hosts.start()
    run = editor.run(model=hosts.script([calls(("terminal_run", command)), says("ok")]))
    run.wait("toolOutput")
    processes = [p for p in descendants(editor.process.pid) if "beat.sh" in p.command]
    assert processes
    stop_and_check(editor, run)
    assert wait_gone(processes, 0.5) == []
    assert [d["status"] for d in run.deltas("toolResult")] == ["stopped"]
    assert editor.process.poll() is None


def test_by_cancelling_the_request(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(model=shared.script([LONG]))
    run.wait("text")
    editor.notify("$/cancelRequest", {"id": run.pending.id})
    answer = run.pending.answer()
    stopped = answer.get("result", {}).get("status") == "stopped"
    assert stopped or answer["error"]["code"] == -32800
    assert run.wait("ended")["status"] == "stopped"
    assert run.kinds()[-1] == "ended"


def test_by_the_button_of_its_progress(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(model=shared.script([LONG]))
    token = editor.wait_for("window/workDoneProgress/create")["params"]["token"]
    run.wait("text")
    editor.notify("window/workDoneProgress/cancel", {"token": token})
    assert run.result()["status"] == "stopped"


def test_by_the_plain_command(hosts: Hosts) -> None:
    editor = hosts.start("neovim")
    run = editor.run(model=hosts.script([LONG]))
    run.wait("text")
    editor.request(
        "workspace/executeCommand", {"command": "agentHost.stop", "arguments": []}
    ).result()
    assert run.result()["status"] == "stopped"


def test_by_session_and_all_at_once(shared: Shared) -> None:
    editor = shared.editor
    runs = [editor.run(model=shared.script([says("x", hang=True)])) for _ in range(3)]
    for run in runs:
        run.wait("text")
    first = next(
        m["params"]["sessionId"]
        for m in editor.received()
        if m.get("method") == "agent/delta" and m["params"]["runId"] == runs[0].id
    )
    assert editor.stop(sessionId=first) == {"stopped": [runs[0].id]}
    assert sorted(editor.stop()["stopped"]) == sorted(run.id for run in runs[1:])
    assert {run.result()["status"] for run in runs} == {"stopped"}
    assert editor.stop() == {"stopped": []}


@pytest.mark.parametrize(
    ("params", "code"),
    [({"runId": "nobody"}, "run_not_found"), ({"sessionId": "nobody"}, "session_not_found")],
)
def test_an_unknown_id_is_an_error(shared: Shared, params: dict[str, str], code: str) -> None:
    with pytest.raises(RpcError) as caught:
        shared.editor.stop(**params)
    assert caught.value.data["code"] == code


def test_a_run_that_is_over_can_be_stopped_again(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(model=shared.script([says("hi")]))
    assert run.result()["status"] == "completed"
    assert editor.stop(runId=run.id) == {"stopped": []}


def test_stopping_one_leaves_the_other_alone(shared: Shared) -> None:
    """Each run has a process of its own; the other's lives on and finishes."""
    editor = shared.editor
    (shared.root / "go").touch()
    waits = {
        name: calls(
            ("terminal_run", {"command": f"echo begun; while [ ! -e {name} ]; do sleep 0.05; done"})
        )
        for name in ("first", "second")
    }
    first, second = (
        editor.run(model=shared.script([waits[name], says("ok")])) for name in ("first", "second")
    )
    first.wait("toolOutput")
    second.wait("toolOutput")
    stop_and_check(editor, first)
    assert not second.pending.answered()
    shared.file("second", "")
    assert second.result()["status"] == "completed"
    assert second.tool_result("terminal_run")["status"] == "ok"


def test_nothing_is_left_of_a_stopped_run(hosts: Hosts) -> None:
    marker = "sleep 987654"
    editor = hosts.start()
    run = editor.run(
        model=hosts.script(
            [calls(("terminal_run", {"command": f"echo begun; (setsid {marker} &) ; {marker}"}))]
        )
    )
    run.wait("toolOutput")
    processes = with_command(marker)
    stop_and_check(editor, run)
    assert wait_gone(processes, 0.5) == []
    assert with_command(marker) == []
