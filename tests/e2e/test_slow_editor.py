"""An editor that stops reading: the host lives on, keeps order, and loses nothing it must keep."""

import time

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says

WORDS = 20_000
UNREAD_SECONDS = 5.0


def test_an_editor_that_does_not_read_for_five_seconds(hosts: Hosts) -> None:
    """Real time is the subject here: the pipe is full for all of it."""
    text = " ".join(f"word{n:05}" for n in range(WORDS))
    model = hosts.script([says(text), says("unused")])
    other = hosts.script([calls(("fs_list", {"path": "."})), says("ok")])
    editor = hosts.start()
    editor.pause_reading()
    runs = [editor.run(model=model) for _ in range(20)]
    last = editor.run(model=other)
    until = time.monotonic() + UNREAD_SECONDS
    while (left := until - time.monotonic()) > 0:
        editor.process.poll()
        assert editor.process.returncode is None
        time.sleep(min(left, 1.0))
    editor.resume_reading()
    assert {run.result(120)["status"] for run in runs} == {"completed"}
    assert {run.text() for run in runs} == {text}
    assert last.result()["output"] == "ok"
    assert last.kinds().count("toolResult") == 1


def test_a_long_output_reaches_the_editor_once(hosts: Hosts) -> None:
    """Many lines of a command are not sent again with each step, and what is left out is said."""
    command = {"command": "seq 1 200000"}
    editor = hosts.start()
    run = editor.run(model=hosts.script([calls(("terminal_run", command)), says("ok")]))
    assert run.result()["status"] == "completed"
    told = sum(len(delta["text"]) for delta in run.deltas("toolOutput"))
    printed = sum(len(f"{n}\n") for n in range(1, 200_001))
    assert told <= printed
    if told < printed:
        assert run.deltas("omitted")
