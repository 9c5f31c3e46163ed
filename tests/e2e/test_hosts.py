"""Two hosts, one store, on SQLite and on a real PostgreSQL: one runs, the other follows, and takes
over once the first was killed.
"""

import subprocess
import sys
from typing import Any

import pytest

from tests.boundary.store_support import LazyCluster, server
from tests.e2e.conftest import Hosts
from tests.e2e.editor import Editor
from tests.e2e.rawclient import Message, RpcError
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

__all__ = ["server"]

LIST = ("fs_list", {"path": "."})


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, hosts: Hosts, server: LazyCluster) -> dict[str, str]:
    """The environment that names it."""
    kept = hosts.folder / "kept.sqlite" if request.param == "sqlite" else server.fresh()
    return {"AGENT_HOST_STORE": str(kept)}


def followed(editor: Editor, session: str) -> list[Message]:
    """The deltas that were told of a session, of whatever run."""
    found = [m["params"] for m in editor.received() if m.get("method") == "agent/delta"]
    return [each for each in found if each["sessionId"] == session]


def wait_followed(editor: Editor, kind: str, **members: Any) -> Message:
    def wanted(message: Message) -> bool:
        if message.get("method") != "agent/delta":
            return False
        delta = message["params"]["delta"]
        return delta["kind"] == kind and all(delta.get(k) == v for k, v in members.items())

    return editor.wait(wanted, what=f"a followed {kind}")["params"]


def without_gap(deltas: list[Message], first: int = 1) -> int:
    """Nothing is missing or there twice; returns the number after the last."""
    for delta in deltas:
        assert delta["seq"] == first
        first = delta.get("through", first) + 1
    return first


def spoken(deltas: list[Message]) -> str:
    return "".join(d["delta"]["text"] for d in deltas if d["delta"]["kind"] == "text")


def listed(editor: Editor) -> dict[str, Message]:
    found = editor.request("agent/session/list").result()["sessions"]
    return {each["sessionId"]: each for each in found}


def loaded(editor: Editor, session: str) -> Message:
    return editor.request("agent/session/load", {"sessionId": session, "limit": 1000}).result()


def test_one_runs_the_other_follows_and_takes_over(
    hosts: Hosts, vendor: Vendor, store: dict[str, str]
) -> None:
    environment = vendor.environment | store
    one, two = hosts.start(env=environment), hosts.start(env=environment)
    vendor.plays([calls(LIST, text="Let me see. "), says("This takes long", hang=True)])
    run = one.run("look around", model="local/any")
    run.wait("text", text="This ")
    session = one.received()[-1]["params"]["sessionId"]
    given = {"sessionId": session}

    attached = two.request("agent/session/attach", given).result()
    assert attached["runId"] == run.id
    two.wait_until(lambda: "takes" in spoken(followed(two, session)), what="what is said there")
    entry = listed(two)[session]
    assert (entry["elsewhere"], entry["status"]) == (True, "running")
    assert not listed(one)[session]["elsewhere"]
    with pytest.raises(RpcError) as busy:
        two.run("me too", model="local/any", **given).result()
    assert busy.value.data["code"] == "session_busy"
    assert busy.value.data["elsewhere"] is True
    two.runs.clear()

    seen = run.deltas()
    one.kill()
    end = wait_followed(two, "ended", status="interrupted")
    assert without_gap(followed(two, session)) == end["seq"] + 1
    assert spoken(followed(two, session)).startswith("Let me see. ")
    assert len(seen) <= end["seq"]
    entry = listed(two)[session]
    assert (entry["elsewhere"], entry["status"]) == (False, "interrupted")
    assert [each["status"] for each in loaded(two, session)["runs"]] == ["interrupted"]

    vendor.plays([says("I am here now.")])
    second = two.run("go on", model="local/any", **given)
    assert second.result()["output"].strip() == "I am here now."
    assert "look around" in str(vendor.bodies[-1]["messages"])
    page = loaded(two, session)
    for run_id in (run.id, second.id):
        without_gap([each for each in page["deltas"] if each["runId"] == run_id])
    assert [each["status"] for each in page["runs"]] == ["interrupted", "completed"]
    assert two.request("agent/session/detach", given).result() == {"detached": True}

    three = hosts.start(env=environment)
    vendor.plays([says("And I.")])
    assert three.run("you?", model="local/any", **given).result()["output"].strip() == "And I."
    assert "I am here now." in str(vendor.bodies[-1]["messages"])
    vendor.plays([says("Me again.")])
    assert two.run("and you?", model="local/any", **given).result()["status"] == "completed"
    assert "And I." in str(vendor.bodies[-1]["messages"])


def test_the_command_line_follows_a_run_to_its_end(hosts: Hosts) -> None:
    editor = hosts.start()
    run = editor.run(model=hosts.script([says("one two three four", seconds=0.2)]))
    run.wait("text", text="one ")
    session = editor.received()[-1]["params"]["sessionId"]
    done = subprocess.run(
        [sys.executable, "-m", "agent_host", "sessions", "follow", session],
        env=hosts.environment(),
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert "one two three four" in done.stdout
    assert done.stdout.endswith("[completed]\n")
    assert run.result()["status"] == "completed"
