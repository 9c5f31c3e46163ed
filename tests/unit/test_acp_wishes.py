"""What ACP agents wish, in our words."""

from typing import Any

import pytest

from agent_host.runtimes.acp_agents import KNOWN
from agent_host.runtimes.acp_wishes import (
    AgentCall,
    choice,
    comes_to_us,
    command_line,
    only_runs,
    wish,
)


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


@pytest.mark.parametrize(
    ("told", "name", "arguments"),
    [
        (
            {"kind": "execute", "rawInput": {"command": ["ls", "a b"], "cwd": "/w"}},
            "terminal_run",
            {"command": "ls 'a b'", "cwd": "/w", "network": True},
        ),
        (
            {"kind": "edit", "content": [diff("/a", None, "x")]},
            "fs_write",
            {"path": "/a", "text": "x"},
        ),
        (
            {"kind": "edit", "content": [diff("/a", "x", "y")]},
            "fs_edit",
            {"path": "/a", "edits": [{"old": "x", "new": "y"}]},
        ),
        (
            {"kind": "edit", "rawInput": {"filePath": "/a", "oldString": "x", "newString": "y"}},
            "fs_edit",
            {"path": "/a", "edits": [{"old": "x", "new": "y"}]},
        ),
        (
            {"kind": "edit", "content": [diff("/a", "x", "y"), diff("/b", None, "z")]},
            "fs_edit_files",
            {
                "files": [
                    {"path": "/a", "edits": [{"old": "x", "new": "y"}]},
                    {"path": "/b", "text": "z"},
                ]
            },
        ),
        ({"kind": "read", "locations": [{"path": "/a"}]}, "fs_read", {"path": "/a"}),
        ({"kind": "delete", "rawInput": {"path": "/a"}}, "fs_delete", {"path": "/a"}),
        ({"kind": "search", "rawInput": {"pattern": "x"}}, "fs_search", {"pattern": "x"}),
        ({"kind": "search", "rawInput": {"path": "/a"}}, "fs_list", {"path": "/a"}),
    ],
)
def test_a_wish_in_our_words(told: dict[str, Any], name: str, arguments: dict[str, object]) -> None:
    found = wish(AgentCall("c").told(told))
    assert found is not None
    assert (found.call_id, found.name, found.arguments) == ("c", name, arguments)


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "execute", "title": "rm -rf /"},
        {"kind": "edit", "locations": [{"path": "/a"}], "rawInput": {"diff": "@@"}},
        {"kind": "edit", "content": [diff("/a", "x", "y"), diff("", "x", "y")]},
        {
            "kind": "edit",
            "content": [diff("/a", "x", "y"), diff("/b", None, "1"), diff("/b", None, "2")],
        },
        {"kind": "delete", "locations": [{"path": "/a"}, {"path": "/b"}]},
        {"kind": "move", "locations": [{"path": "/a"}]},
        {"kind": "fetch", "rawInput": {"url": "http://x"}},
        {},
    ],
)
def test_what_is_not_told_whole_has_no_counterpart(told: dict[str, Any]) -> None:
    assert wish(AgentCall("c").told(told)) is None


def test_a_permission_is_never_for_always() -> None:
    always = {"optionId": "a", "kind": "allow_always"}
    never = {"optionId": "n", "kind": "reject_always"}
    once = {"optionId": "o", "kind": "allow_once"}
    assert choice([always, never, once], allowed=True) == "o"
    assert choice([always, never], allowed=True) is None
    assert choice([always, never], allowed=False) == "n"
    assert choice("?", allowed=False) is None


def test_a_terminal_is_a_command_line() -> None:
    assert command_line({"command": "a && b"}) == "a && b"
    assert command_line({"command": "a", "args": ["b c"]}) == "a 'b c'"
    env = [{"name": "X", "value": "1 2"}]
    assert command_line({"command": "a", "args": ["b"], "env": env}) == "X='1 2' a b"
    assert command_line({"command": "a | b", "env": env}) == "export X='1 2'; a | b"


CODEX = {"server": "agent-host", "tool": "docs__find", "arguments": {}}


@pytest.mark.parametrize(
    ("told", "is_ours"),
    [
        ({"kind": "other", "title": "mcp__agent-host__docs__find"}, True),
        ({"kind": "other", "title": "docs__find (agent-host MCP Server)"}, True),
        ({"kind": "other", "title": "agent-host_docs__find"}, True),
        ({"kind": "execute", "title": "mcp.agent-host.docs__find", "rawInput": CODEX}, True),
        ({"kind": "execute", "rawInput": {**CODEX, "tool": "docs__drop"}}, False),
        ({"kind": "execute", "rawInput": {**CODEX, "server": "other"}}, False),
        ({"kind": "execute", "rawInput": {**CODEX, "command": "rm -r ."}}, False),
        ({"kind": "execute", "title": "agent-host_docs__find"}, False),
        ({"kind": "other", "title": "docs__find"}, False),
    ],
)
def test_a_call_of_a_tool_that_we_offer(told: dict[str, Any], is_ours: bool) -> None:
    assert comes_to_us(AgentCall("c").told(told), frozenset({"docs__find"})) is is_ours


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("echo 1", True),
        ("cd src && ls -la | head -3; wc -l a", True),
        ("find . -name '*.py'", True),
        ("find . -delete", False),
        ("rg --pre=sh x", False),
        ("cat a > b", False),
        ("cat $(rm a)", False),
        ("ls & rm a", False),
        ("ls\nrm a", False),
        ("ls 'a;b'", False),
        ("X=1 ls", False),
        ("", False),
    ],
)
def test_a_line_that_only_reads(line: str, reads: bool) -> None:
    assert only_runs(line, KNOWN["acp:gemini"].unasked) is reads


def test_what_a_call_gives_is_its_text_else_what_it_printed_else_its_result() -> None:
    call = AgentCall("c")
    for piece in ("a", "b"):
        call = call.told({"_meta": {"terminal_output_delta": {"data": piece}}})
    assert call.text == "ab"
    text = {"type": "content", "content": {"type": "text", "text": "said"}}
    assert call.told({"content": [text]}).text == "said"
    assert AgentCall("c").told({"rawOutput": {"exit_code": 1}}).text == '{"exit_code": 1}'
