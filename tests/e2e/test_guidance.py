"""What people have written down for agents reaches the model, and what is broken is shown."""

from typing import Any

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.rawclient import RpcError
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

SKILL = "---\nname: release\ndescription: Cut a release.\n---\nFirst run the tests.\n"
PROMPT = "---\ndescription: Explain.\nargumentHint: <what>\n---\nExplain $1 to me.\n"
COLON = "---\nname: release\ndescription: Cut: a release.\n---\nFirst run the tests.\n"
PLACE = ".agents/skills/release/SKILL.md"


def test_the_model_is_told_and_loads_what_it_needs(hosts: Hosts, vendor: Vendor) -> None:
    hosts.file("AGENTS.md", "Always be kind.\n")
    hosts.file("sub/AGENTS.md", "Here, be brief.\n")
    hosts.file("sub/a.txt", "text\n")
    hosts.file(PLACE, SKILL)
    hosts.file(".agent-host/prompts/explain.md", PROMPT)
    wishes = (("skill_use", {"name": "release"}), ("fs_read", {"path": "sub/a.txt"}))
    vendor.plays([calls(*wishes), says("ok")])
    editor = hosts.start(env=vendor.environment)
    listed = editor.request("agent/prompts").result()
    assert [each["name"] for each in listed["prompts"]] == ["explain", "compact"]
    assert listed["prompts"][0]["argumentHint"] == "<what>"
    guidance = editor.request("agent/guidance").result()
    assert [each["name"] for each in guidance["skills"]] == ["release"]
    assert len(guidance["instructions"]) == 1
    result = editor.run(model="local/any", prompt="/explain this").result()
    assert result["output"].strip() == "ok"
    assert editor.questions() == []
    first, second = vendor.bodies
    system, user = first["messages"][0]["content"], first["messages"][1]["content"]
    assert "Always be kind." in system
    assert "release: Cut a release." in system
    assert "First run the tests." not in system
    assert user == "Explain this to me."
    results = [each["content"] for each in second["messages"] if each["role"] == "tool"]
    assert "First run the tests." in results[0]
    assert "Here, be brief." in results[1]


def test_without_trust_nothing_of_the_workspace_is_used(hosts: Hosts, vendor: Vendor) -> None:
    hosts.file("AGENTS.md", "Always be kind.\n")
    hosts.file(PLACE, SKILL)
    vendor.plays([says("ok")])
    editor = hosts.start(env=vendor.environment | {"AGENT_HOST_TRUST": "never"})
    editor.run(model="local/any").result()
    assert "Always be kind." not in str(vendor.bodies)
    assert "release" not in str(vendor.bodies)
    guidance = editor.request("agent/guidance").result()
    assert guidance["skills"] == []
    assert {each["name"] for each in guidance["problems"]} == {"AGENTS.md", "release"}


def test_a_broken_skill_is_listed_and_shown_on_the_file_until_it_is_mended(hosts: Hosts) -> None:
    path = hosts.file(PLACE, COLON)
    hosts.file(".agents/prompts/go.md", "Go there.\n")
    editor = hosts.start()
    (problem,) = editor.request("agent/guidance").result()["problems"]
    assert (problem["name"], problem["line"], problem["severity"]) == ("release", 3, "error")
    assert "quotes" in problem["reason"]
    with pytest.raises(RpcError) as caught:
        editor.run(model="scripted/echo", prompt="/go").result()
    assert "go.md:1" in caught.value.data["error"]
    uri = editor.open(path, language="markdown")

    def about_it(message: dict[str, Any]) -> bool:
        published = message.get("method") == "textDocument/publishDiagnostics"
        return published and message["params"]["uri"] == uri

    shown = editor.wait(about_it, what="diagnostics")["params"]["diagnostics"]
    assert [each["range"]["start"]["line"] for each in shown] == [2]
    since = len(editor.received())
    editor.type(uri, COLON, SKILL)
    mended = editor.wait(about_it, since=since, what="diagnostics taken back")
    assert mended["params"]["diagnostics"] == []
