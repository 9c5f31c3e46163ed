"""An agent that speaks the Agent Client Protocol in a whole host, named by the user's settings."""

import json
import sys
from pathlib import Path

from tests.e2e.conftest import Hosts

AGENT = Path(__file__).parents[1] / "acp_agent.py"


def test_an_agent_of_the_settings_works_through_the_editor(hosts: Hosts) -> None:
    names = ("reads", "writes", "terminal", "edits", "asks")
    runtimes = {f"acp:{name}": {"command": [sys.executable, str(AGENT), name]} for name in names}
    config = hosts.state / "config" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"runtimes": runtimes}))
    path = hosts.file("a.txt", "on disk\n")
    editor = hosts.start()
    # The very first request already knows them.
    assert "acp:reads" in editor.request("agent/status", {}).result()["runtimes"]
    editor.open(path, "typed and not saved\n")

    run = editor.run("Read it.", runtime="acp:reads")
    result = run.result()
    assert (result["status"], run.text()) == ("completed", "typed and not saved\n")
    assert run.deltas("ended") == [{"kind": "ended", "status": "completed", "exitCode": 0}]
    assert result["usage"]["inputTokens"] == 110
    run.check()

    run = editor.run("Write it.", runtime="acp:writes")
    assert run.result()["status"] == "completed"
    assert editor.text(path.as_uri()) == "new\n"
    assert [d["status"] for d in run.deltas("toolResult")] == ["ok"]

    run = editor.run("Run it.", runtime="acp:terminal")
    assert run.result()["status"] == "completed"
    assert run.text() == "3 out\n"

    # What was asked about and is then written through the host is asked about once.
    files = [hosts.file(name, "old\n") for name in ("c.txt", "d.txt")]
    before = len(editor.questions())
    run = editor.run("Edit them.", runtime="acp:edits")
    assert run.result()["status"] == "completed"
    assert len(editor.questions()[before:]) == 3
    assert [path.read_text() for path in files] == ["otherwise\n", "new d.txt\n"]
    run.check()

    editor.answers = "Deny"
    run = editor.run("Make it.", runtime="acp:asks")
    assert run.result()["status"] == "completed"
    assert [d["status"] for d in run.deltas("toolResult")] == ["denied"]
    assert not (hosts.root / "made.txt").exists()
