"""Deltas as rows: nothing is lost, nothing changes its place, whatever the batches."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_host.core.events import Delta, NumberedDelta, Reasoning, Text, ToolFinished, ToolOutput
from agent_host.core.model import Origin
from agent_host.store.merge import Mergeable, Row, merged

MOST = 6
ORIGINS = [Origin("agent", role="coder"), Origin("agent", role="coder", path=("coder", "other"))]

DELTAS: st.SearchStrategy[Delta] = st.one_of(
    st.builds(Text, st.sampled_from(["", "a", "bc", "xyz"])),
    st.builds(Reasoning, st.sampled_from(["r", "stuv"])),
    st.builds(
        ToolOutput,
        st.sampled_from(["c1", "c2"]),
        st.sampled_from(["stdout", "stderr"]),
        st.sampled_from(["o", "p"]),
    ),
    st.just(ToolFinished("c1", "ok", "done")),
)


def numbered(deltas: list[tuple[Delta, int]]) -> list[tuple[NumberedDelta, float]]:
    return [
        (NumberedDelta("s", "r", seq, ORIGINS[origin], delta), float(seq))
        for seq, (delta, origin) in enumerate(deltas, 1)
    ]


def stored(batches: list[list[tuple[NumberedDelta, float]]]) -> list[Row]:
    """The rows of a table after each batch was written."""
    table: list[Row] = []
    for batch in batches:
        last = table[-1] if table else None
        for row in merged(last, batch, most=MOST):
            if last is not None and row.seq == last.seq:
                table[-1] = row
            else:
                table.append(row)
    return table


def one_by_one(rows: list[Row]) -> list[tuple[Delta, Origin]]:
    """What was said, letter by letter where it was text."""
    said: list[tuple[Delta, Origin]] = []
    for row in rows:
        match row.delta:
            case Text(text):
                said += [(Text(letter), row.origin) for letter in text]
            case Reasoning(text):
                said += [(Reasoning(letter), row.origin) for letter in text]
            case ToolOutput(call_id, stream, text):
                said += [(ToolOutput(call_id, stream, letter), row.origin) for letter in text]
            case _:
                said.append((row.delta, row.origin))
    return said


@settings(deadline=None)
@given(
    st.lists(st.tuples(DELTAS, st.integers(0, 1)), max_size=30),
    st.lists(st.integers(1, 6), min_size=1),
)
def test_rows_say_what_was_said_whatever_the_batches(
    deltas: list[tuple[Delta, int]], sizes: list[int]
) -> None:
    told = numbered(deltas)
    batches: list[list[tuple[NumberedDelta, float]]] = []
    rest = told
    while rest:
        size = sizes[len(batches) % len(sizes)]
        batches.append(rest[:size])
        rest = rest[size:]
    table = stored(batches)
    assert one_by_one(table) == one_by_one(
        [Row(n.seq, n.seq, at, n.origin, n.delta) for n, at in told]
    )
    expected = 1
    for row in table:
        assert row.seq == expected
        assert row.through >= row.seq
        expected = row.through + 1
        if isinstance(row.delta, Mergeable):
            assert len(row.delta.text) <= MOST
            merged_sizes = row.sizes or (len(row.delta.text),)
            assert sum(merged_sizes) == len(row.delta.text)
            assert len(merged_sizes) == row.through - row.seq + 1
    assert expected == len(told) + 1
    assert table == stored([told])


def test_a_text_is_one_row_and_another_voice_begins_another() -> None:
    other = [(Text("c"), 1), (Reasoning("d"), 1), (Text("e"), 1)]
    table = stored([numbered([(Text("a"), 0), (Text("b"), 0), *other])])
    assert [(row.seq, row.through, row.delta) for row in table] == [
        (1, 2, Text("ab")),
        (3, 3, Text("c")),
        (4, 4, Reasoning("d")),
        (5, 5, Text("e")),
    ]


def test_a_gap_in_the_numbers_is_not_merged_over() -> None:
    deltas = numbered([(Text("a"), 0), (Text("b"), 0), (Text("c"), 0)])
    table = stored([[deltas[0], deltas[2]]])
    assert [(row.seq, row.through) for row in table] == [(1, 1), (3, 3)]


def test_nothing_to_write_is_no_row() -> None:
    row = Row(1, 1, 1.0, ORIGINS[0], Text("a"))
    assert merged(row, []) == []
    assert merged(None, []) == []
