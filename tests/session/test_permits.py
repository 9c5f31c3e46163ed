"""What a runtime is permitted to do itself, and may then do through the host without a question."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_host.core.events import Edited, ToolFinished
from agent_host.core.model import ToolCall, ToolResult
from agent_host.core.permission import Question, Rule
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.settings import Settings
from tests.fakes import by_kind
from tests.session.stage import Stage, asked, role, stage, tool

WRITE = tool("fs_write", path="a.txt", text="new\n")
EDIT = tool("fs_edit", path="a.txt", edits=[{"old": "old", "new": "new"}])
BOTH = tool(
    "fs_edit_files",
    files=[{"path": "a.txt", "text": "new\n"}, {"path": "b.txt", "text": "new b\n"}],
)
COMMAND = tool("terminal_run", command="make it", network=True)


def through_host(name: str, **arguments: object) -> ToolCall:
    return tool(name, f"h-{name}-{arguments.get('path')}", **arguments)


A = through_host("fs_write", path="/w/a.txt", text="new\n")
B = through_host("fs_write", path="/w/b.txt", text="new b\n")
OTHER = through_host("fs_write", path="/w/a.txt", text="other\n")
RUN = through_host("terminal_run", command="make it", cwd="/w")
LIST = through_host("terminal_run", command="ls", cwd="/w")
WIDER = through_host("terminal_run", command="make it", network=True)


async def did(host: Stage, wish: ToolCall, *calls: ToolCall) -> list[str]:
    """A runtime that asks for one thing and has the host do these; their statuses."""
    statuses: list[str] = []

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        assert (await gate.permit(wish)).verdict == "allow"
        statuses.extend([(await gate.call(each)).status for each in calls])
        gate.settle("c1", ToolResult("ok", "", "Did it"))
        return RuntimeResult("completed", "")

    host.plays(story)
    assert (await host.manager.run(asked())).status == "completed"
    return statuses


@pytest.mark.parametrize(
    ("wish", "calls", "questions", "ends"),
    [
        (WRITE, [A], 1, "Done through the host"),
        (EDIT, [A], 1, "Done through the host"),
        (WRITE, [OTHER], 2, "Not done: the agent has the host do something else instead"),
        (WRITE, [B], 2, "Did it"),
        (WRITE, [A, OTHER], 2, "Done through the host"),
        (BOTH, [A, B], 1, "Done through the host"),
        (BOTH, [B, OTHER], 2, "Not done: the agent has the host do something else instead"),
        (BOTH, [B], 1, "Did it"),
        (COMMAND, [RUN], 1, "Done through the host"),
        (COMMAND, [RUN, RUN], 2, "Done through the host"),
        (COMMAND, [through_host("terminal_run", command="make it --all")], 2, "Did it"),
        (tool("terminal_run", command="ls"), [LIST], 1, "Done through the host"),
        (tool("terminal_run", command="make it"), [WIDER], 2, "Not done: the agent has the host"),
    ],
)
async def test_one_answer_is_for_exactly_what_was_asked_and_once(
    tmp_path: Path, wish: ToolCall, calls: Sequence[ToolCall], questions: int, ends: str
) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"old b\n"}
        assert await did(host, wish, *calls) == ["ok"] * len(calls)
        assert len(host.editor.questions) == questions
        finished = {d.call_id: d.summary for d in host.told() if isinstance(d, ToolFinished)}
        assert finished["c1"].startswith(ends)
        written = {
            call.arguments["path"]: call.arguments["text"]
            for call in calls
            if call.name == "fs_write"
        }
        assert {path: host.actions.files[str(path)].decode() for path in written} == written


async def test_what_is_done_through_the_host_is_told_and_kept_as_one_change(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"old b\n"}
        await did(host, BOTH, A, B)
        (question,) = host.editor.questions
        assert "change 2 files: a.txt, b.txt" in question.title
        assert question.diff is not None
        assert "+new b" in question.diff
        applied = [d.call_id for d in host.told() if isinstance(d, Edited) and d.state == "applied"]
        assert applied == [A.call_id, B.call_id]
        edits = await host.store.edits(next(each.run_id for each in host.editor.deltas))
        assert sorted(each.state for each in edits) == ["applied", "applied", "failed", "failed"]


async def test_an_answer_does_not_hold_for_text_that_has_moved_on(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        await gate.permit(WRITE)
        host.actions.files["/w/a.txt"] = b"somebody's work\n"
        await gate.call(A)
        return RuntimeResult("completed", "")

    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        host.plays(story)
        await host.manager.run(asked())
        assert len(host.editor.questions) == 2


async def test_an_answer_does_not_hold_against_a_rule_that_came_since(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"old\n"
        allow = host.editor.choose

        def choose(question: Question) -> object:
            deny = (Rule("deny", "fs.write", "a.txt", where="config.yaml:3"),)
            host.settings = Settings(model="scripted/x", rules=deny)
            return allow(question)

        host.editor.choose = choose  # type: ignore[assignment]
        assert await did(host, WRITE, A) == ["denied"]


async def test_one_file_that_is_not_allowed_denies_all_of_them(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        return RuntimeResult("completed", (await gate.permit(BOTH)).verdict)

    rules = (Rule("deny", "fs.write", "b.txt", where="config.yaml:3"),)
    async with stage(tmp_path, settings=Settings(model="scripted/x", rules=rules)) as host:
        host.actions.files |= {"/w/a.txt": b"old\n", "/w/b.txt": b"old b\n"}
        host.plays(story)
        assert (await host.manager.run(asked())).output == "deny"
        assert host.editor.questions == []


async def test_permit_asks_and_never_leaves_it_open(tmp_path: Path) -> None:
    verdicts: list[str] = []

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        calls = (WRITE, tool("fs_read", "c2", path="a.txt"), tool("nope", "c3"))
        verdicts.extend([(await gate.permit(call)).verdict for call in calls])
        gate.settle("c1", ToolResult("ok", "", "Wrote it"))
        gate.settle("nobody's", ToolResult("ok", "", ""))
        return RuntimeResult("completed", "")

    async with stage(tmp_path, roles=(role(),)) as host:
        host.actions.files["/w/a.txt"] = b""
        host.plays(story)
        result = await host.manager.run(asked())
        assert verdicts == ["allow", "allow", "deny"]
        assert host.actions.files == {"/w/a.txt": b""}
        # The runtime said how one went; the other was open when the run ended.
        ends = [(d.call_id, d.status) for d in host.told() if isinstance(d, ToolFinished)]
        assert ends == [("c3", "failed"), ("c1", "ok"), ("c2", "stopped")]
        assert [edit.kind for edit in result.edits] == ["change"]
        (kept,) = await host.store.edits(result.run_id)
        assert (kept.state, kept.place) == ("applied", "disk")


async def test_a_runtime_may_not_write_under_unsaved_text(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        decision = await gate.permit(WRITE)
        return RuntimeResult("completed", f"{decision.verdict}: {decision.reason}")

    async with stage(tmp_path) as host:
        host.actions.files["/w/a.txt"] = b"on disk"
        host.editor.open("/w/a.txt", "typed")
        host.plays(story)
        result = await host.manager.run(asked())
        assert result.output.startswith("deny")
        assert "unsaved" in result.output


async def test_what_was_permitted_in_vain_counts_as_denials_too(tmp_path: Path) -> None:
    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        for number in range(9):
            await gate.permit(tool("fs_write", f"c{number}", path="a.txt", text=str(number)))
        raise AssertionError

    async with stage(tmp_path) as host:
        host.editor.choose = by_kind("deny")
        host.plays(story)
        result = await host.manager.run(asked())
        assert (result.status, result.limit) == ("limit", "denials")
