"""A secret-looking file is asked about, or refused, alike: whatever way leads to it."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.actions import PathFacts
from agent_host.core.model import ResourcePart, ToolCall, ToolResult
from agent_host.core.permission import Rule
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.settings import Settings
from tests.fakes import FakeActions, answering, by_kind
from tests.session.stage import asked, stage, tool

SECRET = "KEY=hunter2\n"


class Linked(FakeActions):
    """`/w/notes` is a link to `/w/.env`."""

    async def inspect(self, path: str) -> PathFacts:
        if path != "/w/notes":
            return await super().inspect(path)
        return replace(await super().inspect("/w/.env"), path=path, through_link=True)


WAYS: dict[str, tuple[ToolCall | None, bool]] = {
    "read": (tool("fs_read", path=".env"), False),
    "link": (tool("fs_read", path="notes"), False),
    "search": (tool("fs_search", pattern="KEY", path=".env"), False),
    "unsaved": (tool("fs_read", path=".env"), True),
    "command": (tool("terminal_run", command="cat .env"), False),
    "command by the link": (tool("terminal_run", command="cat notes"), False),
    "context": (None, False),
}


@pytest.mark.parametrize("refused_by", ["person", "rule"])
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_a_secret_is_guarded_alike(
    tmp_path: Path, way: str, refused_by: str
) -> None:
    call, unsaved = WAYS[way]
    async with stage(tmp_path, actions=Linked()) as host:
        host.actions.files["/w/.env"] = SECRET.encode()
        if unsaved:
            host.editor.open("/w/.env", SECRET + "MORE=1\n")
        host.editor.choose = by_kind("deny")
        if refused_by == "rule":
            rules = (Rule("deny", "*", ".env", where="config.yaml:1"),)
            host.settings = Settings(model="scripted/x", rules=rules)
        context = () if call else (ResourcePart("file:///w/.env"),)
        _, statuses = await host.run(*((call,) if call else ()), context=context)
        assert statuses == (["denied"] if call else [])
        assert len(host.editor.questions) == (refused_by == "person")
        assert "hunter2" not in str(host.runtime.requests[0].prompt)
        assert "hunter2" not in str(host.told())
        assert host.actions.commands == []


RULES = {
    "it looks secret": (".env", ()),
    "a rule on reading": ("private/x", (Rule("deny", "fs.read", "private/**", where="c:1"),)),
    "a rule that asks": ("a.sql", (Rule("ask", "fs.read", "*.sql", where="c:1"),)),
}


@pytest.mark.parametrize("why", RULES)
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("fs_search", {"pattern": "KEY", "path": "."}), "is not shown"),
        (("fs_edit", {"edits": [{"old": "KEY=hunter1", "new": "x"}]}), "read the file first"),
        (("fs_edit", {"edits": [{"old": "e", "new": "x"}]}), "read the file first"),
        (("fs_write", {"text": SECRET}), "read the file first"),
    ],
)
async def test_no_result_shows_what_may_not_be_read(
    tmp_path: Path, why: str, call: tuple[str, dict[str, object]], expected: str
) -> None:
    """Not what is found on the way, and not how an edit misses."""
    name, rules = RULES[why]
    async with stage(tmp_path) as host:
        host.settings = Settings(model="scripted/x", rules=rules)
        host.actions.files |= {f"/w/{name}": (SECRET + "e e\n").encode(), "/w/b": b"KEY=none\n"}
        if call[0] == "fs_write":
            host.actions.files[f"/w/{name}"] = SECRET.encode()
        story, results = answering("Done.", tool(call[0], **{"path": name, **call[1]}))
        host.plays(story)
        await host.manager.run(asked())
        (result,) = results
        assert "hunter2" not in result.text
        assert expected in result.text
        if call[0] == "fs_search":
            assert "b:1: KEY=none" in result.text
        assert host.editor.questions == []


async def test_a_runtimes_own_search_is_asked_about_since_it_leaves_nothing_out(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/.env": SECRET.encode(), "/w/src/a": b"x\n"}
        verdicts: list[str] = []

        async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
            for n, place in enumerate((".", "src/a", "src")):
                call = tool("fs_search", f"c{n}", pattern="KEY", path=place)
                verdicts.append((await gate.permit(call)).verdict)
                if verdicts[-1] == "allow":
                    gate.settle(call.call_id, ToolResult("ok", "found", "found"))
            return RuntimeResult("completed", "")

        host.plays(story)
        host.editor.choose = by_kind("deny")
        await host.manager.run(asked())
        assert verdicts == ["deny", "allow", "deny"]
        assert len(host.editor.questions) == 2
        assert "look secret" in host.editor.questions[0].detail
