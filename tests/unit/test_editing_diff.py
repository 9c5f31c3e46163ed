"""Differences: put together again they give the new text, and size does not matter."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_host.core.document import Position, Range
from agent_host.editing.diff import TextEdit, hunks, text_edits, unified
from agent_host.editing.text import split_lines
from agent_host.lsp.buffer import Buffer

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "c\n", "\n", "a\r\n", "b\r", "é🦊\n", "x y z\n"]), max_size=14
)
TEXTS = st.tuples(LINES, st.sampled_from(["", "end", "a"])).map(lambda t: "".join(t[0]) + t[1])


def edited(before: str, edits: tuple[TextEdit, ...]) -> str:
    buffer = Buffer(before)
    for edit in reversed(edits):
        buffer.replace(edit.range.start, edit.range.end, edit.text)
    return buffer.text


@given(before=TEXTS, after=TEXTS)
@example("a\nb\rb\nb\r\n", "a\na\n\nb\r\n")
@settings(max_examples=500, deadline=None)
def test_edits_make_the_new_text_of_the_old(before: str, after: str) -> None:
    edits = text_edits(before, after)
    assert edited(before, edits) == after
    for edit in edits:
        for place in (edit.range.start, edit.range.end):
            assert Buffer(before).from_wire(place, "utf-32") == place, "every editor can name it"
    assert (edits == ()) == (before == after)


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", [((1, 0), (1, 1), "B")]),
        ("foo(bar)\n", "foo(baz)\n", [((0, 6), (0, 7), "z")]),
        ("a\n", "a\nb\n", [((0, 1), (0, 1), "\nb")]),
        ("a\nb\n", "a\n", [((0, 1), (1, 1), "")]),
        ("a\r\n", "a\r\n\r\n", [((0, 1), (0, 1), "\r\n")]),
        ("a", "a\nb", [((0, 1), (0, 1), "\nb")]),
        ("", "x", [((0, 0), (0, 0), "x")]),
        ("x\n", "", [((0, 0), (1, 0), "")]),
        ("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", [((0, 0), (0, 1), "A"), ((4, 0), (4, 1), "E")]),
        ("a\r\nb", "a\nb", [((0, 1), (1, 0), "\n")]),
        ("a\rb", "a\r\nb", [((0, 1), (1, 0), "\r\n")]),
    ],
)
def test_edits_are_small(before: str, after: str, edits) -> None:
    expected = [TextEdit(Range(Position(*s), Position(*e)), text) for s, e, text in edits]
    assert list(text_edits(before, after)) == expected


def test_unified_form() -> None:
    before = "".join(f"{n}\n" for n in range(1, 30))
    after = before.replace("5\n", "five\n", 1).replace("29\n", "29")
    assert unified(before, after, "x.py") == (
        "--- a/x.py\n+++ b/x.py\n"
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        "@@ -26,4 +26,4 @@\n 26\n 27\n 28\n-29\n+29\n\\ No newline at end of file\n"
    )


def test_unified_form_of_new_deleted_and_equal_files() -> None:
    assert unified(None, "a\n", "x") == "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    assert unified("a\n", None, "x") == "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert unified(None, "", "x") == "--- /dev/null\n+++ b/x\n"
    assert unified("a", "a", "x") == ""


@given(before=TEXTS, after=TEXTS)
@settings(max_examples=25, deadline=None)
def test_git_applies_the_unified_form(tmp_path_factory, before: str, after: str) -> None:
    before, after = before.replace("\r", ""), after.replace("\r", "")
    if before == after or not before or not after:
        return
    folder: Path = tmp_path_factory.mktemp("diff")
    (folder / "x").write_bytes(before.encode())
    diff = unified(before, after, "x").encode()
    subprocess.run(["git", "apply", "-"], cwd=folder, input=diff, check=True)
    assert (folder / "x").read_bytes() == after.encode()


# ---- size


def test_scattered_changes_in_ten_mebibytes_stay_small() -> None:
    lines = [f"line {number} of a long file, with some text\n" for number in range(240_000)]
    changed = list(lines)
    for place in range(0, 240_000, 1_000):
        changed[place] = f"changed {place}\n"
    del changed[120_001:120_005]
    found = hunks(lines, changed)
    assert len(found) == 240, "the deleted lines touch a changed one"
    assert sum(hunk.end - hunk.start for hunk in found) == 244


def test_large_texts_without_anything_in_common_are_one_hunk() -> None:
    assert len(hunks(["a\n", "b\n"] * 50_000, ["c\n", "d\n"] * 50_000)) == 1


def test_large_texts_of_few_different_lines_end_soon() -> None:
    before, after = ["{\n", "}\n", "\n"] * 30_000, ["}\n", "\n", "\n", "{\n"] * 30_000
    found = hunks(before, after)
    assert sum(hunk.new_end - hunk.new_start for hunk in found) <= len(after)


def test_a_line_of_a_mebibyte() -> None:
    before = "x" * (1 << 20)
    after = before[: 1 << 19] + "!" + before[1 << 19 :]
    assert edited(before, text_edits(before, after)) == after
    assert sum(len(edit.text) for edit in text_edits(before, after)) == 1


def test_lines_are_those_of_the_editor() -> None:
    assert split_lines("a\x0cb\u2028c\x85d\ne\r\nf\rg") == [
        "a\x0cb\u2028c\x85d\n",
        "e\r\n",
        "f\r",
        "g",
    ]


def test_lines_that_changed_in_a_row_are_edited_apart() -> None:
    before = "def old(a):\n    return old(a)  # same\nend\n"
    edits = text_edits(before, before.replace("old", "new"))
    spans = [(each.range.start, each.range.end, each.text) for each in edits]
    assert spans == [
        (Position(0, 4), Position(0, 7), "new"),
        (Position(1, 11), Position(1, 14), "new"),
    ]
