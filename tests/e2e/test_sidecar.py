"""`agent-host sidecar`: hosts that speak no LSP, by lines of JSON, on the same core."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.processes import descendants, wait_gone
from tests.e2e.script import calls, says
from tests.e2e.test_claude_code import configured

TOUCH = ("terminal_run", {"command": "touch made"})


class Sidecar:
    """Speaks to one; every message that came is kept."""

    def __init__(self, hosts: Hosts) -> None:
        self.process = subprocess.Popen(
            (sys.executable, "-m", "agent_host", "sidecar"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=hosts.root,
            env=hosts.environment(),
            text=True,
            encoding="latin-1",
        )
        self.came: list[dict[str, Any]] = []

    def send(self, kind: str, **fields: object) -> None:
        self.write(json.dumps({"type": kind, **fields}))

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, kind: str, **fields: object) -> dict[str, Any]:
        """The next message of that kind with these fields."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            self.came.append(message)
            if message["type"] == kind and fields.items() <= message.items():
                return message
        raise AssertionError(f"it ended without {kind}: {self.came}")


@pytest.fixture
def sidecar(hosts: Hosts) -> Iterator[Sidecar]:
    made = Sidecar(hosts)
    made.wait("ready")
    yield made
    assert made.process.stdin is not None
    assert made.process.stdout is not None
    below = descendants(made.process.pid)
    made.process.stdin.close()
    rest = made.process.stdout.read()
    assert made.process.wait(20) == 0, rest
    made.process.stdout.close()
    assert wait_gone(below, 5.0) == []


def test_a_query_an_answer_and_its_continuation(hosts: Hosts, sidecar: Sidecar) -> None:
    sidecar.send("ping")
    sidecar.wait("pong")
    model = hosts.script([calls(TOUCH), says("Made.")])
    sidecar.send("query", sessionId="a", prompt="go", model=model, maxTurns=5, maxBudgetUsd=1.0)
    assert sidecar.wait("agent_started", sessionId="a")["model"] == model
    question = sidecar.wait("agent_question", sessionId="a")
    allow = next(each for each in question["options"] if each["kind"] == "allowOnce")
    sidecar.send("answer", questionId=question["questionId"], optionId=allow["id"])
    stopped = sidecar.wait("agent_stopped", sessionId="a")
    assert (stopped["status"], stopped["output"]) == ("completed", "Made.")
    assert (hosts.root / "made").exists()
    assert any(each["type"] == "agent_log" for each in sidecar.came)
    kinds = {each["event"]["kind"] for each in sidecar.came if each["type"] == "agent_event"}
    assert {"text", "toolCall", "toolResult"} <= kinds
    resumed = stopped["resumeSessionId"]
    plain = hosts.script([says("And on.")])
    sidecar.send("query", sessionId="b", prompt="more", resumeSessionId=resumed, model=plain)
    assert sidecar.wait("agent_started", sessionId="b")["resumeSessionId"] == resumed
    sidecar.wait("agent_stopped", sessionId="b")


def test_several_at_once_duplicate_unknown_and_stop(hosts: Hosts, sidecar: Sidecar) -> None:
    model = hosts.script([calls(TOUCH), says("Made.")])
    for session in ("a", "b"):
        sidecar.send("query", sessionId=session, prompt="go", model=model)
        sidecar.wait("agent_question", sessionId=session)
    sidecar.send("query", sessionId="a", prompt="go", model=model)
    sidecar.wait("error", code="duplicate_session")
    sidecar.send("stop", sessionId="nobody's")
    sidecar.wait("error", code="unknown_session")
    sidecar.send("stop", sessionId="a")
    assert sidecar.wait("agent_stopped", sessionId="a")["status"] == "stopped"
    assert not (hosts.root / "made").exists()
    # The other one is still asking; it is stopped with the sidecar itself.


def direct(sidecar: Sidecar) -> list[int]:
    """Its own children: the hosts."""
    tasks = Path(f"/proc/{sidecar.process.pid}/task")
    children = " ".join((each / "children").read_text() for each in tasks.iterdir())
    return [int(pid) for pid in children.split()]


def test_a_stop_that_is_repeated_does_not_interrupt_the_first(
    hosts: Hosts, sidecar: Sidecar
) -> None:
    model = hosts.script([calls(TOUCH), says("Made.")])
    sidecar.send("query", sessionId="a", prompt="go", model=model)
    sidecar.wait("agent_question", sessionId="a")
    for _ in range(3):
        sidecar.send("stop", sessionId="a")
    stopped = sidecar.wait("agent_stopped", sessionId="a")
    assert (stopped["status"], stopped["resumeSessionId"] is None) == ("stopped", False)


def test_sigterm_ends_all_in_good_order(hosts: Hosts) -> None:
    sidecar = Sidecar(hosts)
    model = hosts.script([calls(TOUCH), says("Made.")])
    sidecar.send("query", sessionId="a", prompt="go", model=model)
    sidecar.wait("agent_question", sessionId="a")
    below = descendants(sidecar.process.pid)
    sidecar.process.terminate()
    assert sidecar.wait("agent_stopped", sessionId="a")["status"] == "stopped"
    assert sidecar.process.wait(20) == 0
    assert wait_gone(below, 5.0) == []
    assert sidecar.process.stdin is not None
    assert sidecar.process.stdout is not None
    sidecar.process.stdin.close()
    sidecar.process.stdout.close()


def test_the_end_of_input_in_mid_run_stops_all_in_good_order(hosts: Hosts) -> None:
    sidecar = Sidecar(hosts)
    assert sidecar.process.stdin is not None
    assert sidecar.process.stdout is not None
    asking, hanging = (
        hosts.script([calls(TOUCH), says("Made.")]),
        hosts.script([says("Well", hang=True)]),
    )
    sidecar.send("query", sessionId="asks", prompt="go", model=asking)
    sidecar.wait("agent_question", sessionId="asks")
    sidecar.send("query", sessionId="streams", prompt="go", model=hanging)
    sidecar.wait("agent_event", sessionId="streams")
    below = descendants(sidecar.process.pid)
    sidecar.process.stdin.close()
    rest = [json.loads(line) for line in sidecar.process.stdout]
    assert sidecar.process.wait(20) == 0
    sidecar.process.stdout.close()
    ends = [each for each in rest if each["type"] == "agent_stopped"]
    told = sorted((each["sessionId"], each["status"]) for each in ends)
    assert told == [("asks", "stopped"), ("streams", "stopped")]
    assert wait_gone(below, 5.0) == []
    assert not (hosts.root / "made").exists()


def test_what_cannot_be_understood_is_answered(hosts: Hosts, sidecar: Sidecar) -> None:
    for line, code in (
        ("{", "invalid_json"),
        ("[" * 100_000, "invalid_json"),
        ("\xff", "invalid_json"),
        ("[]", "invalid_message"),
        ("3", "invalid_message"),
        ("{}", "unknown_type"),
        ('{"type": ["query"]}', "unknown_type"),
        ('{"type": "query", "sessionId": "", "prompt": "x"}', "invalid_message"),
        (
            '{"type": "query", "sessionId": "a", "prompt": "x", "cwd": "a\\u0000b"}',
            "invalid_message",
        ),
        ('{"type": "stop"}', "invalid_message"),
        ("x" * (17 * 1024 * 1024), "too_long"),
        ('{"type": "query", "prompt": "x"}', "invalid_message"),
        ('{"type": "query", "sessionId": "a", "prompt": 3}', "invalid_message"),
        ('{"type": "answer", "questionId": "q9"}', "unknown_question"),
    ):
        sidecar.write(line)
        sidecar.wait("error", code=code)
    sidecar.send("query", sessionId="a", prompt="x", model="nobody/knows")
    sidecar.wait("agent_error", sessionId="a")
    assert sidecar.wait("agent_stopped", sessionId="a")["status"] == "failed"
    sidecar.send("query", sessionId="a", prompt="x", model="scripted/x", maxTurns="many")
    told = sidecar.wait("agent_error", sessionId="a")
    assert "maxTurns" in told["error"]
    sidecar.wait("agent_stopped", sessionId="a")
    # What was answered by an error has not cost a host.
    assert len(direct(sidecar)) == 1
    sidecar.send("query", sessionId="a", prompt="x", cwd=str(hosts.root / "nowhere"))
    sidecar.wait("agent_error", sessionId="a")
    sidecar.wait("agent_stopped", sessionId="a")
    sidecar.send("ping")
    sidecar.wait("pong")


def test_the_exit_of_a_runtimes_process_is_told(hosts: Hosts, sidecar: Sidecar) -> None:
    configured(hosts, "dies")
    sidecar.send("query", sessionId="a", prompt="go", runtime="claude-code")
    assert sidecar.wait("agent_error", sessionId="a")["code"] == "runtime_failed"
    stopped = sidecar.wait("agent_stopped", sessionId="a")
    assert (stopped["status"], stopped["exitCode"], stopped["signal"]) == (
        "failed",
        None,
        "SIGKILL",
    )
