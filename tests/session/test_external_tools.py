"""Tools of MCP servers in a session: offered by role, judged like everything else, remembered
for what they were when they were allowed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agent_host.core.actions import CallExternal
from agent_host.core.errors import ActionFailed
from agent_host.core.events import Logged, ToolFinished, ToolRequested
from agent_host.core.external import ExternalTool
from agent_host.core.model import Callee, ImagePart, ToolResult
from agent_host.permissions.rules import read_rules
from agent_host.settings import Settings
from tests.fakes import answering, by_kind
from tests.session.stage import ALL_SKILLS, asked, role, stage, tool

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
FIND = ExternalTool("docs", "find", "docs__find", "Finds \u202edocs.", SCHEMA, "d1", "npx docs")
PIXEL = ImagePart("image/png", "AAAA")
MAIL = ExternalTool("mail", "send", "mail__send", "Sends.", SCHEMA, "m1", "https://mail.example/")
WITH = role(skills=ALL_SKILLS | {"mcp"})


def ruled(*rules: str) -> Settings:
    return Settings(model="scripted/x", rules=read_rules(list(rules), "r").rules)


async def test_a_role_is_offered_the_tools_of_its_servers(tmp_path: Path) -> None:
    only = role("only", skills=frozenset({"mcp:docs"}))
    async with stage(tmp_path, roles=(WITH, only, role("none"))) as host:
        host.servers.tools = (FIND, MAIL)
        for name, expected in (
            ("coder", ["docs__find", "mail__send"]),
            ("only", ["docs__find"]),
            ("none", []),
        ):
            await host.run(role=name)
            offered = [spec.name for spec in host.runtime.requests[-1].tools if "__" in spec.name]
            assert offered == expected
        spec = host.runtime.requests[0].tools[-1]
        assert (spec.description, spec.parameters) == (MAIL.description, SCHEMA)


async def test_a_call_is_asked_about_by_server_tool_and_arguments(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(WITH,)) as host:
        host.servers.tools = (FIND,)
        _, statuses = await host.run(tool("docs__find", q="x\u001b[31m"))
        assert statuses == ["ok"]
        (question,) = host.editor.questions
        assert question.title.startswith(
            'coder wants to use the tool find of the MCP server docs: {\u23ce "q": "x\\u001b[31m"'
        )
        assert "npx docs" in question.detail
        assert "It says of the tool (not checked):" in question.detail
        assert "\u202e" not in question.detail
        (requested,) = [each for each in host.told() if isinstance(each, ToolRequested)]
        assert (requested.name, requested.risk) == ("docs__find", "medium")
        assert requested.title.startswith("Use docs.find with ")
        assert host.servers.calls == [CallExternal(FIND, {"q": "x\u001b[31m"})]


async def test_a_denied_call_never_reaches_its_server(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(WITH,)) as host:
        host.servers.tools = (FIND, MAIL)
        host.editor.choose = by_kind("deny", "not that one")
        assert (await host.run(tool("docs__find")))[1] == ["denied"]
        host.settings = ruled("deny mcp:mail", "allow mcp:docs/find")
        statuses = (await host.run(tool("mail__send", "c1"), tool("docs__find", "c2")))[1]
        assert statuses == ["denied", "ok"]
        assert [call.tool.name for call in host.servers.calls] == ["find"]
        host.editor.can_ask = False
        host.settings = ruled()
        assert (await host.run(tool("docs__find")))[1] == ["denied"]


async def test_in_an_untrusted_workspace_nothing_is_called(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(WITH,), trusted=False) as host:
        host.servers.tools = (FIND,)
        host.editor.choose = by_kind("deny")
        assert (await host.run(tool("docs__find")))[1] == ["denied"]
        assert host.servers.calls == []


async def test_what_was_allowed_is_the_tool_as_it_was(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(WITH,)) as host:
        host.servers.tools = (FIND,)
        host.editor.choose = by_kind("allowSession")
        await host.run(tool("docs__find", q="a"), session_id="s")
        await host.run(tool("docs__find", q="b"), session_id="s")
        assert len(host.editor.questions) == 1
        # Another command, description or schema of the same name.
        host.servers.tools = (replace(FIND, digest="d2"),)
        await host.run(tool("docs__find", q="c"), session_id="s")
        assert len(host.editor.questions) == 2
        host.servers.tools = (FIND,)
        await host.run(tool("docs__find", q="d"), session_id="s")
        assert len(host.editor.questions) == 2


async def test_only_what_was_offered_can_be_called(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(WITH,)) as host:
        host.servers.tools = (FIND,)
        story, results = answering("Done.", tool("mail__send", "c1"), tool("docs.find", "c2"))
        host.plays(story)
        await host.manager.run(asked())
        assert [each.status for each in results] == ["failed", "failed"]
        assert "docs__find" in results[0].text
        assert host.servers.calls == []


async def test_what_goes_wrong_is_the_calls_result(tmp_path: Path) -> None:
    async def fails(_: CallExternal, tell: Callable[[str], None]) -> ToolResult:
        tell("a line of its log")
        raise ActionFailed("unavailable", "The MCP server docs failed: it ended.")

    async with stage(tmp_path, roles=(WITH,), settings=ruled("allow mcp")) as host:
        host.servers.tools = (FIND,)
        host.servers.notes = ("MCP server mail can't be used: it ended.",)
        host.servers.answer = fails
        story, results = answering("Done.", tool("docs__find"))
        host.plays(story)
        assert (await host.manager.run(asked())).status == "completed"
        assert results[0].text == "This call failed: The MCP server docs failed: it ended."
        logs = [each.delta for each in host.editor.deltas if isinstance(each.delta, Logged)]
        assert Logged("mcp", "MCP server mail can't be used: it ended.") in logs
        assert Logged("mcp:docs", "a line of its log") in logs


async def test_a_long_result_goes_the_way_of_long_results(tmp_path: Path) -> None:
    async def answers(_: CallExternal, tell: Callable[[str], None]) -> ToolResult:
        return ToolResult("ok", "line\n" * 100_000, "", images=(PIXEL,))

    async with stage(tmp_path, roles=(WITH,), settings=ruled("allow mcp:docs")) as host:
        host.servers.tools = (FIND,)
        host.servers.answer = answers
        story, results = answering("Done.", tool("docs__find"))
        host.plays(story)
        await host.manager.run(asked())
        assert len(results[0].text) < 64 * 1024
        assert 'fs_read, path "result:' in results[0].text
        assert results[0].images == (PIXEL,)


async def test_a_stop_withdraws_the_call(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(_: CallExternal, tell: Callable[[str], None]) -> ToolResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with stage(tmp_path, roles=(WITH,), settings=ruled("allow mcp")) as host:
        host.servers.tools = (FIND,)
        host.servers.answer = waits
        host.plays(answering("Done.", tool("docs__find"))[0])
        async with asyncio.TaskGroup() as tasks:
            run = tasks.create_task(host.manager.run(asked()))
            await begun.wait()
            await host.manager.stop()
            assert ended.is_set()
            assert (await run).status == "stopped"
        (finished,) = [each for each in host.told() if isinstance(each, ToolFinished)]
        assert finished.status == "stopped"


async def test_an_agent_that_was_called_has_no_more_servers_than_its_caller(tmp_path: Path) -> None:
    lead = role("lead", skills=frozenset({"mcp:docs"}), may_call=(Callee("coder"),))
    async with stage(tmp_path, roles=(lead, WITH), settings=ruled("allow mcp")) as host:
        host.servers.tools = (FIND, MAIL)
        host.plays(answering("Done.")[0])
        await host.run(tool("agent_call", role="coder", prompt="go"), role="lead")
        assert [sorted(each.skills & {"mcp", "mcp:docs"}) for each in host.servers.asked] == [
            ["mcp:docs"],
            ["mcp:docs"],
        ]
