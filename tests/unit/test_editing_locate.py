"""Old text to new text: what is not meant stays as it is, and failures say what to do."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_host.core.actions import Replacement
from agent_host.core.errors import ActionFailed
from agent_host.editing.locate import replace_all, rewrite_all
from agent_host.editing.text import decode, normalised


def replace(text: str, *pairs: tuple[str, str]) -> str:
    return replace_all(text, [Replacement(old, new) for old, new in pairs])


def failure(text: str, *pairs: tuple[str, str]) -> ActionFailed:
    with pytest.raises(ActionFailed) as caught:
        replace(text, *pairs)
    return caught.value


# ---- golden bytes

EDIT = ("two\nthree", "2\nand\n3")
GOLDEN = [
    ("lf", b"one\ntwo\nthree\nfour\n", b"one\n2\nand\n3\nfour\n"),
    ("crlf", b"one\r\ntwo\r\nthree\r\nfour\r\n", b"one\r\n2\r\nand\r\n3\r\nfour\r\n"),
    ("cr", b"one\rtwo\rthree\rfour\r", b"one\r2\rand\r3\rfour\r"),
    ("mixed", b"one\ntwo\r\nthree\nfour\r\n", b"one\n2\r\nand\r\n3\nfour\r\n"),
    ("no final newline", b"one\r\ntwo\r\nthree", b"one\r\n2\r\nand\r\n3"),
    ("utf-8 mark", b"\xef\xbb\xbftwo\nthree\n", b"\xef\xbb\xbf2\nand\n3\n"),
    (
        "utf-16",
        "\ufeffé\r\ntwo\r\nthree".encode("utf-16-le"),
        "\ufeffé\r\n2\r\nand\r\n3".encode("utf-16-le"),
    ),
    (
        "utf-16 big endian",
        "\ufeff🦊two\nthree".encode("utf-16-be"),
        "\ufeff🦊2\nand\n3".encode("utf-16-be"),
    ),
    (
        "utf-32",
        "\ufefftwo\nthree🦊".encode("utf-32-le"),
        "\ufeff2\nand\n3🦊".encode("utf-32-le"),
    ),
    (
        "odd separators",
        "a\x0cb\u2028c\x85\r\ntwo\r\nthree\x0b\r\n".encode(),
        "a\x0cb\u2028c\x85\r\n2\r\nand\r\n3\x0b\r\n".encode(),
    ),
]


@pytest.mark.parametrize(("before", "after"), [g[1:] for g in GOLDEN], ids=[g[0] for g in GOLDEN])
def test_golden_bytes(before: bytes, after: bytes) -> None:
    file = decode(before)
    assert file.encoded(replace(file.text, EDIT)) == after


def test_the_model_may_write_any_ending() -> None:
    assert replace("a\r\nb\r\n", ("a\nb", "x\ny")) == "x\r\ny\r\n"
    assert replace("a\nb\n", ("a\r\nb", "x\r\ny")) == "x\ny\n"


def test_ten_mebibytes_and_a_line_of_a_mebibyte() -> None:
    line = "x" * 100 + "\r\n"
    text = line * 52_000 + "here\r\n" + line * 52_000
    assert replace(text, ("here\n", "there\nand\n")) == text.replace("here\r\n", "there\r\nand\r\n")
    long = "y" * (1 << 19) + "here" + "z" * (1 << 19)
    assert replace(long, ("here", "there")) == long.replace("here", "there")
    assert failure(text, ("nowhere at all", "x")).code == "stale"
    assert failure(long, ("yyyyhere!", "x")).code == "stale"


def test_empty_file() -> None:
    assert replace("", ("", "a\nb\n")) == "a\nb\n"
    assert replace("a", ("a", "")) == ""


def test_mixed_endings_of_lines_that_stay_are_kept() -> None:
    text = "a\r\nb\nc\rd\r\ne\n"
    assert replace(text, ("a\nb\nc\nd\ne", "a\nB\nc\nx\nd\ne")) == "a\r\nB\nc\rx\rd\r\ne\n"


def test_lines_that_stay_keep_endings_in_a_whole_rewrite() -> None:
    text = "a\r\nb\nc\r\nd"
    assert rewrite_all(text, "a\nb\nnew\nc\nd") == "a\r\nb\nnew\nc\r\nd"
    assert rewrite_all("a\r\nb\r\n", "x\ny") == "x\r\ny"
    assert rewrite_all("a\nb\n", "x\r\ny") == "x\r\ny"
    assert rewrite_all("a\r\nb\n", "") == ""


def test_a_line_feed_that_would_melt_with_a_return_before_it_is_refused() -> None:
    assert "mixed" in failure("a\rb\nc\nd\n", ("b\n", "\n"), ("d", "e")).reason


# ---- several

TEXT = "def f():\n    return 1\n\ndef g():\n    return 2\n"


def test_several_replacements_in_any_order() -> None:
    both = [("return 2", "return 20"), ("return 1", "return 10")]
    assert replace(TEXT, *both) == TEXT.replace("1", "10").replace("2", "20")
    assert replace("ab", ("a", "1"), ("b", "2")) == "12"


def test_lines_above_the_target_do_not_matter() -> None:
    edit = ("    return 2\n", "    return 3\n")
    assert replace("# new\n\n" + TEXT, edit) == "# new\n\n" + replace(TEXT, edit)


FAILURES = [
    ("ambiguous", [("return", "x")], "invalid: old text occurs 2 times, at lines 2, 5"),
    ("one of two", [("f()", "h()"), ("def", "x")], "invalid: replacement 2: old text occurs 2"),
    ("same", [("f()", "f()")], "invalid: old and new text are the same"),
    ("same but for endings", [("f():\n", "f():\r\n")], "invalid: old and new text are the same"),
    ("empty", [("", "x")], "invalid: old text is empty"),
    (
        "overlap",
        [("f():\n    ret", "x"), ("    return 1", "y")],
        "invalid: replacements 1 and 2 overlap at line 2",
    ),
    ("twice", [("g()", "x"), ("g()", "y")], "invalid: replacements 1 and 2 overlap at line 4"),
    (
        "chained",
        [("f()", "fox()"), ("fox()", "y")],
        "stale: replacement 2: old text is only in the new text of replacement 1",
    ),
    (
        "white space",
        [("def g():\n\treturn 2", "x")],
        "stale: old text not found; only white space differs from lines 4-5:\ndef g():",
    ),
    (
        "done already",
        [("def h()", "def g()")],
        "stale: old text not found; the new text is already there, at line 4",
    ),
    (
        "numbered",
        [("4: def g():\n5:     return 2", "x")],
        "stale: old text not found; leave out the line numbers",
    ),
    (
        "near",
        [("def g():\n    return 3", "x")],
        "stale: old text not found; nearest is lines 4-5:\ndef g():\n    return 2\n"
        "first difference at line 5: '    return 2' instead of '    return 3'",
    ),
    (
        "past the end",
        [("    return 2\n\nx = 1", "x")],
        "stale: old text not found; nearest is lines 5-6",
    ),
    ("nothing like it", [("class Completely: other", "x")], "stale: old text not found, and no"),
    ("none", [], "invalid: no replacement was given"),
]


@pytest.mark.parametrize(
    ("pairs", "words"), [case[1:] for case in FAILURES], ids=[case[0] for case in FAILURES]
)
def test_failures_help(pairs, words: str) -> None:
    failed = failure(TEXT, *pairs)
    assert f"{failed.code}: {failed.reason}"[: len(words)] == words


def test_many_places_are_not_all_named() -> None:
    assert "5, 6, 7, 8, 9, 10 and 90 more" in failure("x\n" * 100, ("x", "y")).reason


def test_overlapping_occurrences_are_ambiguous() -> None:
    assert failure("aaa", ("aa", "b")).code == "invalid"


# ---- whatever the text

PIECES = st.sampled_from(["a", "b", "a b", "\n", "\r\n", "\r", "é", "🦊", "\u2028", "\x0c"])
TEXTS = st.lists(PIECES, max_size=14).map("".join)


@given(text=TEXTS, new=TEXTS, cut=st.tuples(st.integers(0, 20), st.integers(0, 20)))
@settings(max_examples=500, deadline=None)
def test_only_the_place_changes(text: str, new: str, cut: tuple[int, int]) -> None:
    start, end = sorted(cut)
    old = text[start:end]
    try:
        result = replace(text, (old, new))
    except ActionFailed:
        assume(False)
    flat, flat_old = normalised(text), normalised(old)
    assert normalised(result) == flat.replace(flat_old, normalised(new), 1)
    before, after = text[:start], text[end:]
    assume(not (before.endswith("\r") and (old + after).startswith("\n")))
    assume(not (old.endswith("\r") and after.startswith("\n")))
    assert result.startswith(before)
    assert result.endswith(after)


@given(text=TEXTS, wanted=TEXTS)
@settings(max_examples=300, deadline=None)
def test_a_rewrite_says_what_was_wanted(text: str, wanted: str) -> None:
    flat = wanted.replace("\r", "")
    assume("\r" not in text.replace("\r\n", ""))
    assert normalised(rewrite_all(text, flat)) == flat
    assert rewrite_all(text, normalised(text)) == text


@pytest.mark.parametrize(
    ("old", "what"),
    [
        ('say(\\"hi\\")\\nend', "backslashes"),
        ("if a &lt; b:", "entities"),
        ("x\\\\d+", "backslashes"),
    ],
)
def test_a_text_that_is_there_without_its_escapes_is_explained(old: str, what: str) -> None:
    text = 'top\nsay("hi")\nend\nif a < b:\nx\\d+\n'
    with pytest.raises(ActionFailed) as failed:
        replace_all(text, (Replacement(old, "new"),))
    assert f"without its {what}" in failed.value.reason
