"""The runtime `sdk` as the application sees it, over the real agent loop and scripted models."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_host.core.errors import ModelNotFound
from agent_host.core.model import Limits, ToolCall, ToolResult
from agent_host.runtimes import RuntimeSettings
from agent_host.runtimes.conversation import INTERRUPTED
from agent_host.runtimes.sdk import SdkRuntime
from tests.vendors import Call, ChatVendor, Turn
from tests.vendors.runs import Gate, Sink, request, run, runtime

LIST = Call("fs_list", {"path": "."})


def script(folder: Path, turns: list[object], **more: object) -> str:
    path = folder / "script.yaml"
    path.write_text(json.dumps({"turns": turns, **more}))
    return f"scripted/{path}"


def test_importing_imports_no_sdk() -> None:
    code = (
        "import sys, agent_host.runtimes, agent_host.runtimes.sdk, agent_host.usage\n"
        "bad = {'agents', 'openai', 'anthropic', 'google.genai', 'genai_prices', 'httpx2', 'yaml'}"
        "\n"
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_warming_imports_only_what_the_model_needs() -> None:
    code = (
        "import gc, sys\n"
        "from agent_host.runtimes import RuntimeSettings\n"
        "from agent_host.runtimes.sdk import SdkRuntime\n"
        "SdkRuntime(RuntimeSettings()).warm('gemini/any')\n"
        "print('google.genai' in sys.modules, 'anthropic' in sys.modules, gc.isenabled())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False True\n"


@pytest.mark.parametrize("model", ["gpt-5", "nobody/gpt-5", "openai/", ""])
async def test_a_name_that_is_no_model_is_refused(model: str) -> None:
    sdk = SdkRuntime(RuntimeSettings())
    with pytest.raises(ModelNotFound):
        await asyncio.to_thread(sdk.warm, model)
    result = await sdk.run(request(model), Sink(), Gate())
    assert isinstance(result.error, ModelNotFound)
    assert "anthropic" in result.error.message


async def test_what_is_remembered_is_the_conversation_in_order(tmp_path: Path) -> None:
    turns: list[object] = [
        {"reasoning": "Hm.", "text": "I look.", "calls": [_call("a"), _call("b")]},
        {"text": "Done."},
    ]
    sink = Sink()
    model = script(tmp_path, turns)
    result = await SdkRuntime(RuntimeSettings()).run(request(model, "go"), sink, Gate())
    assert result.status == "completed"
    assert [(item["type"], item.get("role")) for item in sink.memory] == [
        ("message", "user"),
        ("reasoning", None),
        ("message", "assistant"),
        ("function_call", None),
        ("function_call", None),
        ("function_call_output", None),
        ("function_call_output", None),
        ("message", "assistant"),
    ]
    assert json.loads(json.dumps(sink.memory)) == sink.memory


async def test_the_turn_limit_keeps_what_was_done(tmp_path: Path) -> None:
    sink, gate = Sink(), Gate()
    model = script(tmp_path, [{"text": "Again.", "calls": [_call("a")]}], repeat=True)
    wish = request(model, limits=Limits(max_turns=3))
    result = await SdkRuntime(RuntimeSettings()).run(wish, sink, gate)
    assert (result.status, result.limit, result.output) == ("limit", "maxTurns", "Again.")
    assert len(gate.calls) == 3
    assert _open_calls(sink) == set()


async def test_a_run_of_many_turns_goes_on_to_its_end(tmp_path: Path) -> None:
    gate, sink = Gate(), Sink()
    turns: list[object] = [{"calls": [_call(str(n))]} for n in range(65)]
    model = script(tmp_path, [*turns, {"text": "At last."}])
    wish = request(model, limits=Limits())
    result = await SdkRuntime(RuntimeSettings()).run(wish, sink, gate)
    assert (result.status, result.output) == ("completed", "At last.")
    assert [call.arguments["path"] for call in gate.calls] == [str(n) for n in range(65)]
    assert len(sink.used) == 66


async def test_stop_returns_only_when_the_calls_are_gone(tmp_path: Path) -> None:
    cleaning, clean = asyncio.Event(), asyncio.Event()

    async def slow_to_go(_: ToolCall) -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await clean.wait()
        raise AssertionError

    sink, gate = Sink(), Gate(slow_to_go)
    sdk = SdkRuntime(RuntimeSettings())
    model = script(tmp_path, [{"text": "I read.", "calls": [_call("a"), _call("b")]}])
    async with asyncio.TaskGroup() as group:
        task = group.create_task(sdk.run(request(model), sink, gate))
        await gate.entered.wait()
        task.cancel()
        await cleaning.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        assert not task.done()
        clean.set()
    assert task.cancelled()
    assert gate.inside == 0
    assert [item["output"] for item in sink.memory if "output" in item] == [INTERRUPTED] * 2


async def test_stop_at_any_step_ends_the_run_and_closes_every_call(tmp_path: Path) -> None:
    sdk = SdkRuntime(RuntimeSettings())
    model = script(
        tmp_path, [{"text": "a b c", "calls": [_call("a"), _call("b")]}, {"text": "d e"}]
    )
    await asyncio.to_thread(sdk.warm, model)
    steps = 0
    while True:
        sink, gate = Sink(), Gate()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(sdk.run(request(model), sink, gate))
            for _ in range(steps):
                await asyncio.sleep(0)
            finished = task.done()
            task.cancel()
        assert gate.inside == 0
        assert _open_calls(sink) == set()
        said = [str(item["content"]) for item in sink.memory if item.get("role") == "assistant"]
        assert len(said) == len(set(said))
        if finished:
            assert task.result().output == "d e"
            return
        assert task.cancelled()
        steps += 1


async def test_a_bug_in_the_gate_rises_and_hangs_nothing(tmp_path: Path) -> None:
    async def broken(_: ToolCall) -> ToolResult:
        raise ZeroDivisionError

    sink = Sink()
    model = script(tmp_path, [{"calls": [_call("a")]}])
    with pytest.raises(ZeroDivisionError):
        await SdkRuntime(RuntimeSettings()).run(request(model), sink, Gate(broken))
    assert _open_calls(sink) == set()


async def test_runs_at_once_do_not_meet() -> None:
    sdk = SdkRuntime(RuntimeSettings())
    sinks = [Sink() for _ in range(20)]
    async with asyncio.TaskGroup() as group:
        for number, sink in enumerate(sinks):
            wish = request("scripted/echo", f"this is {number}")
            group.create_task(sdk.run(wish, sink, Gate()))
    assert [sink.said for sink in sinks] == [f"this is {number}" for number in range(20)]


async def test_the_cost_is_asked_for_once_for_each_model_call() -> None:
    async with ChatVendor(Turn(calls=(LIST,)), Turn("Done.")) as server:
        sdk = runtime(server, price=lambda model, usage: usage.input_tokens / 1000)
        sink = Sink()
        await sdk.run(request("local/m"), sink, Gate())
        await sdk.close()
    assert [used.cost_usd for used in sink.used] == [0.1, 0.1]


async def test_a_history_of_another_maker_is_read_as_far_as_it_goes() -> None:
    history = (
        {"role": "user", "content": "plain words"},
        {"type": "function_call_output", "call_id": "nobody's", "output": "lost"},
        {"type": "function_call", "call_id": "c", "name": "fs.read now", "arguments": "{"},
        {"type": "something_else", "x": 1},
        {"type": "function_call", "call_id": "c", "name": "fs_read", "arguments": "{}"},
    )
    async with ChatVendor(Turn("Fine.")) as server:
        result, _ = await run(server, "go", history=history)
    assert server.refused == []
    assert result.output == "Fine."
    sent = server.bodies[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[3]["content"] == INTERRUPTED


def _call(path: str) -> object:
    return {"name": "fs_read", "arguments": {"path": path}}


def _open_calls(sink: Sink) -> set[object]:
    calls = {item["call_id"] for item in sink.memory if item["type"] == "function_call"}
    done = [item["call_id"] for item in sink.memory if item["type"] == "function_call_output"]
    assert len(done) == len(set(done))
    return calls - set(done)
