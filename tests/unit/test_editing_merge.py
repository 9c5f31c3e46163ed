"""Edits among changes of somebody else: merged when apart, told from one another afterwards."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_host.editing.landed import has_landed, is_same_but_for_endings, is_untouched
from agent_host.editing.merge import merged
from agent_host.lsp.buffer import Buffer
from agent_host.lsp.editor_misplaced import text_without, wire_edits

BASE = "".join(f"{number}\n" for number in range(1, 10))


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ("2\n=two\n", "8\n=eight\n", "2\n=two\n|8\n=eight\n"),
        ("2\n=", "8\n=8\nx\n", "2\n=|8\n=8\nx\n"),
        ("2\n=two\n", "3\n=three\n", None),
        ("2\n=two\n", "2\n=2!\n", None),
        ("2\n=", "3\n=", None),
        ("2\n=two\n", "1\n=1\nnew\n", None),
        ("1\n=\n", "9\n=9\nend", "1\n=\n|9\n=9\nend"),
    ],
)
def test_merging(ours: str, theirs: str, both: str | None) -> None:
    def changed(*changes: str) -> str:
        text = BASE
        for change in changes:
            old, _, new = change.partition("=")
            text = text.replace(old, new, 1)
        return text

    expected = None if both is None else changed(*both.split("|"))
    assert merged(BASE, changed(ours), changed(theirs)) == expected
    assert merged(BASE, changed(theirs), changed(ours)) == expected


def test_merging_with_nothing() -> None:
    assert merged(BASE, BASE, "other") == "other"
    assert merged(BASE, "other", BASE) == "other"
    assert merged(BASE, BASE, BASE) == BASE


LINES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8)


@given(head=LINES, tail=LINES, our=LINES, their=LINES)
@settings(max_examples=300, deadline=None)
def test_changes_on_both_sides_of_a_gap_are_merged(head, tail, our, their) -> None:
    def text(*parts: list[str]) -> str:
        return "".join(line + "\n" for part in parts for line in part)

    gap = ["gap one", "gap two"]
    base = text(head, gap, tail)
    ours, theirs = text(our, gap, tail), text(head, gap, their)
    both = text(our, gap, their)
    assert merged(base, ours, theirs) == both
    for apart in (True, False):
        if ours != base and theirs != base:
            assert has_landed(base, ours, both, apart=apart)
            assert not has_landed(base, ours, theirs, apart=apart)
            assert is_untouched(base, ours, theirs, apart=apart)
            assert not is_untouched(base, ours, both, apart=apart)


@pytest.mark.parametrize(
    ("now", "apart", "landed", "untouched"),
    [
        # Their line is right beside ours: certain only if nobody puts edits at wrong places.
        ("1\n2!\nTHREE\n4\n", False, True, False),
        ("1\n2!\nTHREE\n4\n", True, False, False),
        ("1\n2!\n3\n4\n", False, False, True),
        ("1\n2!\n3\n4\n", True, False, False),
        # The edit hit the line before the one that it was made for.
        ("0\n1\nTHREE\n3\n4\n", True, False, False),
        # The same line was changed by both.
        ("1\n2\nTHREE!\n4\n", False, False, False),
        ("1\n2\n3!\n4\n", False, False, False),
        ("1\n2\nTHREE\n4\n", True, True, False),
        ("1\n2\n3\n4\n", True, False, True),
        ("", True, False, False),
    ],
)
def test_doubt(now: str, apart: bool, landed: bool, untouched: bool) -> None:
    before, after = "1\n2\n3\n4\n", "1\n2\nTHREE\n4\n"
    assert has_landed(before, after, now, apart=apart) == landed
    assert is_untouched(before, after, now, apart=apart) == untouched


def test_a_deletion_and_an_insertion_are_points_that_must_not_be_touched() -> None:
    before, after = "1\n2\n3\n4\n", "1\n2\n4\n"
    assert not has_landed(before, after, before + "5\n", apart=False)
    assert has_landed(before, after, after + "5\n", apart=False)
    assert not has_landed(before, after, "1\n2\n3!\n4\n", apart=False)
    assert not has_landed(after, before, after + "5\n", apart=False)
    assert not has_landed(before, before, "x", apart=False), "no edit can't have landed"


def test_same_but_for_endings() -> None:
    assert is_same_but_for_endings("a\r\nb\n", "a\nb")
    assert not is_same_but_for_endings("a\n", "a\n\n\n")
    assert not is_same_but_for_endings("a", "b")


# ---- edits that hit another text than they were made for


def hit(before: str, after: str, there: str, encoding="utf-16") -> str:
    buffer = Buffer(there)
    for edit in reversed(wire_edits(Buffer(before), before, after, encoding)):
        start, end = buffer.from_wire(edit.start, encoding), buffer.from_wire(edit.end, encoding)
        buffer.replace(start, end, edit.text)
    return buffer.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("typed", ["typed\n{}", "é🦊{}", "{}", "\n\n{}"])
@pytest.mark.parametrize("later", ["{}", "{}later\n"])
def test_the_text_without_a_misplaced_edit_is_found(encoding, typed: str, later: str) -> None:
    before = BASE + "gap\n" * 5
    after = before.replace("2\n", "two\nand more\n").replace("7\n", "")
    there = typed.format(before)
    wrong = hit(before, after, there, encoding)
    edits = wire_edits(Buffer(before), before, after, encoding)
    states = [before, there, wrong, later.format(wrong)]
    assert text_without(states, edits, encoding) == later.format(there)


def test_the_text_without_an_edit_that_was_not_told_alone_is_unknown() -> None:
    after = BASE.replace("2\n", "two\n")
    edits = wire_edits(Buffer(BASE), BASE, after, "utf-16")
    assert text_without([BASE], edits, "utf-16") is None
    assert text_without([BASE, "typed\n" + BASE], edits, "utf-16") is None
    assert text_without([BASE, hit(BASE, after, "typed\n" + BASE)], edits, "utf-16") is None
