"""A file that is open under two names: the unsaved document is edited, and no text is lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_host.core.actions import PathFacts
from tests.fakes import FakeActions
from tests.session.stage import Stage, stage, tool
from tests.session.test_gate import results


class Linked(FakeActions):
    """`/w/link.txt` is a link to `/w/a.txt`."""

    async def inspect(self, path: str) -> PathFacts:
        if path != "/w/link.txt":
            return await super().inspect(path)
        return replace(await super().inspect("/w/a.txt"), path=path, through_link=True)


def opened(host: Stage, target: str | None, link: str | None) -> None:
    if target is not None:
        host.editor.open("/w/a.txt", target)
    if link is not None:
        host.editor.open("/w/link.txt", link, true_path="/w/a.txt")


def text(host: Stage, path: str) -> str:
    document = host.editor.document(path)
    assert document is not None
    return document.text


@pytest.mark.parametrize("name", ["a.txt", "link.txt"])
@pytest.mark.parametrize("dirty", ["/w/a.txt", "/w/link.txt"])
async def test_the_document_with_unsaved_text_is_edited_by_either_name(
    tmp_path: Path, name: str, dirty: str
) -> None:
    edit = tool("fs_edit", "1", path=name, edits=[{"old": "typed", "new": "agent"}])
    async with stage(tmp_path, actions=Linked(files={"/w/a.txt": b"old\n"})) as host:
        opened(host, "old\n", "old\n")
        host.editor.open(dirty, "old\ntyped\n")
        (_, read), (status, told) = await results(host, tool("fs_read", "0", path=name), edit)
        assert "typed" in read
        assert status == "ok", told
        clean = "/w/link.txt" if dirty == "/w/a.txt" else "/w/a.txt"
        assert f"The same file is open as {clean} too, without this change." in told
        assert (text(host, dirty), text(host, clean)) == ("old\nagent\n", "old\n")
        assert host.actions.files == {"/w/a.txt": b"old\n"}


@pytest.mark.parametrize("name", ["a.txt", "link.txt"])
async def test_two_unsaved_texts_of_one_file_are_told_and_left_alone(
    tmp_path: Path, name: str
) -> None:
    edit = tool("fs_edit", "1", path=name, edits=[{"old": "old", "new": "agent"}])
    async with stage(tmp_path, actions=Linked(files={"/w/a.txt": b"old\n"})) as host:
        opened(host, "old\nhere\n", "old\nthere\n")
        for status, told in await results(host, tool("fs_read", "0", path=name), edit):
            assert status == "failed"
            assert "/w/a.txt and /w/link.txt are one file" in told
        assert text(host, "/w/a.txt") == "old\nhere\n"
        assert text(host, "/w/link.txt") == "old\nthere\n"


@pytest.mark.parametrize(
    ("name", "target", "link"), [("link.txt", "typed\n", None), ("a.txt", None, "typed\n")]
)
async def test_what_is_open_under_another_name_is_edited_there(
    tmp_path: Path, name: str, target: str | None, link: str | None
) -> None:
    edit = tool("fs_edit", "1", path=name, edits=[{"old": "typed", "new": "agent"}])
    async with stage(tmp_path, actions=Linked(files={"/w/a.txt": b"old\n"})) as host:
        opened(host, target, link)
        ((status, told),) = await results(host, edit)
        assert status == "ok", told
        assert text(host, "/w/a.txt" if target else "/w/link.txt") == "agent\n"
        assert host.actions.files == {"/w/a.txt": b"old\n"}
