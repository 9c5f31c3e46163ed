"""Commands of the agent: no stdin, limits, and their end is always told."""

import pytest

from tests.e2e.conftest import Hosts, Shared
from tests.e2e.processes import descendants, wait_gone
from tests.e2e.script import calls, expecting, says


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "read x; echo got:$x",
        "head -c 1",
        "python3 -c 'input()'",
        "cat < /dev/tty",
        "git init -q . && git -c core.editor=cat commit --allow-empty",
    ],
)
def test_a_command_that_wants_input_ends_at_once(shared: Shared, command: str) -> None:
    model = shared.script([calls(("terminal_run", {"command": command})), says("ok")])
    run = shared.editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert run.tool_result("terminal_run")["status"] in ("ok", "failed")


def test_the_exit_code_and_both_streams_reach_the_model(shared: Shared) -> None:
    model = shared.script(
        [
            calls(("terminal_run", {"command": "echo out; echo err >&2; exit 3"})),
            expecting(r"(?s)(?=.*out)(?=.*err)(?=.*\b3\b)", says("seen")),
        ]
    )
    assert shared.editor.run(model=model).result()["output"] == "seen"


def test_a_command_that_takes_too_long_is_ended(shared: Shared) -> None:
    call = ("terminal_run", {"command": "echo begun; sleep 98765", "timeout": 1})
    model = shared.script([calls(call), expecting("its time was up", says("went on"))])
    editor = shared.editor
    run = editor.run(model=model)
    run.wait("toolOutput")
    below = [p for p in descendants(editor.process.pid) if "98765" in p.command]
    assert run.result()["output"] == "went on"
    assert wait_gone(below, 0.5) == []


def test_output_arrives_while_the_command_runs(shared: Shared) -> None:
    command = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done"
    run = shared.editor.run(
        model=shared.script([calls(("terminal_run", {"command": command})), says("ok")])
    )
    assert "begun" in run.wait("toolOutput")["text"]
    assert run.deltas("toolResult") == []
    shared.file("go", "")
    assert run.result()["status"] == "completed"


def test_no_key_of_the_host_is_in_a_commands_environment(hosts: Hosts) -> None:
    editor = hosts.start(
        env={"ANTHROPIC_API_KEY": "sk-secret-1234567890", "MY_TOKEN": "hidden-token"}
    )
    model = hosts.script(
        [calls(("terminal_run", {"command": "env; cat /proc/$PPID/environ"})), says("ok")]
    )
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    told = str(editor.received())
    assert "sk-secret-1234567890" not in told
    assert "hidden-token" not in told
