"""The scripted client against a tiny scripted peer: every question answered, every wait ended."""

import asyncio
import sys
from pathlib import Path

import pytest

from agent_host.client import AgentHostClient, Answer, HostError, HostGone, OnQuestion, Question
from tests.boundary.scripted_peer import result_of_what, start


async def test_a_run_streams_and_ends(tmp_path: Path) -> None:
    script = """
        request = expect("agent/run")
        run = request["params"]["runId"]
        delta(run, 1, "started", model="m")
        delta("another", 1, "text", text="not ours")
        delta(run, 2, "text", text="h\\u00e4")
        delta(run, 3, "ended", status="completed")
        result(request, output="hä", usage={"requests": 1}, edits=[{"uri": "u", "kind": "change"}])
    """
    async with start(tmp_path, script) as client:
        run = await client.run("hi", model="scripted/x", role=None)
        deltas = [delta async for delta in run.deltas]
        found = await run.result()
        again = [delta async for delta in run.deltas]
    assert [(delta.seq, delta.kind) for delta in deltas] == [
        (1, "started"),
        (2, "text"),
        (3, "ended"),
    ]
    assert deltas[1].data["text"] == "hä"
    assert (found.status, found.output, found.run_id) == ("completed", "hä", run.run_id)
    assert list(found.edits) == [{"uri": "u", "kind": "change"}]
    assert again == []
    assert client.capabilities["x"] == 1


async def test_absent_values_are_not_sent(tmp_path: Path) -> None:
    script = """
        request = expect("agent/run")
        result(request, output=json.dumps(request["params"]))
    """
    async with start(tmp_path, script) as client:
        run = await client.run("hi", run_id="mine", role=None, stream=False)
        found = await run.result()
    assert found.output == '{"prompt": "hi", "runId": "mine", "stream": false}'


async def test_a_run_that_can_not_begin_is_a_typed_error(tmp_path: Path) -> None:
    script = """
        request = expect("agent/run")
        data = {"error": "Set OPENAI_API_KEY.", "code": "no_api_key"}
        write(id=request["id"], error={"code": -32016, "message": "no key", "data": data})
    """
    async with start(tmp_path, script) as client:
        run = await client.run("hi")
        assert [delta async for delta in run.deltas] == []
        with pytest.raises(HostError) as raised:
            await run.result()
    error = raised.value
    assert (error.number, error.code, error.message) == (
        -32016,
        "no_api_key",
        "Set OPENAI_API_KEY.",
    )


async def test_stop_asks_for_that_run(tmp_path: Path) -> None:
    script = """
        request = expect("agent/run")
        stop = expect("agent/stop")
        result(request, "stopped", output=stop["params"]["runId"])
        write(id=stop["id"], result={"stopped": [stop["params"]["runId"]]})
    """
    async with start(tmp_path, script) as client:
        run = await client.run("hi")
        await run.stop()
        found = await run.result()
    assert (found.status, found.output) == ("stopped", run.run_id)


async def test_a_cancelled_request_is_withdrawn(tmp_path: Path) -> None:
    script = """
        slow = expect("slow")
        write(method="seen", params={})
        cancel = expect("$/cancelRequest")
        write(id=slow["id"], error={"code": -32800, "message": "cancelled"})
        write(id=expect("which")["id"], result=cancel["params"]["id"] == slow["id"])
    """
    seen = asyncio.Event()
    async with start(tmp_path, script, on_notification=lambda *_: seen.set()) as client:
        async with asyncio.TaskGroup() as tasks:
            slow = tasks.create_task(client.request("slow"))
            await seen.wait()
            slow.cancel()
        assert await client.request("which") is True


MESSAGE = {
    "type": 1,
    "message": "Run `make`?",
    "actions": [
        {"title": "Deny"},
        {"title": "Allow once"},
        {"title": "Allow for this session"},
        {"title": "Show"},
    ],
}
UNKNOWN_TITLES = {"message": "?", "actions": [{"title": "Yes"}]}
ASK = {
    "runId": "r",
    "callId": "c",
    "title": "Run `make`?",
    "detail": "**make**",
    "options": [
        {"id": "no", "title": "Deny", "kind": "deny"},
        {"id": "yes", "title": "Allow once", "kind": "allowOnce"},
    ],
    "allowsReason": True,
}


async def ask_back(question: Question) -> Answer:
    return Answer(question.of_kind("deny"), reason=f"not {question.detail}")


@pytest.mark.parametrize(
    ("on_question", "method", "params", "answered"),
    [
        ("deny", "window/showMessageRequest", MESSAGE, {"title": "Deny"}),
        ("allow", "window/showMessageRequest", MESSAGE, {"title": "Allow once"}),
        (
            "allow",
            "window/showMessageRequest",
            {"message": "?", "actions": [{"title": "Yes"}]},
            None,
        ),
        ("allow", "window/showMessageRequest", {"message": "?"}, None),
        (lambda _: None, "window/showMessageRequest", MESSAGE, None),
        (lambda _: "Show", "window/showMessageRequest", MESSAGE, {"title": "Show"}),
        (
            lambda question: Answer(question.of_kind("allowSession")),
            "window/showMessageRequest",
            MESSAGE,
            {"title": "Allow for this session"},
        ),
        ("deny", "agent/ask", ASK, {"optionId": "no"}),
        ("allow", "agent/ask", ASK, {"optionId": "yes"}),
        (lambda _: "yes", "agent/ask", ASK, {"optionId": "yes"}),
        (ask_back, "agent/ask", ASK, {"optionId": "no", "reason": "not **make**"}),
        (lambda _: None, "agent/ask", ASK, {}),
    ],
)
async def test_questions_are_answered_by_policy_or_function(
    tmp_path: Path, on_question: OnQuestion, method: str, params: object, answered: object
) -> None:
    script = f"""
        answered = answer_of(ask({method!r}, {params!r}))
        write(id=expect("what")["id"], result=answered)
    """
    async with start(tmp_path, script, on_question) as client:
        assert await client.request("what") == answered


async def test_a_function_that_fails_denies_and_its_error_rises(tmp_path: Path) -> None:
    script = f"""
        answered = answer_of(ask("window/showMessageRequest", {MESSAGE!r}))
        open("answered", "w").write(str(answered["code"]))
    """

    def fail(_: Question) -> str:
        raise LookupError("a fault of the script")

    with pytest.raises(LookupError, match="a fault of the script"):
        async with start(tmp_path, script, fail) as client:
            await client.request("what")
    assert (tmp_path / "answered").read_text() == "-32603"


async def test_a_choice_that_is_none_of_the_options_is_a_fault(tmp_path: Path) -> None:
    script = f'answer_of(ask("window/showMessageRequest", {MESSAGE!r}))'
    with pytest.raises(ValueError, match="'Perhaps' is no answer"):
        async with start(tmp_path, script, lambda _: "Perhaps") as client:
            await client.request("what")


async def test_a_withdrawn_question_is_left_alone(tmp_path: Path) -> None:
    script = f"""
        asked = ask("window/showMessageRequest", {MESSAGE!r})
        expect("asked")
        write(method="$/cancelRequest", params={{"id": asked}})
        write(id=expect("what")["id"], result=answer_of(asked)["code"])
    """
    asked, closed = asyncio.Event(), asyncio.Event()

    async def never(_: Question) -> str:
        asked.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            closed.set()

    async with start(tmp_path, script, never) as client:
        await asked.wait()
        client.notify("asked")
        assert await client.request("what") == -32800
        await asyncio.wait_for(closed.wait(), 10)


@pytest.mark.parametrize(
    ("method", "params", "answered"),
    [
        ("window/workDoneProgress/create", {"token": 1}, None),
        ("client/registerCapability", {}, None),
        ("workspace/configuration", {"items": [{"section": "agentHost"}]}, [{"role": "r"}]),
        ("window/showDocument", {"uri": "file:///x"}, {"success": True}),
        ("made/up", {}, {"code": -32601, "message": "made/up is not known here"}),
    ],
)
async def test_the_rest_of_what_hosts_ask(
    tmp_path: Path, method: str, params: object, answered: object
) -> None:
    script = f"""
        answered = answer_of(ask({method!r}, {params!r}))
        write(id=expect("what")["id"], result=answered)
    """
    async with start(tmp_path, script, initialization_options={"role": "r"}) as client:
        assert await client.request("what") == answered
        assert client.shown == (["file:///x"] if "showDocument" in method else [])


# ---- the end


async def test_a_host_that_dies_ends_every_wait(tmp_path: Path) -> None:
    script = """
        expect("agent/run")
        print("out of luck", file=sys.stderr, flush=True)
        sys.exit(7)
    """
    async with start(tmp_path, script) as client:
        run = await client.run("hi")
        assert [delta async for delta in run.deltas] == []
        with pytest.raises(HostGone, match="ended with code 7"):
            await run.result()
        with pytest.raises(HostGone):
            await client.request("agent/ping")


async def test_a_host_that_speaks_no_lsp_is_an_error(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "print('hello\\r\\n\\r\\n')")
    with pytest.raises(HostGone, match=r"not a message|ended"):
        async with AgentHostClient.start(workspace=tmp_path, command=command):
            raise AssertionError("unreachable")


async def test_a_host_that_ends_at_once_is_an_error(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('no luck')")
    with pytest.raises(HostGone, match="ended with code 1"):
        async with AgentHostClient.start(workspace=tmp_path, command=command):
            raise AssertionError("unreachable")


async def test_no_such_command_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-command"):
        async with AgentHostClient.start(workspace=tmp_path, command=["no-such-command"]):
            raise AssertionError("unreachable")


async def test_an_error_of_the_script_ends_the_host_too(tmp_path: Path) -> None:
    pid = 0

    async def play() -> None:
        nonlocal pid
        async with start(tmp_path, "") as client:
            pid = client.pid
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await play()
    assert not Path(f"/proc/{pid}").exists()


async def test_cancelling_ends_the_host_too(tmp_path: Path) -> None:
    started: asyncio.Queue[int] = asyncio.Queue()

    async def play() -> None:
        async with start(tmp_path, "") as client:
            started.put_nowait(client.pid)
            await asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(play())
        pid = await started.get()
        playing.cancel()
    assert playing.cancelled()
    assert not Path(f"/proc/{pid}").exists()


async def test_a_host_that_ignores_everything_is_killed(tmp_path: Path) -> None:
    script = """
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        write(id=expect("ready")["id"], result=True)
        while True:
            time.sleep(60)
    """
    async with start(tmp_path, script, patience=0.2) as client:
        pid = client.pid
        await client.request("ready")
    assert not Path(f"/proc/{pid}").exists()


async def test_much_logging_does_not_block_the_host(tmp_path: Path) -> None:
    script = """
        for line in range(20000):
            print("x" * 100, line, file=sys.stderr)
        sys.stderr.flush()
        write(id=expect("what")["id"], result=1)
    """
    async with start(tmp_path, script) as client:
        assert await result_of_what(client) == 1
    assert client.stderr.endswith("x 19999")
