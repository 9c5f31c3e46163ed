"""The host is killed at every event of a run; one later host finds every session as it was.

A run of the same steps is killed after its first delta, after its second, and so on. The store by
itself is killed after each of its steps in tests/boundary/test_store_crash.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.editor import Editor
from tests.e2e.rawclient import Message
from tests.e2e.run import Run
from tests.e2e.script import Turn, calls, says
from tests.e2e.test_hosts import listed, loaded, without_gap
from tests.e2e.test_permission import edit
from tests.e2e.vendor import Vendor

LIST = ("fs_list", {"path": "."})
HELP = ("agent_call", {"role": "helper", "prompt": "Say this."})
LEAD = """---
name: lead
description: Has a helper.
agents: [helper]
capabilities: {skills: [fs.read, fs.write]}
---
You lead.
"""
HELPER = """---
name: helper
description: Helps.
model: scripted/echo
capabilities: {skills: [fs.read]}
---
You help.
"""


def alone(name: str) -> list[Turn]:
    """Text, a call, an edit with its question, an answer."""
    change = ("fs_edit", edit(name, "old", "new"))
    return [calls(LIST, text="Look."), calls(change, text="Change."), says("Done.")]


def helped(name: str) -> list[Turn]:
    """Another agent does a part."""
    del name
    return [calls(HELP, text="Help."), says("Done.")]


@dataclass
class Killed:
    """A run whose host was killed; `seen` is what the editor got of it.

    `safe` is the number of the delta that opened the last question that was put to the person.
    """

    run: Run
    session: str
    file: Path
    seen: list[Message]
    safe: int


@pytest.mark.timeout(600)  # some twenty hosts one after the other
@pytest.mark.parametrize("turns", [alone, helped])
def test_a_host_killed_at_any_event_leaves_a_true_session_that_can_go_on(
    hosts: Hosts, vendor: Vendor, turns: Callable[[str], list[Turn]]
) -> None:
    environment = vendor.environment
    roles = hosts.state / "config" / "roles"
    roles.mkdir(parents=True)
    (roles / "lead.md").write_text(LEAD)
    (roles / "helper.md").write_text(HELPER)
    killed: list[Killed] = []
    over = False
    while not over:
        file = hosts.file(f"{len(killed)}.txt", "old\n")
        vendor.plays(turns(file.name))
        editor = hosts.start(env=environment)
        run = editor.run("do it", model="local/any", role="lead")
        editor.wait(run._is_mine, count=len(killed) + 1, what="a delta")
        editor.kill()
        seen = [m["params"] for m in editor.received() if run._is_mine(m)]
        questions = [m["delta"]["kind"] == "question" for m in seen]
        safe = questions.index(True) + 1 if editor.questions() else 0
        killed.append(Killed(run, seen[0]["sessionId"], file, seen, safe))
        # The last one was as long as the run: its end was seen as the delta that it waited for.
        over = seen[len(killed) - 1]["delta"]["kind"] == "ended"
    assert len(killed) > 9
    paths = [each["origin"].get("path") for each in killed[-1].seen]
    assert (["lead", "helper"] in paths) == (turns is helped)

    editor = hosts.start(env=environment)
    entries = listed(editor)
    # What the editor was told of is there, also if the host was killed in that moment.
    assert set(entries) == {each.session for each in killed}
    for each in killed:
        as_it_was(editor, each, entries[each.session])
    assert {entry["status"] for entry in entries.values()} <= {"interrupted", "completed"}
    vendor.plays([says("Went on.") for _ in killed])
    for each in killed:
        again = editor.run("go on", model="local/any", sessionId=each.session).result()
        assert again["output"].strip() == "Went on."
        if each.safe:
            assert "do it" in str(vendor.bodies[-1]["messages"])
    assert vendor.refused == []


def as_it_was(editor: Editor, killed: Killed, entry: Message) -> None:
    """What is stored is a true beginning of what was told, and no more than a moment is missing."""
    page = loaded(editor, killed.session)
    stored, (run,) = page["deltas"], page["runs"]
    assert (run["status"], entry["status"], entry["elsewhere"]) == (entry["status"],) * 2 + (False,)
    through = without_gap(stored) - 1
    assert story(stored, through) == story(killed.seen, through) or through > len(killed.seen)
    kinds = [each["delta"]["kind"] for each in stored]
    assert through >= killed.safe  # what led to a question is stored before it is put
    assert (run["status"] == "completed") == (kinds[-1:] == ["ended"])
    text = killed.file.read_text()
    made = [d for d in stored if d["delta"].get("state") == "applied"]
    assert text in (("new\n",) if made else ("old\n", "new\n"))

    # An editor that reconnects is told the rest, once, and that nobody goes on with it.
    since = len(editor.received())
    after = {"runId": killed.run.id, "seq": killed.seen[-1]["seq"]}
    given = {"sessionId": killed.session}
    if through >= after["seq"]:
        editor.request("agent/session/attach", given | {"after": after}).result()
        rest = [m["params"] for m in editor.received(since) if killed.run._is_mine(m)]
        without_gap(rest, after["seq"] + 1)
        last = (killed.seen + rest)[-1]["delta"]
        assert (last["kind"], last["status"]) == ("ended", run["status"])
        editor.request("agent/session/detach", given).result()


def story(deltas: list[Message], through: int) -> list[tuple[str, str]]:
    """What was said and done up to a number, with texts in one piece."""
    found: list[tuple[str, str]] = []
    for message in deltas:
        delta = message["delta"]
        if message["seq"] > through:
            break
        what = delta.get("text") or delta.get("callId") or delta.get("status") or ""
        if found and found[-1][0] == delta["kind"] == "text":
            found[-1] = ("text", found[-1][1] + what)
        else:
            found.append((delta["kind"], what))
    return found
