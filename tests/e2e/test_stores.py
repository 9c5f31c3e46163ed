"""Where sessions are kept, by settings: a file, a PostgreSQL server, one that can't be reached."""

import json
import subprocess
import sys

from tests.boundary.store_support import LazyCluster, server
from tests.e2e.conftest import Hosts
from tests.e2e.script import says

__all__ = ["server"]


def sessions(hosts: Hosts, store: str, *words: str) -> str:
    """What `agent-host sessions` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "agent_host", "sessions", *words],
        env=hosts.environment() | {"AGENT_HOST_STORE": store},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return done.stdout + done.stderr


def test_sessions_can_be_kept_in_postgresql(hosts: Hosts, server: LazyCluster) -> None:
    store = server.fresh()
    logs = hosts.folder / "logs"
    editor = hosts.start(options={"store": store}, env={"AGENT_HOST_LOGS": str(logs)})
    run = editor.run("keep the milk", model=hosts.script([says("kept")]))
    result = run.result()
    assert editor.shutdown() == 0
    assert not list(hosts.state.rglob("*.sqlite"))
    assert result["sessionId"] in sessions(hosts, store, "list", "milk")
    assert "[completed]" in sessions(hosts, store, "show", result["sessionId"])
    (log,) = logs.iterdir()
    assert log.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [lines[0]["kind"], lines[-1]["kind"]] == ["run", "ended"]


def test_a_server_that_can_t_be_reached_is_told_and_runs_go_on(hosts: Hosts) -> None:
    store = "postgresql://me:s3cret@127.0.0.1:1/team"
    editor = hosts.start(env={"AGENT_HOST_STORE": store})
    told = editor.wait_for("window/showMessage")["params"]["message"]
    assert "can't be reached" in told
    assert "not kept" in told
    result = editor.run(model=hosts.script([says("done")])).result()
    assert result["status"] == "completed"
    error = editor.request("agent/session/list").answer()["error"]
    assert error["data"]["code"] == "store_failed"
    assert "can't be reached" in sessions(hosts, store, "list")
    assert editor.shutdown() == 0
    log = editor.stderr_path.read_text()
    assert "s3cret" not in str(editor.received()) + log + sessions(hosts, store, "list")
