"""The stream of deltas: numbered without gaps, merged only while the editor is behind."""

import pytest

from agent_host.core.events import Delta, Ended, NumberedDelta, Reasoning, Text, ToolOutput
from agent_host.core.model import Origin
from agent_host.session import deltas
from agent_host.session.deltas import DeltaStream
from tests.fakes import FakeEditor

AGENT, TOOL = Origin("agent"), Origin("tool")
BEHIND = deltas.BEHIND + 1


def stream(editor: FakeEditor, kept: list[NumberedDelta] | None = None) -> DeltaStream:
    return DeltaStream(
        session_id="s",
        run_id="r",
        outlet=editor,
        keep=(kept if kept is not None else []).append,
        overflow=lambda: editor.shown.append("overflow"),
    )


def told(editor: FakeEditor) -> list[Delta]:
    assert [each.seq for each in editor.deltas] == list(range(1, len(editor.deltas) + 1))
    return [each.delta for each in editor.deltas]


async def test_nothing_is_merged_while_the_editor_keeps_up() -> None:
    editor, kept = FakeEditor(), list[NumberedDelta]()
    out = stream(editor, kept)
    for text in "abc":
        out.send(AGENT, Text(text))
    assert told(editor) == [Text("a"), Text("b"), Text("c")]
    assert kept == editor.deltas


async def test_text_is_merged_while_it_is_behind_and_order_is_kept() -> None:
    editor = FakeEditor()
    out = stream(editor)
    editor.waiting_bytes = BEHIND
    for delta in (Text("a"), Text("b"), Reasoning("r"), Text("c"), ToolOutput("1", "stdout", "o")):
        out.send(AGENT, delta)
    out.send(TOOL, ToolOutput("1", "stdout", "p"))
    out.send(TOOL, ToolOutput("1", "stdout", "q"))
    out.send(TOOL, ToolOutput("2", "stdout", "x"))
    out.send(TOOL, ToolOutput("2", "stderr", "y"))
    out.send(TOOL, Ended("completed"))
    assert told(editor) == [
        Text("ab"),
        Reasoning("r"),
        Text("c"),
        ToolOutput("1", "stdout", "o"),
        ToolOutput("1", "stdout", "pq"),
        ToolOutput("2", "stdout", "x"),
        ToolOutput("2", "stderr", "y"),
        Ended("completed"),
    ]


async def test_what_was_held_is_sent_once_the_editor_reads_again() -> None:
    editor = FakeEditor()
    out = stream(editor)
    editor.waiting_bytes = BEHIND
    out.send(AGENT, Text("a"))
    out.send(AGENT, Text("b"))
    assert told(editor) == []
    editor.drain()
    out.send(AGENT, Text("c"))
    assert told(editor) == [Text("ab"), Text("c")]


async def test_after_the_end_there_is_nothing() -> None:
    editor = FakeEditor()
    out = stream(editor)
    out.send(AGENT, Ended("stopped"))
    out.send(AGENT, Text("late"))
    out.send(AGENT, Ended("completed"))
    editor.drain()
    assert told(editor) == [Ended("stopped")]
    assert out.ended


@pytest.mark.parametrize("size", [deltas.FULL, deltas.FULL + 1])
async def test_an_editor_that_never_reads_is_given_up(size: int) -> None:
    editor = FakeEditor()
    out = stream(editor)
    editor.waiting_bytes = BEHIND
    out.send(AGENT, Text("x" * size))
    assert editor.shown == (["overflow"] if size > deltas.FULL else [])
