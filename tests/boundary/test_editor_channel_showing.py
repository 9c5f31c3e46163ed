"""Progress, showing and saving: an editor that doesn't play along holds nothing up."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.document import Position, Range
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.editor_traits import traits_of
from agent_host.lsp.host import EditorError
from tests.clients.habits import EDITORS, Habits, name_of
from tests.clients.simulated import SILENCE, SimulatedEditor
from tests.clients.virtual_time import run

VSCODE = EDITORS[0]
CREATE = "window/workDoneProgress/create"
SHOW = "window/showDocument"
URI = "file:///w/a.py"

Story = Callable[[SimulatedEditor, LspEditor, list[str]], Awaitable[None]]


def play(habits: Habits, story: Story, folder: Path, **client: object) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            editor = SimulatedEditor(habits, tasks)
            editor.client = replace(editor.client, **client)
            cancelled: list[str] = []
            port = LspEditor(editor, editor.documents, state_dir=folder, on_cancel=cancelled.append)
            await story(editor, port, cancelled)

    run(main())


def told(editor: SimulatedEditor) -> list[tuple[object, object]]:
    """Kind and text of each progress message."""
    assert all(method == "$/progress" for method, _ in editor.notified)
    values = [params["value"] for _, params in editor.notified]
    return [(v["kind"], v.get("title") or v.get("message")) for v in values if isinstance(v, dict)]


# ---- progress


@pytest.mark.parametrize("habits", EDITORS, ids=name_of)
def test_a_run_is_shown_where_progress_is_declared(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers[CREATE] = lambda _: None
        await port.begin_progress("r1", "agent", None)
        await asyncio.sleep(1)
        port.report_progress("r1", "thinking")
        port.end_progress("r1", "done")
        declared = traits_of(editor.client).shows_progress
        expected = [("begin", "agent"), ("report", "thinking"), ("end", "done")]
        assert told(editor) == (expected if declared else [])
        assert len(editor.asked) == int(declared)

    play(habits, story, tmp_path)


def test_the_token_of_the_request_is_used_as_it_is(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        await port.begin_progress("r1", "agent", 7)
        port.end_progress("r1", "done")
        assert {params["token"] for _, params in editor.notified} == {7}
        assert not editor.asked

    play(VSCODE, story, tmp_path, capabilities={})


@pytest.mark.parametrize("answer", [SILENCE, EditorError(-32601, "Method not found")])
def test_a_run_goes_on_when_the_editor_shows_no_progress(answer, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers[CREATE] = lambda _: answer
        await port.begin_progress("r1", "agent", None)
        assert asyncio.get_running_loop().time() == 0, "a run does not wait for the editor"
        port.report_progress("r1", "thinking")
        await asyncio.sleep(10)
        port.report_progress("r1", "thinking")
        port.end_progress("r1", "done")
        assert not editor.notified
        assert len(editor.withdrawn) == (answer is SILENCE)

    play(VSCODE, story, tmp_path)


def test_a_run_that_ends_first_is_not_shown_later(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers[CREATE] = lambda _: None
        await port.begin_progress("r1", "agent", None)
        port.end_progress("r1", "done")
        await asyncio.sleep(1)
        assert not editor.notified

    play(VSCODE, story, tmp_path)


def test_reports_come_four_times_a_second_and_the_last_one_always_comes(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        await port.begin_progress("r1", "agent", "t")
        for number in range(100):
            port.report_progress("r1", str(number))
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)
        reports = [text for kind, text in told(editor) if kind == "report"]
        assert 8 <= len(reports) <= 10
        assert (reports[0], reports[-1]) == ("0", "99")
        port.report_progress("r1", "a")
        port.report_progress("r1", "b")
        port.end_progress("r1", "done")
        await asyncio.sleep(1)
        assert told(editor)[-1] == ("end", "done")
        port.report_progress("r1", "late")
        port.end_progress("r1", "again")
        assert told(editor)[-1] == ("end", "done")

    play(VSCODE, story, tmp_path)


def test_cancel_in_the_editor_names_the_run(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers[CREATE] = lambda _: None
        await port.begin_progress("r1", "one", None)
        await port.begin_progress("r2", "two", "mine")
        await asyncio.sleep(1)
        created = editor.asked[0][1]["token"]
        assert isinstance(created, str)
        port.progress_cancelled("nobody's")
        port.progress_cancelled("mine")
        port.progress_cancelled(created)
        assert cancelled == ["r2", "r1"]
        port.end_progress("r1", "stopped")
        port.progress_cancelled(created)
        assert cancelled == ["r2", "r1"]

    play(VSCODE, story, tmp_path)


# ---- showing


@pytest.mark.parametrize("habits", EDITORS, ids=name_of)
def test_showing_is_true_only_when_it_was_done(habits: Habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        assert await port.show(URI) == (habits.shows == "yes" and bool(editor.asked))
        is_shown = habits.shows == "yes" and bool(editor.asked)
        assert (await port.show_text("a", "b") is None) == is_shown

    play(habits, story, tmp_path)


@pytest.mark.parametrize(
    "answer", [None, {}, {"success": False}, {"success": "yes"}, EditorError(-1, "x"), SILENCE]
)
def test_other_answers_mean_not_shown(answer, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers[SHOW] = lambda _: answer
        assert not await port.show(URI)

    play(VSCODE, story, tmp_path)


def test_no_place_after_the_last_line_is_shown(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        for text, where in (
            ("a\nbc\n", (1, 2)),
            ("a\n\n", (1, 0)),
            ("a\nbc", (1, 2)),
            ("", (0, 0)),
        ):
            editor.open(URI, text)
            await port.show(URI, Range(Position(7, 0), Position(7, 0)))
            (_, params) = editor.asked[-1]
            place = {"line": where[0], "character": where[1]}
            assert params["selection"] == {"start": place, "end": place}

    play(VSCODE, story, tmp_path)


def test_a_document_is_shown_without_a_place_that_the_editor_refuses(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers[SHOW] = lambda params: (
            EditorError(-1, "outside") if "selection" in params else {"success": True}
        )
        assert await port.show("file:///w/other", Range(Position(900, 0), Position(900, 0)))
        assert len(editor.asked) == 2

    play(VSCODE, story, tmp_path)


def test_a_selection_counts_as_the_editor_counts_and_the_keyboard_stays(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.open(URI, "é🦊x\n")
        assert await port.show(URI, Range(Position(0, 2), Position(0, 3)))
        await port.show("file:///w/other", Range(Position(1, 2), Position(1, 3)))
        assert [params for _, params in editor.asked] == [
            {
                "uri": URI,
                "takeFocus": False,
                "selection": {
                    "start": {"line": 0, "character": 3},
                    "end": {"line": 0, "character": 4},
                },
            },
            {
                "uri": "file:///w/other",
                "takeFocus": False,
                "selection": {
                    "start": {"line": 1, "character": 2},
                    "end": {"line": 1, "character": 3},
                },
            },
        ]

    play(VSCODE, story, tmp_path)


# ---- saving


@pytest.mark.parametrize(
    ("answer", "saved"),
    [
        ({"saved": [URI, "file:///else"]}, (URI,)),
        ({"saved": []}, ()),
        ({"saved": URI}, ()),
        (None, ()),
        (EditorError(-32601, "x"), ()),
        (SILENCE, ()),
    ],
)
def test_only_what_the_editor_says_is_saved(answer, saved, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        editor.answers["agent/save"] = lambda _: answer
        assert await port.save([URI, "file:///w/b.py"]) == saved
        assert await port.save([]) == ()
        assert len(editor.asked) == 1

    capabilities = {"experimental": {"agentHost": {"save": True}}}
    play(VSCODE, story, tmp_path, capabilities=capabilities)


def test_an_editor_that_did_not_offer_saving_is_not_asked_to(tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor, cancelled: list[str]) -> None:
        assert await port.save([URI]) == ()
        port.files_changed(["/w/a.py"])
        assert not editor.asked

    play(VSCODE, story, tmp_path)


# ---- what is known of each editor

KNOWN = {
    "vscode-1.139.1-languageclient-11.0.0": (True, True, True, True, True),
    "neovim-0.12.4": (True, True, True, True, True),
    "neovim-0.11.4": (True, True, True, True, True),
    "neovim-0.10.4": (True, True, True, True, True),
    "neovim-0.7.2": (True, True, True, False, True),
    "emacs-30.1-eglot-1.17.30": (True, True, True, True, True),
    "emacs-28.2-eglot-1.9": (True, True, True, False, False),
    "emacs-28.2-lsp-mode-8.0.0": (True, True, True, False, True),
    "helix-25.07.1": (True, True, True, True, True),
    "helix-25.01.1": (False, True, True, False, True),
    "kate-22.12.3": (False, True, False, False, True),
    "vim-9.0-vim-lsp-474c6566": (True, True, False, False, False),
    "vim-9.0-yegappan-lsp-33aef9d": (True, True, False, False, True),
}


@pytest.mark.parametrize("habits", EDITORS, ids=name_of)
def test_traits(habits: Habits) -> None:
    traits = traits_of(habits.client)
    assert KNOWN[habits.fixture] == (
        traits.asks_by is not None,
        traits.takes_document_changes,
        traits.checks_versions,
        traits.shows_documents,
        traits.shows_progress,
    )
