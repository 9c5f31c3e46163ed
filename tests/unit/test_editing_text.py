"""Bytes to text: what comes back is what was there, or nothing is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.core.errors import ActionFailed
from agent_host.editing.text import decode, endings, majority_ending, split_lines

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-8-sig")))
def test_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        file = decode(data)
    except ActionFailed:
        return
    assert file.encoded(file.text) == data


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_marks_name_the_encoding(encoding: str) -> None:
    text = "é🦊\r\nx\u2028"
    mark = "\ufeff" if encoding.endswith("e") else ""
    file = decode((mark + text).encode(encoding))
    assert file.text == text
    assert file.encoded("y") == (mark + "y").encode(encoding)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"caf\xe9", "byte 0xE9 at offset 3"),
        (b"a\0b", "zero bytes"),
        (b"\xff\xfea", "zero bytes|not UTF-8"),
        ("\ufeff".encode("utf-16-le") + b"\x00\xd8a\0", "zero bytes"),
        ("ab".encode("utf-16-le"), "zero bytes"),
    ],
)
def test_what_is_not_text_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ActionFailed, match=words) as caught:
        decode(data)
    assert caught.value.code == "binary"


def test_a_little_endian_utf_16_file_that_begins_with_a_zero_character() -> None:
    data = "\ufeff\0x\n!".encode("utf-16-le")
    file = decode(data)
    assert (file.encoding, file.text, file.encoded(file.text)) == ("utf-16-le", "\0x\n!", data)


def test_text_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(ActionFailed, match=r"U\+D800 at character 1"):
        decode(b"").encoded("a\ud800")


@pytest.mark.parametrize(
    ("text", "counts", "majority"),
    [
        ("", {}, "\n"),
        ("a", {}, "\n"),
        ("a\nb\n", {"\n": 2}, "\n"),
        ("a\r\nb\n", {"\n": 1, "\r\n": 1}, "\n"),
        ("a\r\nb\r\nc\n", {"\n": 1, "\r\n": 2}, "\r\n"),
        ("a\rb\rc\r\n", {"\r": 2, "\r\n": 1}, "\r"),
        ("a\x0b\x0c\u2028\x85b", {}, "\n"),
    ],
)
def test_endings(text: str, counts, majority: str) -> None:
    assert endings(text) == counts
    assert majority_ending(text) == majority


@given(st.text(alphabet="ab\r\n\x0c\u2028"))
def test_lines_put_together_are_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.rstrip("\r\n") == line[: len(line.rstrip("\r\n"))] for line in lines)
    assert len(lines) == text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + (
        1 if text and text[-1] not in "\r\n" else 0
    )
