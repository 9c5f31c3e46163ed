"""Core data as stored text, and back."""

import typing

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_host.core.events import Delta, Ended, Omitted, Retried, Text, ToolRequested, Used
from agent_host.core.model import ImagePart, Limits, ResourcePart, TextPart, Usage
from agent_host.core.permission import Question
from agent_host.core.records import RunRecord, SessionRecord, workspace_key
from agent_host.store import codec

ANY_TEXT = st.text(st.characters(blacklist_categories=()))
"""With NUL and lone surrogates: a vendor's stream may be cut in the middle of a character."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=10,
)


def deltas() -> st.SearchStrategy[Delta]:
    number = st.floats(allow_nan=False)
    chosen = {
        ToolRequested: {"arguments": st.dictionaries(ANY_TEXT, JSON)},
        Retried: {"wait_seconds": number},
        Used: {"usage": st.builds(Usage, cost_usd=st.none() | number)},
    }
    kinds = [st.builds(kind, **chosen.get(kind, {})) for kind in typing.get_args(Delta)]
    return st.one_of(st.builds(Text, ANY_TEXT), *kinds)


@settings(deadline=None)
@given(deltas())
@example(Text("cut \ud83d"))
def test_every_delta_comes_back(delta: Delta) -> None:
    text = codec.encode(delta)
    assert codec.decode_delta(codec.delta_kind(delta), text) == delta
    text.encode()


@settings(deadline=None)
@given(st.dictionaries(ANY_TEXT, JSON))
@example({"\udc00": ["\0", "\U0001f600"]})
def test_plain_data_comes_back(value: dict[str, object]) -> None:
    text = codec.encode(value)
    assert codec.loads(text) == value
    text.encode()
    assert "\0" not in text


@settings(deadline=None)
@given(ANY_TEXT)
def test_cleaned_text_fits_any_database_and_else_stays(text: str) -> None:
    cleaned = codec.clean(text)
    assert "\0" not in cleaned
    cleaned.encode()
    assert len(cleaned) == len(text)
    if "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert cleaned == text


@pytest.mark.parametrize(
    "part", [TextPart("a"), ImagePart("image/png", "AA"), ResourcePart("file:///a")]
)
def test_the_parts_of_a_prompt_are_told_apart(
    part: TextPart | ImagePart | ResourcePart,
) -> None:
    record = RunRecord("r", "s", (part,), "role", "model", "sdk", 1.0)
    assert codec.decode(RunRecord, codec.encode(record)) == record


def test_what_a_later_version_added_is_ignored_and_what_it_lacks_has_its_default() -> None:
    assert codec.decode(Limits, '{"max_turns":3,"new":{"a":1}}') == Limits(max_turns=3)
    assert codec.decode(Usage, "{}") == Usage()
    assert codec.decode(Usage, '{"cost_usd":1}').cost_usd == 1.0
    assert codec.decode_delta("brandNew", '{"x":1}') == Omitted("brandNew", 7)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Limits, "["),
        (Limits, "[]"),
        (Limits, '{"max_turns":"3"}'),
        (Limits, '{"max_turns":true}'),
        (Ended, '{"status":"splendid"}'),
        (Ended, "{}"),
        (Question, '{"session_id":"s"}'),
        (SessionRecord, "null"),
        (RunRecord, '{"prompt":[{"text":1}]}'),
    ],
)
def test_broken_text_is_an_error_of_its_own(kind: type, text: str) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(kind, text)


def test_a_workspace_is_the_same_in_any_order_of_its_folders() -> None:
    key = workspace_key(["/a", "/b/c"])
    assert key == workspace_key(["/b/c", "/a"]) == workspace_key(["/b/c/", "/a", "/a"])
    assert key != workspace_key(["/a", "/b"])
    assert workspace_key(["/a/b"]) != workspace_key(["/a", "b"])
    assert workspace_key([]) == workspace_key([]) != workspace_key(["/"])
