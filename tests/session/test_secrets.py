"""A secret-looking file is asked about, or refused, alike: whatever way leads to it."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.actions import PathFacts
from agent_host.core.model import ResourcePart, ToolCall
from agent_host.core.permission import Rule
from agent_host.settings import Settings
from tests.fakes import FakeActions, by_kind
from tests.session.stage import stage, tool

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
