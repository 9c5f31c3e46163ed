"""A session is compacted on wish, and goes on from its summary in a new host."""

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor


def test_a_session_is_compacted_and_goes_on_in_a_new_host(hosts: Hosts, vendor: Vendor) -> None:
    hosts.file("a.txt", "text\n")
    hosts.file("AGENTS.md", "Always be kind.\n")
    vendor.plays(
        [
            calls(("fs_read", {"path": "a.txt"})),
            says("It says text."),
            says("Summed up."),
            says("on"),
        ]
    )
    editor = hosts.start(env=vendor.environment)
    session = editor.run(model="local/any").result()["sessionId"]
    params = {"sessionId": session, "focus": "the file"}
    result = editor.request("agent/session/compact", params).result()
    assert result["status"] == "completed"
    assert result["output"].startswith("Compacted")
    loaded = editor.request("agent/session/load", {"sessionId": session}).result()
    (boundary,) = [each for each in loaded["deltas"] if each["delta"]["kind"] == "compacted"]
    assert boundary["delta"]["summary"] == "Summed up."
    assert "It says text." in str(loaded["deltas"])
    assert editor.shutdown() == 0
    again = hosts.start(env=vendor.environment)
    result = again.run(sessionId=session).result()
    assert result["output"].strip() == "on"
    sent = str(vendor.bodies[-1])
    assert "Summed up." in sent
    assert "Always be kind." in sent
    assert "It says text." not in sent
