"""An editor tells what does not fit: nothing of it is believed until it is sound."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent_host.app.recovery import Recovery
from agent_host.core.document import BufferEdit, Position, Range
from agent_host.core.errors import ActionFailed
from agent_host.lsp.editor import LspEditor
from agent_host.lsp.host import ContentChange
from agent_host.session.opened import opened
from tests.clients.habits import EDITORS, Habits, name_of
from tests.clients.simulated import SimulatedEditor
from tests.clients.virtual_time import run
from tests.fakes import FakeActions

URI = "file:///w/a.py"
TEXT = "one\ntwo\nthree\n"

Heal = Callable[[SimulatedEditor, Recovery, FakeActions], Awaitable[None]]


async def by_a_save_that_tells(editor: SimulatedEditor, _: Recovery, __: FakeActions) -> None:
    editor.documents.did_save(URI, editor.text(URI))


async def by_a_save(editor: SimulatedEditor, recovery: Recovery, actions: FakeActions) -> None:
    actions.files["/w/a.py"] = editor.text(URI).encode()
    await recovery.saved(URI)


async def by_opening_again(editor: SimulatedEditor, _: Recovery, __: FakeActions) -> None:
    buffer = editor.buffers[URI]
    editor.documents.did_open(URI, "python", buffer.version, buffer.text)


async def by_a_full_change(editor: SimulatedEditor, _: Recovery, __: FakeActions) -> None:
    buffer = editor.buffers[URI]
    editor.documents.did_change(URI, buffer.version, [ContentChange(None, buffer.text)])


def tell_wrongly(editor: SimulatedEditor) -> None:
    """The person types, and the editor tells of it with places of another text."""
    buffer = editor.buffers[URI]
    buffer.text = buffer.told = "typed\n" + buffer.text
    buffer.version += 1
    nowhere = Range(Position(70, 0), Position(70, 0))
    editor.documents.did_change(URI, buffer.version, [ContentChange(nowhere, "\n")])


@pytest.mark.parametrize("habits", EDITORS, ids=name_of)
@pytest.mark.parametrize(
    "heal", [by_a_save_that_tells, by_a_save, by_opening_again, by_a_full_change]
)
def test_a_document_in_doubt_is_sound_again(habits: Habits, heal: Heal, tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            editor = SimulatedEditor(habits, tasks)
            port = LspEditor(editor, editor.documents, state_dir=tmp_path, on_cancel=lambda _: None)
            actions = FakeActions()
            recovery = Recovery(editor.documents, actions, editor.notify)
            editor.open(URI, TEXT)
            tell_wrongly(editor)
            recovery.changed(URI)
            recovery.changed(URI)
            ((method, params),) = editor.notified
            assert method == "window/showMessage"
            assert "a.py" in str(params["message"])
            with pytest.raises(ActionFailed, match="save it or to open it anew"):
                opened(port, "/w/a.py")
            believed = editor.documents.find(URI)
            assert believed is not None
            edit = BufferEdit(URI, believed.text, "all new", "Agent edit")
            assert (await port.apply(edit)).status == "refused"
            assert editor.asked == []
            await heal(editor, recovery, actions)
            document = opened(port, "/w/a.py")
            assert document is not None
            assert document.text == editor.text(URI) == "typed\n" + TEXT
            after = document.text.replace("two", "TWO")
            assert (await port.apply(BufferEdit(URI, document.text, after, "x"))).text == after

    run(main())


def test_a_save_that_is_older_than_a_change_heals_nothing(tmp_path: Path) -> None:
    del tmp_path

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            editor = SimulatedEditor(EDITORS[0], tasks)
            editor.open(URI, TEXT)
            tell_wrongly(editor)

            class Slow(FakeActions):
                async def read(self, path: str):
                    found = await super().read(path)
                    tell_wrongly(editor)
                    return found

            actions = Slow(files={"/w/a.py": b"old\n"})
            await Recovery(editor.documents, actions, editor.notify).saved(URI)
            document = editor.documents.find(URI)
            assert document is not None
            assert document.doubtful

    run(main())
