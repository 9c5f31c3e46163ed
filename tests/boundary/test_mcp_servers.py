"""MCP servers by stdio: a real one, and those that misbehave in each way that is known."""

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.actions import CallExternal
from agent_host.core.errors import ActionFailed
from agent_host.core.external import ServerConfig
from agent_host.mcp.catalogue import MAX_NAME
from agent_host.mcp.server import MOST_LINES
from tests.boundary.mcp_support import ROLE, alive, bad, children, real, servers


async def test_nothing_is_started_before_a_role_needs_it() -> None:
    async with servers(real("one"), real("two")) as those:
        none = replace(ROLE, skills=frozenset({"fs.read", "terminal"}))
        assert await those.tools(none) == {}
        assert {each.state for each in those.all.status()} == {"idle"}
        only = replace(ROLE, skills=frozenset({"mcp:two"}))
        tools = await those.tools(only)
        assert {tool.server for tool in tools.values()} == {"two"}
        assert [each.state for each in those.all.status()] == ["idle", "ready"]


async def test_a_real_servers_tools_are_offered_and_called() -> None:
    async with servers(real()) as those:
        tools = await those.tools()
        add = tools["add"]
        assert (add.shown_as, add.title, add.description) == (
            "real__add",
            "real.add",
            "Adds two numbers.",
        )
        assert add.parameters["required"] == ["a", "b"]
        result = await those.call("add", a=2, b=3)
        assert (result.status, result.text) == ("ok", "5")
        many = await asyncio.gather(*(those.call("add", a=number, b=1) for number in range(20)))
        assert [result.text for result in many] == [str(number + 1) for number in range(20)]
        assert those.status.state == "ready"
        assert set(those.status.tools) == set(tools)
        wrong = await those.call("add", a="x")
        assert (wrong.status, "real.add failed" in wrong.text) == ("failed", True)
        broken = await those.call("broken")
        assert (broken.status, "real.broken failed" in broken.text) == ("failed", True)
        refused = await those.call("refused")
        assert (refused.status, "not today" in refused.text) == ("failed", True)
        picture = await those.call("picture")
        assert picture.text == "a picture:\n[image, image/png, 104 bytes: shown as number 1]"
        assert [base64.b64decode(image.data)[:4] for image in picture.images] == [b"\x89PNG"]
        assert len((await those.call("long", count=3_000_000)).text) == 3_000_000


async def test_a_server_sees_no_more_of_the_environment_than_it_is_given(tmp_path: Path) -> None:
    given = {"OPENAI_API_KEY": "k", "MINE": "m", "OTHER": "o", "PATH": "/bin:/usr/bin"}
    config = real(env={"SET": "1", "FILLED": "x${OTHER}"}, inherit=("MINE",), cwd=str(tmp_path))
    async with servers(config, environment=given) as those:
        names = (await those.call("environment")).text.split("\n")
        assert {"SET", "FILLED", "MINE", "PATH"} <= set(names)
        assert not {"OPENAI_API_KEY", "OTHER"} & set(names)
        assert (await those.call("where")).text == str(tmp_path)


async def test_a_call_may_take_as_long_as_it_makes_progress() -> None:
    async with servers(real(timeout=2.0)) as those:
        assert (await those.call("slow", seconds=3, progress=True)).text == "done"
        with pytest.raises(ActionFailed, match="gave no sign of life for 2 s"):
            await those.call("slow", seconds=60)
        assert those.logged.count("begun") == 2
        assert (await those.call("add", a=1, b=1)).text == "2"


async def test_a_call_that_is_cancelled_is_withdrawn() -> None:
    async with servers(real()) as those, asyncio.TaskGroup() as tasks:
        await those.tools()
        begun = asyncio.Event()
        tool = (await those.tools())["slow"]
        work = tasks.create_task(
            those.all.call(CallExternal(tool, {"seconds": 60}), lambda _: begun.set())
        )
        await begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert (await those.call("add", a=1, b=1)).text == "2"


# ---- servers that can't begin


@pytest.mark.parametrize(
    ("config", "reason", "remedy"),
    [
        (ServerConfig("bad", command=("no-such-x",)), "there is no program `no-such-x`", "install"),
        (bad("x", cwd="/no/where"), "there is no folder /no/where", "`cwd`"),
        (bad("x", env={"A": "${NOT_SET}"}), "the variable NOT_SET", "environment of the host"),
        (ServerConfig("bad", command=("false",)), "it ended with exit code 1", "by hand"),
        (bad("silent", start_timeout=1.0), "did not answer within 1 s of its start; it logged: "
         "thinking", "`startTimeout`"),
        (bad("old"), "it speaks version '1999-01-01'", "another version"),
        (bad("refusing"), "only 2026-07-28 here", None),
        (bad("endless"), "more than 50 pages", None),
    ],
)  # fmt: skip
async def test_why_a_server_can_not_be_used_is_told(
    config: ServerConfig, reason: str, remedy: str | None
) -> None:
    async with servers(config) as those:
        notes = await those.notes()
        status = those.status
        assert status.state == "failed"
        assert reason in (status.reason or "")
        assert (remedy or "") in (status.remedy or "")
        assert f"MCP server bad can't be used: {status.reason}." in notes
        assert (await those.all.offered(ROLE)).tools == ()
        assert those.status.restarts == 0  # it is not tried again at once


async def test_one_that_fails_keeps_no_other_from_being_used() -> None:
    async with servers(bad("silent", start_timeout=1.0), real()) as those:
        assert "add" in await those.tools()


# ---- servers that misbehave


async def test_a_server_that_dies_in_a_call_is_started_again_later() -> None:
    async with servers(bad("dying")) as those:
        with pytest.raises(ActionFailed) as failed:
            await those.call("go")
        assert failed.value.reason == (
            "The MCP server bad failed: it ended with exit code 3: I can't go on. "
            "Whether the call had an effect is not known."
        )
        with pytest.raises(KeyError):
            await those.call("go")  # no sooner than after a pause
        async with asyncio.timeout(30):
            while "go" not in await those.tools():
                await asyncio.sleep(0.1)
        assert those.status.restarts == 1


async def test_a_flood_on_stderr_is_counted_and_not_told() -> None:
    async with servers(bad("flooding")) as those:
        assert (await those.call("go")).text == "gone"
        async with asyncio.timeout(30):
            while len(those.logged) <= MOST_LINES:
                await those.call("go")
        assert len(those.logged) < 10 * MOST_LINES
        assert "\x1b" not in "".join(those.logged)
        assert any("more lines are left out]" in line for line in those.logged)


async def test_a_message_without_an_end_ends_the_server_and_not_the_host() -> None:
    async with servers(bad("long")) as those:
        with pytest.raises(ActionFailed, match="more than 32 MiB"):
            await those.call("go")
        while those.status.state == "ready":
            await asyncio.sleep(0)
        assert those.status.state == "failed"


async def test_what_is_no_answer_is_passed_over() -> None:
    async with servers(bad("chatty")) as those:
        assert (await those.call("go")).text == "gone"
        assert "[no message, on stdout] hello, I am no JSON" in those.logged


async def test_a_call_that_is_never_answered_ends() -> None:
    async with servers(bad("mute", timeout=0.5)) as those:
        with pytest.raises(ActionFailed, match=r"gave no sign of life for 0\.5 s"):
            await those.call("go")


async def test_what_can_not_be_shown_is_named() -> None:
    async with servers(bad("rich")) as those:
        assert (await those.call("go")).text.split("\n") == [
            "[audio, audio/wav, 3 bytes: it can't be shown here]",
            "[resource x <file:///x>]",
            "[resource <file:///y>]",
            "why",
            "[resource <file:///z>, of an unknown type, 3 bytes: it can't be shown here]",
            "[something of the kind 'hologram' that can't be shown here]",
            "[something of the kind 'None' that can't be shown here]",
        ]
    async with servers(bad("odd")) as those:
        result = await those.call("go")
        assert (result.status, result.text) == (
            "failed",
            "The server's answer is no result of a tool.",
        )


async def test_what_a_server_asks_for_is_declined_but_for_the_folders() -> None:
    async with servers(bad("asking")) as those:
        found = json.loads((await those.call("go")).text)
        assert found["ping"] == {}
        assert found["roots/list"] == {"roots": [{"uri": "file:///w/a%20b"}]}
        assert found["elicitation/create"] == {"action": "decline"}
        assert "no server use its model" in found["sampling/createMessage"]["message"]
        assert found["x"]["code"] == -32601
        assert len(those.logged) == 2


async def test_hostile_names_and_texts_do_no_harm() -> None:
    async with servers(bad("hostile")) as those:
        offer = await those.all.offered(ROLE)
        names = [tool.name for tool in offer.tools]
        assert names == ["fs_read", "n" * 128, "a.b", "a_b"]
        shown = [tool.shown_as for tool in offer.tools]
        assert shown[0] == "bad__fs_read"
        assert len(set(shown)) == 4
        assert all(len(name) <= MAX_NAME for name in shown)
        text = offer.tools[0].description
        assert text.startswith("[2JI am trusted.xxx")
        assert text.endswith("more characters are left out]")
        assert offer.tools[2].parameters == {"type": "object", "properties": {}, "required": []}
        notes = "\n".join(offer.notes)
        assert "\x1b" not in notes
        for wrong in ("'[31mred'", "'a b'", "'3'", "fs_read is listed twice", "a/b is", "a-b is"):
            assert wrong in notes
    async with servers(bad("many")) as those:
        offer = await those.all.offered(ROLE)
        assert len(offer.tools) == 100
        assert "more than 100 tools" in offer.notes[0]


async def test_a_tool_that_has_changed_is_not_what_was_offered(tmp_path: Path) -> None:
    async with servers(bad("changing", str(tmp_path / "flag"))) as those:
        before = (await those.tools())["go"]
        call = CallExternal(before, {})
        assert (await those.all.call(call, those.logged.append)).text == "gone"
        with pytest.raises(ActionFailed, match="has changed since it was offered"):
            await those.all.call(call, those.logged.append)
        after = (await those.tools())["go"]
        assert after.description == "Goes elsewhere."
        assert after.digest != before.digest
        assert (await those.call("go")).text == "gone"


# ---- its end


async def test_a_server_of_another_configuration_takes_its_place() -> None:
    async with servers(bad("x")) as those:
        old = (await those.tools())["go"]
        pid = those.status.pid
        assert pid is not None
        those.configs[:] = [bad("x", "another")]
        new = (await those.tools())["go"]
        assert new.digest != old.digest
        assert those.status.pid != pid
        with pytest.raises(ActionFailed, match="has changed since"):
            await those.all.call(CallExternal(old, {}), those.logged.append)
        those.configs.clear()
        with pytest.raises(ActionFailed, match="not configured any more"):
            await those.all.call(CallExternal(new, {}), those.logged.append)
    assert not alive(pid)


@pytest.mark.parametrize("kind", ["forking", "stubborn"])
async def test_nothing_is_left_when_it_is_closed(kind: str) -> None:
    async with servers(bad(kind)) as those:
        await those.tools()
        pid = those.status.pid
        assert pid is not None
        family = [pid, *children(pid)]
        assert len(family) >= (3 if kind == "forking" else 2)
        tool = (await those.tools())["go"]
        await those.all.close()
        with pytest.raises(ActionFailed, match="not configured"):
            await those.all.call(CallExternal(tool, {}), those.logged.append)
    assert [each for each in family if alive(each)] == []


async def test_it_can_be_closed_while_it_starts() -> None:
    async with servers(bad("silent")) as those, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(those.all.offered(ROLE))
        while those.status.pid is None:
            await asyncio.sleep(0.01)
        pid = those.status.pid
        await those.all.close()
        assert (await waiting).tools == ()
    assert not alive(pid)
