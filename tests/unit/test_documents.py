"""The mirror against the simplest thing that could be right, and against untidy traffic."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_host.core.document import Position, Range
from agent_host.core.uris import is_uri, path_to_uri, same_key, uri_to_path
from agent_host.lsp.buffer import Buffer
from agent_host.lsp.documents import Documents, OpenDocument
from agent_host.lsp.host import ContentChange, PositionEncoding
from tests.clients.text import Change, changed, offset_of, place_of

URI = "file:///w/a.py"


def opened(
    text: str, *, uri: str = URI, version: int = 1, encoding: PositionEncoding = "utf-16"
) -> Documents:
    documents = Documents(encoding=encoding)
    documents.did_open(uri, "python", version, text)
    return documents


def put(start: tuple[int, int], end: tuple[int, int], text: str) -> ContentChange:
    return ContentChange(Range(Position(*start), Position(*end)), text)


def whole(text: str) -> ContentChange:
    return ContentChange(None, text)


def open_document(documents: Documents, uri: str = URI) -> OpenDocument:
    document = documents.find(uri)
    assert document is not None
    return document


def text_of(documents: Documents, uri: str = URI) -> str:
    return open_document(documents, uri).text


# ---- against a reference that works on the whole text, one character at a time


def reference_change(text: str, change, encoding: PositionEncoding) -> str:
    return changed(text, Change(*change), encoding)


PIECES = st.sampled_from(
    [
        "a",
        "bc",
        " ",
        "\n",
        "\r",
        "\r\n",
        "é",
        "é",
        "字",
        "🦊",
        "👩\u200d💻",
        "\x0c",
        "\x0b",
        "\x1c",
        "\x85",
        "\u2028",
        "\u2029",
        "\ufeff",
        "\x00",
        "\t",
    ]
)
TEXT = st.lists(PIECES, max_size=12).map("".join)
PLACE = st.tuples(st.integers(0, 8), st.integers(0, 12))
CHANGES = st.lists(st.tuples(PLACE, PLACE, TEXT), max_size=12)
ENCODINGS: tuple[PositionEncoding, ...] = ("utf-8", "utf-16", "utf-32")


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXT, changes=CHANGES)
@settings(max_examples=150, deadline=None)
def test_mirror_equals_reference_after_any_changes(encoding, text: str, changes) -> None:
    documents = opened(text, encoding=encoding)
    for change in changes:
        text = reference_change(text, change, encoding)
        documents.did_change(URI, 2, [put(*change)])
        assert text_of(documents) == text
        assert open_document(documents).buffer.line_count == Buffer(text).line_count


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXT, offset=st.integers(0, 40))
@settings(max_examples=100, deadline=None)
def test_positions_go_to_the_wire_and_back(encoding, text: str, offset: int) -> None:
    offset = min(offset, len(text))
    if text[:offset].endswith("\r") and text[offset:].startswith("\n"):
        offset += 1
    position = Position(*place_of(text, offset, "utf-32"))
    buffer = Buffer(text)
    there = buffer.to_wire(position, encoding)
    assert buffer.from_wire(there, encoding) == position
    assert offset_of(text, (there.line, there.character), encoding) == offset


@pytest.mark.parametrize(
    ("encoding", "character"), [("utf-8", 2), ("utf-8", 3), ("utf-16", 1), ("utf-32", 0)]
)
def test_a_column_inside_a_character_counts_as_before_it(encoding, character: int) -> None:
    buffer = Buffer("🦊x")
    assert buffer.from_wire(Position(0, character), encoding) == Position(0, 0)


def test_a_line_feed_after_a_lone_return_makes_one_ending_of_both() -> None:
    documents = opened("a\rb")
    documents.did_change(URI, 2, [put((1, 0), (1, 0), "\n"), put((1, 0), (1, 1), "X")])
    assert text_of(documents) == "a\r\nX"
    documents = opened("a\rb\nc")
    documents.did_change(URI, 2, [put((1, 0), (1, 1), ""), put((1, 0), (1, 1), "X")])
    assert text_of(documents) == "a\r\nX"


def test_halves_of_a_surrogate_pair_become_one_character() -> None:
    documents = opened("ab")
    documents.did_change(URI, 2, [put((0, 1), (0, 1), "\ud83e")])
    documents.did_change(URI, 3, [put((0, 2), (0, 2), "\udd8a")])
    assert text_of(documents) == "a🦊b"


# ---- untidy traffic


def test_second_open_replaces_the_text_and_keeps_the_language() -> None:
    documents = opened("one", version=0)
    documents.did_open(URI, "", 3, "two")
    document = open_document(documents)
    assert (document.text, document.version, document.language_id) == ("two", 3, "python")
    assert len(documents.all()) == 1


def test_first_open_without_a_language() -> None:
    documents = Documents()
    documents.did_open(URI, "", 0, "x")
    document = open_document(documents)
    assert (document.language_id, document.version) == ("", 0)
    documents.did_open(URI, "python", 0, "x")
    assert open_document(documents).frozen().language_id == "python"


def test_change_after_close_is_ignored() -> None:
    documents = opened("one")
    documents.did_close(URI)
    documents.did_change(URI, 2, [whole("two")])
    documents.did_save(URI, "two")
    documents.did_close(URI)
    assert documents.find(URI) is None


def test_full_text_and_several_changes_in_order() -> None:
    documents = opened("one")
    documents.did_change(
        URI, 2, [whole("two\n"), put((1, 0), (1, 0), "x"), put((0, 0), (0, 3), "")]
    )
    assert text_of(documents) == "\nx"


def test_places_before_the_beginning_and_back_to_front() -> None:
    documents = opened("abc")
    documents.did_change(URI, 2, [put((-3, -1), (-1, -9), "x"), put((0, 3), (0, 2), "")])
    assert text_of(documents) == "xac"


def test_an_unchanged_version_counts_as_a_change() -> None:
    documents = opened("one", version=7)
    documents.did_change(URI, 7, [whole("two")])
    document = open_document(documents)
    assert (document.version, document.revision, document.text) == (7, 1, "two")


def test_place_that_does_not_exist_makes_the_mirror_doubtful_until_the_next_full_text() -> None:
    documents = opened("a\nb")
    document = open_document(documents)
    documents.did_change(URI, 2, [put((2, 0), (2, 0), "c")])
    assert not document.doubtful
    documents.did_change(URI, 3, [put((9, 0), (9, 0), "d")])
    assert document.doubtful
    documents.did_save(URI, "healed")
    assert (document.doubtful, document.text) == (False, "healed")


def test_another_text_that_was_saved_is_a_doubt_until_the_next_save_or_change_has_it() -> None:
    documents = opened("a\nb\n")
    document = open_document(documents)
    documents.did_save(URI, "a\r\nb\r\n")
    assert not document.doubtful
    documents.did_save(URI, "a\nbc\n")
    assert (document.doubtful, document.text) == (True, "a\nb\n")
    documents.did_change(URI, 2, [put((1, 1), (1, 1), "c")])
    assert (document.doubtful, document.text) == (False, "a\nbc\n")
    for _ in range(2):
        documents.did_save(URI, "other")
    assert (document.doubtful, document.text) == (False, "other")


def test_watchers_hear_of_every_change_until_they_stop() -> None:
    documents = opened("one")
    heard: list[str] = []
    stop = documents.watch(URI, lambda: heard.append("x"))
    documents.did_change(URI, 2, [whole("two")])
    documents.did_save(URI, "two")
    documents.did_close(URI)
    stop()
    documents.did_open(URI, "python", 1, "three")
    assert heard == ["x", "x"]


# ---- names


def test_untitled_documents_are_documents_without_a_path() -> None:
    documents = opened("draft", uri="untitled:Untitled-1")
    assert open_document(documents, "untitled:Untitled-1").frozen().path is None


@pytest.mark.parametrize(
    "spelling",
    [
        "file:///w/a%20b%23c/%C3%BC.py",
        "file:///w/a b%23c/ü.py",
        "file:/w/a%20b%23c/%c3%bc.py",
        "file://localhost/w/a%20b%23c/ü.py",
        "/w/a b#c/ü.py",
    ],
)
def test_spellings_of_one_file_find_the_same_document(spelling: str) -> None:
    documents = opened("x", uri="file:///w/a%20b%23c/%C3%BC.py")
    assert documents.find(spelling) is not None


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/a%20b/c.py", "C:\\a b\\c.py"),
        ("file:///C:/a%20b/c.py", "C:\\a b\\c.py"),
        ("file://server/share/x.py", "\\\\server\\share\\x.py"),
        ("file:///w/100%25/x.py", "/w/100%/x.py"),
        ("file:///w/what?.py", "/w/what?.py"),
        ("file:///w/%2e%2e%2fx.py", "/w/../x.py"),
        ("file:///w/%252e%252e/x.py", "/w/%2e%2e/x.py"),
        ("file:///w/a%00b", "/w/a\0b"),
        ("untitled:a", None),
        ("vscode-remote://host/w/a.py", None),
    ],
)
def test_path_of_a_uri(uri: str, path: str | None) -> None:
    assert uri_to_path(uri) == path
    if path is not None:
        assert uri_to_path(path_to_uri(path)) == path
        assert same_key(path) == same_key(uri)
        assert not is_uri(path)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30))
def test_path_goes_to_a_uri_and_back(name: str) -> None:
    path = "/w/" + name
    assert uri_to_path(path_to_uri(path)) == path
    assert path_to_uri(path).isascii()


def test_a_file_behind_a_link_is_found_by_its_true_path(tmp_path: Path) -> None:
    (tmp_path / "true").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "true")
    documents = Documents(true_path=lambda path: str(Path(path).resolve()))
    uri = path_to_uri(str(tmp_path / "link" / "a.py"))
    documents.did_open(uri, "python", 1, "x")
    found = documents.find(str(tmp_path / "true" / "a.py"))
    assert found is not None
    assert found.uri == uri
    documents.did_close(uri)
    assert documents.find(str(tmp_path / "true" / "a.py")) is None


# ---- size


def test_keystrokes_in_a_large_text_touch_one_line_only() -> None:
    """200 000 lines and 2 000 keystrokes: rebuilding the text each time would take minutes."""
    documents = opened("some text in a line of this size\n" * 200_000)
    for number in range(2_000):
        at = (100_000, number)
        documents.did_change(URI, number, [put(at, at, "ü")])
    assert text_of(documents).count("ü") == 2_000


def test_a_line_of_a_mebibyte() -> None:
    documents = opened("ü" * (1 << 20), encoding="utf-8")
    documents.did_change(URI, 2, [put((0, 1 << 20), (0, 1 << 20), "x")])
    assert text_of(documents).index("x") == 1 << 19
