"""Runs from prompt to result: one Started, one Ended, whatever the runtime does."""

import asyncio
from pathlib import Path

import pytest

from agent_host.core.errors import (
    InvalidRequest,
    RoleNotFound,
    RuntimeFailed,
    RuntimeMissing,
    SessionBusy,
    SessionNotFound,
)
from agent_host.core.events import Edited, Ended, Reasoning, Retried, Started, Text, Used
from agent_host.core.model import ImagePart, ResourcePart, RunRequest, TextPart, Usage
from agent_host.core.permission import Answer, Question
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.settings import Settings
from tests.clients import virtual_time
from tests.fakes import ScriptedRuntime, by_kind
from tests.session.stage import asked, limits, role, stage, tool


async def test_a_plain_answer_is_told_in_order(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.reasoning("Hm.")
        sink.text("Hel")
        sink.text("lo.")
        sink.usage(Usage(1, 10, 2))
        return RuntimeResult("completed", "Hello.")

    async with stage(tmp_path) as host:
        host.plays(story)
        result = await host.manager.run(asked(run_id="r1"))
        assert (result.status, result.output, result.usage) == (
            "completed",
            "Hello.",
            Usage(1, 10, 2),
        )
        assert host.told() == [
            Started("coder", "scripted/x", "sdk"),
            Reasoning("Hm."),
            Text("Hel"),
            Text("lo."),
            Used(Usage(1, 10, 2)),
            Ended("completed"),
        ]
        assert [each.seq for each in host.editor.deltas] == [1, 2, 3, 4, 5, 6]
        assert host.editor.progress == [("r1", "begin"), ("r1", "end: completed")]


async def test_without_stream_there_is_no_text(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        result, _ = await host.run(stream=False)
        assert result.output == "Done."
        assert [type(delta) for delta in host.told()] == [Started, Ended]


@pytest.mark.parametrize("fault", ["raises", "fails", "is cancelled"])
async def test_a_runtime_that_breaks_ends_the_run_with_a_reason(tmp_path: Path, fault: str) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.text("So far")
        if fault == "raises":
            raise ValueError("secret detail")
        if fault == "fails":
            raise RuntimeFailed("Nobody is there; start it.")
        raise asyncio.CancelledError

    async with stage(tmp_path) as host:
        host.plays(story)
        result = await host.manager.run(asked())
        assert (result.status, result.output) == ("failed", "So far")
        assert result.failure is not None
        assert result.failure.code == "runtime_failed"
        assert "secret" not in result.failure.message
        assert host.told()[-1] == Ended("failed", result.failure.message)


async def test_a_retry_voids_what_was_said(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.text("half an ans")
        sink.retry("cut off", 1.0)
        sink.text("whole")
        raise RuntimeFailed("Gone.")

    async with stage(tmp_path) as host:
        host.plays(story)
        result = await host.manager.run(asked())
        assert result.output == "whole"
        assert Retried("cut off", 1.0) in host.told()


async def test_a_busy_session_says_so_and_others_run_on(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        await release.wait()
        return RuntimeResult("completed", request.session_id)

    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        host.plays(story)
        first = tasks.create_task(host.manager.run(asked(session_id="a")))
        other = tasks.create_task(host.manager.run(asked(session_id="b")))
        await host.editor.until(lambda: len(host.told()) == 2)
        with pytest.raises(SessionBusy):
            await host.manager.run(asked(session_id="a"))
        states = {each.session_id: each.state for each in host.manager.status()}
        assert states == {"a": "running", "b": "running"}
        release.set()
        assert ((await first).output, (await other).output) == ("a", "b")
        assert {each.state for each in host.manager.status()} == {"idle"}


async def test_who_has_heard_the_end_of_a_run_can_go_on_at_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as host, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(host.manager.run(asked(session_id="a")))
        await host.editor.until(lambda: bool(host.ended()))
        assert not first.done()
        assert (await host.manager.run(asked(session_id="a"))).status == "completed"


async def test_two_requests_in_one_tick_never_share_a_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        runs = (host.manager.run(asked(session_id="a")) for _ in range(2))
        first, second = await asyncio.gather(*runs, return_exceptions=True)
        assert not isinstance(first, BaseException)
        assert isinstance(second, SessionBusy)


async def test_the_same_run_id_is_one_run(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        runs = [host.manager.run(asked(run_id="r", session_id="a")) for _ in range(2)]
        first, second = await asyncio.gather(*runs)
        assert first == second == await host.manager.run(asked(run_id="r"))
        assert len(host.runtime.requests) == 1


async def test_a_session_goes_on_where_it_was(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.remember([{"said": f"run {len(request.history)}"}])
        return RuntimeResult("completed", "")

    async with stage(tmp_path) as host:
        host.plays(story)
        await host.manager.run(asked(session_id="a"))
        await host.manager.run(asked(session_id="a"))
        await host.manager.run(asked(session_id="b"))
        assert [request.history for request in host.runtime.requests] == [
            (),
            ({"said": "run 0"},),
            (),
        ]


async def test_what_cannot_be_settled_is_an_error_and_frees_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        with pytest.raises(RoleNotFound, match="Known: coder"):
            await host.manager.run(asked(session_id="a", role="codr"))
        with pytest.raises(RuntimeMissing, match="runtime"):
            await host.manager.run(asked(session_id="a", runtime="nope"))
        with pytest.raises(SessionNotFound):
            await host.manager.run(asked(session_id="nobody"))
        with pytest.raises(InvalidRequest, match="cwd"):
            await host.manager.run(asked(session_id="a", cwd="/etc"))
        with pytest.raises(InvalidRequest, match="sessionId"):
            await host.manager.run(asked(session_id="../a"))
        assert (await host.manager.run(asked(session_id="a"))).status == "completed"


async def test_the_request_goes_before_the_role_before_the_settings(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(role(), role("picky", model="scripted/picky"))) as host:
        for request in ({}, {"role": "picky"}, {"role": "picky", "model": "scripted/mine"}):
            await host.run(**request)
        models = [request.model for request in host.runtime.requests]
        assert models == ["scripted/x", "scripted/picky", "scripted/mine"]


CLI_ROLE = role("cli", runtime="other", model="opus")


@pytest.mark.parametrize(
    ("request_", "settings", "runs"),
    [
        ({}, {}, ("sdk", "scripted/x")),
        ({"runtime": "other"}, {}, ("other", "other")),
        ({"model": "other"}, {}, ("other", "other")),
        ({"model": "other/opus"}, {}, ("other", "other/opus")),
        ({"runtime": "other", "model": "opus"}, {}, ("other", "other/opus")),
        ({"runtime": "other", "model": "anthropic/opus"}, {}, ("other", "other/anthropic/opus")),
        ({}, {"runtime": "other"}, ("other", "other/scripted/x")),
        ({}, {"runtime": "other", "model": None}, ("other", "other")),
        ({"model": "scripted/y"}, {"runtime": "other"}, ("sdk", "scripted/y")),
        ({"role": "cli"}, {}, ("other", "other/opus")),
        ({"role": "cli", "model": "haiku"}, {}, ("other", "other/haiku")),
        ({"role": "cli", "runtime": "sdk"}, {}, ("sdk", "scripted/x")),
    ],
)
async def test_runtime_and_model_are_found_together(
    tmp_path: Path, request_: dict[str, str], settings: dict[str, str], runs: tuple[str, str]
) -> None:
    chosen = Settings(**{"model": "scripted/x", **settings})
    async with stage(
        tmp_path, roles=(role(), CLI_ROLE), more_runtimes=("other",), settings=chosen
    ) as host:
        await host.run(**request_)
        (started,) = (delta for delta in host.told() if isinstance(delta, Started))
        assert (started.runtime, started.model) == runs


async def test_a_session_keeps_its_runtime_until_another_is_wished(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(role(), CLI_ROLE), more_runtimes=("other",)) as host:
        for more in ({"model": "other/opus"}, {}, {"model": "scripted/y"}, {}, {"role": "cli"}):
            await host.run(session_id="a", **more)
        models = [delta.model for delta in host.told() if isinstance(delta, Started)]
        assert models == ["other/opus", "other/opus", "scripted/y", "scripted/y", "other/opus"]


async def test_what_the_runtime_has_added_up_counts(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.usage(Usage(1, 10, 2))
        sink.exited(0, None)
        return RuntimeResult("completed", "", usage=Usage(1, 10, 2, cost_usd=0.5))

    async with stage(tmp_path) as host:
        host.plays(story)
        result = await host.manager.run(asked())
        assert result.usage.cost_usd == 0.5
        assert host.told()[-2:] == [Used(result.usage), Ended("completed", exit_code=0)]


async def test_limits_end_a_run_with_what_it_has(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        sink.text("part")
        sink.usage(Usage(1, 10, 10, cost_usd=2.0))
        await asyncio.Event().wait()
        raise AssertionError

    async with stage(tmp_path) as host:
        host.plays(story)
        costly = await host.manager.run(asked(limits=limits(max_cost_usd=1.0)))
        assert (costly.status, costly.limit, costly.output) == ("limit", "maxCostUsd", "part")
        slow = await host.manager.run(asked(limits=limits(wall_seconds=0.01)))
        assert (slow.status, slow.limit, slow.output) == ("limit", "wallSeconds", "part")
        silent = await host.manager.run(asked(limits=limits(inactivity_seconds=0.0)))
        assert (silent.status, silent.limit, silent.output) == (
            "limit",
            "inactivitySeconds",
            "part",
        )


async def test_only_the_tools_of_the_role_are_offered(tmp_path: Path) -> None:
    reader = role("reader", skills=frozenset({"fs.read"}))
    async with stage(tmp_path, roles=(reader,)) as host:
        _, statuses = await host.run(tool("fs_write", path="a", text="x"), role="reader")
        assert statuses == ["denied"]
        assert not host.editor.questions
        names = [spec.name for spec in host.runtime.requests[0].tools]
        assert names == ["fs_read", "fs_list", "fs_search"]


async def test_what_is_attached_is_read_through_the_gate(tmp_path: Path) -> None:
    prompt = (
        TextPart("Look:"),
        ResourcePart("file:///w/a.txt"),
        ResourcePart("file:///etc/passwd"),
        ImagePart("image/png", "AAAA"),
    )
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"on disk\n"
        host.editor.open("/w/a.txt", "in the buffer\n")
        await host.manager.run(RunRequest(prompt))
        words, text, refused, image = host.runtime.requests[0].prompt
        assert (words, image) == (prompt[0], prompt[3])
        assert isinstance(text, TextPart)
        assert "in the buffer" in text.text
        assert isinstance(refused, TextPart)
        assert "could not be attached" in refused.text


async def test_edits_are_listed_once_for_each_file(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        result, statuses = await host.run(
            tool("fs_write", "c1", path="new.txt", text="one\n"),
            tool("fs_edit", "c2", path="new.txt", edits=[{"old": "one", "new": "two"}]),
        )
        assert statuses == ["ok", "ok"]
        assert [(edit.uri, edit.kind) for edit in result.edits] == [("file:///w/new.txt", "create")]
        assert host.actions.files == {"/w/new.txt": b"two\n"}
        states = [delta.state for delta in host.told() if isinstance(delta, Edited)]
        assert states == ["proposed", "applied"] * 2


def test_a_runtime_fake_is_a_runtime() -> None:
    assert hasattr(ScriptedRuntime, "run")


@pytest.mark.parametrize("hangs", [False, True])
def test_no_time_counts_while_a_person_thinks(tmp_path: Path, *, hangs: bool) -> None:
    """A run of 10 s waits an hour for an answer; what comes then counts again."""

    async def thinks(question: Question) -> Answer:
        await asyncio.sleep(3600)
        return by_kind("allowOnce")(question)

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        await asyncio.sleep(6)
        await gate.call(tool("fs_write", path="a", text="x"))
        await asyncio.sleep(10 if hangs else 3)
        return RuntimeResult("completed", "in time")

    async def main() -> None:
        async with stage(tmp_path) as host:
            host.editor.choose = thinks
            host.plays(story)
            result = await host.manager.run(asked(limits=limits(wall_seconds=10)))
            assert len(host.editor.questions) == 1
            assert (result.limit, result.output) == (
                ("wallSeconds", "") if hangs else (None, "in time")
            )
            assert asyncio.get_running_loop().time() > 3608

    virtual_time.run(main())
