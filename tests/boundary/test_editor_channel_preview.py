"""An edit to confirm: annotated for the editor, and its answer never believed without the text."""

from collections.abc import Callable

import pytest

from agent_host.core.document import BufferEdit
from agent_host.lsp.editor import LspEditor
from tests.boundary.test_editor_channel_edits import TEXT, URI, play
from tests.clients.habits import EDITORS
from tests.clients.simulated import SimulatedEditor

VSCODE = EDITORS[0]
AFTER = TEXT.replace("line 3 ", "LINE 3 ").replace("line 9 ", "LINE 9 ")
PART = TEXT.replace("line 9 ", "LINE 9 ")


def confirming(editor: SimulatedEditor, now: str, answer: object) -> Callable[..., object]:
    def confirm(params: dict) -> object:
        edit = params["edit"]
        (annotation,) = edit["changeAnnotations"]
        assert edit["changeAnnotations"][annotation]["needsConfirmation"] is True
        edits = edit["documentChanges"][0]["edits"]
        assert [each["annotationId"] for each in edits] == [annotation] * 2
        text = editor.text(URI)
        if now != text:
            editor.type(URI, 0, now, deleting=len(text))
        return answer

    return confirm


@pytest.mark.parametrize(
    ("now", "answer", "status"),
    [
        (AFTER, {"applied": True}, "applied"),
        (PART, {"applied": True}, "part"),
        (TEXT, {"applied": False}, "discarded"),
        (TEXT, {"applied": True}, "refused"),
        (TEXT, {"applied": False, "failureReason": "read-only"}, "refused"),
        ("# typed\n" + TEXT, {"applied": False}, "stale"),
        (PART.replace("line 3 ", "person 3 "), {"applied": True}, "refused"),
    ],
)
def test_what_a_person_made_of_a_preview_is_told(
    now: str, answer: object, status: str, tmp_path
) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        assert port.previews
        editor.open(URI, TEXT)
        editor.answers["workspace/applyEdit"] = confirming(editor, now, answer)
        outcome = await port.apply(BufferEdit(URI, TEXT, AFTER, "Agent edit", confirm=True))
        assert (outcome.status, outcome.text) == (status, now)

    play(VSCODE, story, tmp_path)


@pytest.mark.parametrize("habits", [each for each in EDITORS if each is not VSCODE])
def test_only_an_editor_that_is_known_to_ask_is_asked_for_it(habits, tmp_path) -> None:
    async def story(editor: SimulatedEditor, port: LspEditor) -> None:
        assert not port.previews

    play(habits, story, tmp_path)
