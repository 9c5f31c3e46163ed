"""Whoever dies, the others follow or carry on: nothing is left behind, nothing hangs."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import NEVER, Editor
from tests.e2e.processes import Process, descendants, wait_gone, with_command
from tests.e2e.script import calls, says

SECONDS = 20.0
"""The promise is 3 s; the rest is for a busy machine."""


def run_a_command(hosts: Hosts, editor: Editor) -> list[Process]:
    """A run with a command that has a stubborn grandchild; all processes below the host."""
    command = f"echo begun; (trap '' TERM; sleep 98765; true) & sleep 98765 # {hosts.folder.name}"
    model = hosts.script([calls(("terminal_run", {"command": command})), says("ok")])
    editor.run(model=model).wait("toolOutput")
    below = descendants(editor.process.pid)
    assert any("sleep 98765" in process.command for process in below)
    return below


@pytest.mark.parametrize("moment", ["before initialize", "during initialize", "idle", "mid-run"])
def test_the_editor_closes_the_pipe(hosts: Hosts, moment: str) -> None:
    editor = hosts.start(handshake=moment in ("idle", "mid-run"))
    below: list[Process] = []
    if moment == "during initialize":
        editor.request("initialize", editor.initialize_params())
        editor.notify("initialized", {})
    if moment == "mid-run":
        below = run_a_command(hosts, editor)
    editor.close_stdin()
    assert editor.wait_exit(SECONDS) in (0, 1)
    assert wait_gone(below, SECONDS) == []


@pytest.mark.parametrize("moment", ["idle", "mid-run"])
def test_the_editor_vanishes_and_another_process_holds_the_pipe(hosts: Hosts, moment: str) -> None:
    """stdin stays open, so only the process id tells."""
    editor = hosts.start(handshake=False)
    with subprocess.Popen(["sleep", "1000"]) as stand_in:
        editor.initialize(process_id=stand_in.pid)
        below = run_a_command(hosts, editor) if moment == "mid-run" else []
        stand_in.kill()
        stand_in.wait()
        editor.wait_exit(2 * SECONDS)
    assert wait_gone(below, SECONDS) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_host_in_good_order(hosts: Hosts, number: signal.Signals) -> None:
    editor = hosts.start()
    below = run_a_command(hosts, editor)
    editor.process.send_signal(number)
    editor.wait_exit(SECONDS)
    assert wait_gone(below, SECONDS) == []
    assert "Traceback" not in editor.stderr()


def test_the_host_is_killed_hard(hosts: Hosts) -> None:
    editor = hosts.start()
    below = run_a_command(hosts, editor)
    editor.kill()
    assert wait_gone(below, SECONDS) == []
    assert with_command(hosts.folder.name) == []


def test_shutdown_while_a_run_waits_for_an_answer(hosts: Hosts) -> None:
    editor = hosts.start()
    editor.answers = NEVER
    run = editor.run(
        model=hosts.script([calls(("terminal_run", {"command": "touch made"})), says("ok")])
    )
    question = editor.wait_question()
    below = descendants(editor.process.pid)
    pending = editor.request("shutdown")
    assert pending.result() is None
    editor.answer(question, "Allow once")
    assert run.result()["status"] == "stopped"
    editor.notify("exit")
    assert editor.wait_exit(SECONDS) == 0
    assert wait_gone(below, SECONDS) == []
    assert not (hosts.root / "made").exists()


def test_shutdown_while_a_model_streams(hosts: Hosts) -> None:
    editor = hosts.start()
    long = says(" ".join(["word"] * 2000), seconds=0.01)
    runs = [editor.run(model=hosts.script([long])) for _ in range(3)]
    for run in runs:
        run.wait("text")
    assert editor.shutdown() == 0
    assert {run.result()["status"] for run in runs} == {"stopped"}


def test_the_action_server_dies_in_mid_action(hosts: Hosts) -> None:
    """One call has failed, the run goes on, and the next call works."""
    editor = hosts.start()
    model = hosts.script(
        [
            calls(("terminal_run", {"command": "echo begun; sleep 98765"})),
            calls(("fs_list", {"path": "."})),
            calls(("terminal_run", {"command": "touch made"})),
            says("went on"),
        ]
    )
    run = editor.run(model=model)
    run.wait("toolOutput")
    pid = editor.request("agent/status").result()["actionServer"]["pid"]
    os.kill(pid, signal.SIGKILL)
    assert run.result()["output"] == "went on"
    assert [d["status"] for d in run.deltas("toolResult")] == ["failed", "ok", "ok"]
    assert (hosts.root / "made").exists()
    status = editor.request("agent/status").result()["actionServer"]
    assert status["restarts"] == 1
    assert status["pid"] != pid


def test_a_hanging_action_server_is_replaced(hosts: Hosts) -> None:
    """Stopped by a signal it answers no more: the host notices by itself."""
    editor = hosts.start()
    editor.run(model=hosts.script([calls(("fs_list", {"path": "."})), says("ok")])).result()
    pid = editor.request("agent/status").result()["actionServer"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    model = hosts.script([calls(("fs_list", {"path": "."}))] * 2 + [says("went on")])
    run = editor.run(model=model)
    assert run.result(55)["output"] == "went on"
    assert [d["status"] for d in run.deltas("toolResult")][-1] == "ok"
    assert wait_gone([p for p in with_command("action_server") if p.pid == pid], SECONDS) == []


def test_the_host_ends_when_the_editor_no_longer_reads(hosts: Hosts) -> None:
    """The read end of its stdout is closed while its stdin stays open."""
    editor = hosts.start()
    below = run_a_command(hosts, editor)
    editor.close_stdout()
    with contextlib.suppress(BrokenPipeError):
        for _ in range(3):
            editor.request("agent/ping")
    editor.process.wait(2 * SECONDS)
    assert wait_gone(below, SECONDS) == []


def test_an_editor_killed_with_its_pipes(hosts: Hosts, tmp_path: Path) -> None:
    """A real parent process starts the host and is killed."""
    program = (
        "import subprocess, sys\n"
        "host = subprocess.Popen([sys.executable, '-m', 'agent_host', 'serve', '--stdio'],\n"
        "    stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "print(host.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=hosts.environment(),
        cwd=hosts.root,
    ) as parent:
        assert parent.stdout is not None
        host = int(parent.stdout.readline())
        (started,) = [p for p in descendants(parent.pid) if p.pid == host]
        parent.kill()
        parent.wait()
    assert wait_gone([started], SECONDS) == []
