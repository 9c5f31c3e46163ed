"""The scripted model: what a script can say, and what is told about a script with mistakes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.errors import AgentHostError, AuthFailed, ModelNotFound, RuntimeFailed
from agent_host.core.model import ToolCall, ToolResult, Usage
from agent_host.core.ports import LimitReached, RuntimeResult
from agent_host.runtimes import RuntimeSettings
from agent_host.runtimes.script import BUILTINS, load_script, parse_script
from agent_host.runtimes.sdk import SdkRuntime
from tests.vendors.runs import Gate, Pauses, Sink, request


async def play(
    folder: Path, text: str, *prompt: str, gate: Gate | None = None
) -> tuple[RuntimeResult, Sink]:
    """Play a script from a file of the run's folder."""
    (folder / "the script.yaml").write_text(text)
    sink = Sink()
    sdk = SdkRuntime(RuntimeSettings(), pause=Pauses())
    wish = request("scripted/the script.yaml", *prompt, cwd=str(folder))
    return await sdk.run(wish, sink, gate or Gate()), sink


async def test_a_turn_is_played_step_by_step(tmp_path: Path) -> None:
    gate = Gate()
    result, sink = await play(
        tmp_path,
        """
        - - reasoning: Two words.
          - text: I read.
          - call: {name: fs_read, arguments: {path: "{{prompt}}"}}
          - calls: [{name: fs_read, arguments: '{"path": '}, {name: fs_list}]
          - usage: {input: 10, output: 5, cached: 4, cacheWrite: 3, reasoning: 2, costUsd: 0.5}
        - expect: {prompt: '^a"b$', result: fs_}
          text: "Done,\\n  {{prompt}}. "
        """,
        'a"b',
        gate=gate,
    )
    assert (result.status, result.error) == ("completed", None)
    assert result.output == 'Done,\n  a"b. '
    assert sink.thought == "Two words."
    assert sink.said == 'I read.Done,\n  a"b. '
    assert [call.arguments.get("path") for call in gate.calls] == ['a"b', None, None]
    assert gate.calls[1].problem is not None
    assert gate.most_inside == 3
    told = [replace(each, context_tokens=None) for each in sink.used]
    assert told == [Usage(1, 10, 5, 4, 3, 2, 0.5), Usage(requests=1)]


@pytest.mark.parametrize(
    ("steps", "status", "error"),
    [
        ("{error: auth_failed}", "failed", AuthFailed),
        ("{error: {status: 404}}", "failed", ModelNotFound),
        ("{error: {kind: runtime_failed, message: out of order}}", "failed", RuntimeFailed),
        ("{text: half, error: cut}", "failed", RuntimeFailed),
        ("{text: half, end: length}", "failed", RuntimeFailed),
        ("{text: half, refuse: not this}", "refused", None),
        ("{text: half, end: stop, error: cut}", "completed", None),
        ("{expect: {prompt: 'something else'}}", "failed", RuntimeFailed),
        ("{call: {name: fs_list}}", "failed", RuntimeFailed),
    ],
)
async def test_a_turn_may_end_otherwise(
    tmp_path: Path, steps: str, status: str, error: type[AgentHostError] | None
) -> None:
    result, sink = await play(tmp_path, f"- {steps}", "go")
    assert (result.status, type(result.error)) == (status, error or type(None))
    assert sink.said == ("half" if "half" in steps else "")


async def test_a_limit_that_forbids_the_next_turn_ends_the_run_and_keeps_what_was_done(
    tmp_path: Path,
) -> None:
    taken: list[str] = []

    @asynccontextmanager
    async def turn() -> AsyncGenerator[None]:
        if taken:
            raise LimitReached("maxTurns", "all taken")
        taken.append("begun")
        yield
        taken.append("ended")

    (tmp_path / "s.yaml").write_text("[[{text: I look., call: {name: fs_list}}], [{text: Never.}]]")
    wish = replace(request("scripted/s.yaml", "go", cwd=str(tmp_path)), turn=turn)
    sink = Sink()
    with pytest.raises(LimitReached):
        await SdkRuntime(RuntimeSettings(), pause=Pauses()).run(wish, sink, Gate())
    assert taken == ["begun", "ended"]
    assert sink.said == "I look."
    assert "fs_list" in str(sink.memory[-1])


async def test_an_error_may_happen_some_times_only(tmp_path: Path) -> None:
    text = "- [{error: {kind: rate_limited, retryAfter: 3, times: 2}}, {text: Here.}]"
    result, sink = await play(tmp_path, text)
    assert result.output == "Here."
    assert [wait for _, wait in sink.retries] == [3.0, 3.0]


async def test_a_hanging_turn_ends_by_stop(tmp_path: Path) -> None:
    sink = Sink()
    async with asyncio.TaskGroup() as group:
        sdk = SdkRuntime(RuntimeSettings())
        task = group.create_task(sdk.run(request("scripted/hang"), sink, Gate()))
        await sink.spoke.wait()
        task.cancel()
    assert task.cancelled()
    assert sink.memory[-1]["status"] == "incomplete"


async def test_a_script_may_be_played_over_and_over(tmp_path: Path) -> None:
    text = "repeat: yes\nturns: [{call: {name: fs_list}}]"
    result, _ = await play(tmp_path, text)
    assert (result.status, result.limit) == ("limit", "maxTurns")


async def test_pieces_give_the_text_again(tmp_path: Path) -> None:
    text = "- text: {say: ' a  b\\n\\nc', characters: 2, seconds: 0.001}\n"
    _, sink = await play(tmp_path, text.replace("'", '"'))
    assert sink.said == " a  b\n\nc"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be a list of turns"),
        ("turns: []", "must be a list of turns"),
        ("- [", "line 1"),
        ("- text: a\n- tex: b", "line 2: `turns[2].tex` is no known key. Did you mean `text`?"),
        ("- call: {nam: x}", "`turns[1].call.name` must name the tool"),
        ("- calls: {name: x}", "`turns[1].calls` must be a list"),
        ("- text: 5", "`turns[1].text` must be text"),
        ("- usage: {input: -1}", "`turns[1].usage.input` must be a whole number"),
        ("- error: odd", "must be one of auth_failed"),
        ("- error: {message: x}", "must have `status` or `kind`"),
        ("- expect: {result: '('}", "must be a regular expression"),
        ("repeat: often\nturns: [{text: a}]", "`repeat` must be yes or no"),
        ("- {}", "must hold steps: text,"),
        ("- just words", "must be a mapping"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, told: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        parse_script(text, "my.yaml")
    assert "my.yaml" in caught.value.message
    assert told in caught.value.message


def test_a_script_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="demo, echo, hang, stream"):
        load_script("nothing", str(tmp_path))
    with pytest.raises(ModelNotFound, match="relative to the run's folder"):
        load_script("../secret.yaml", str(tmp_path))


@pytest.mark.parametrize("path", sorted(BUILTINS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_built_in_script_can_be_played(path: Path) -> None:
    assert load_script(path.stem, "/").turns


@pytest.mark.parametrize(
    ("told", "output"),
    [("OK", "Done"), ("FAILED (failures=1)", "Not all"), ("this call did not run", "Not all")],
)
async def test_the_demo_reads_mends_and_tests(told: str, output: str) -> None:
    async def workspace(call: ToolCall) -> ToolResult:
        said = 'return "Helo, " + name' if call.name == "fs_read" else told
        return ToolResult("ok", said, "done")

    gate, sink = Gate(workspace), Sink()
    result = await SdkRuntime(RuntimeSettings()).run(request("scripted/demo"), sink, gate)
    assert result.status == "completed"
    assert result.output.startswith(output)
    assert [call.name for call in gate.calls] == ["fs_read", "fs_edit", "terminal_run"]
