"""Content-Length framing: any cut, any header style, and back in step after every error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_host.lsp.framing import FrameError, Framer, frame

CAP = 1000


def feed(data: bytes, size: int | None = None, framer: Framer | None = None) -> list[object]:
    """Bodies as bytes and errors as numbers, after feeding in pieces of that size."""
    framer = framer or Framer(max_body=CAP, max_header=200)
    found: list[object] = []
    step = size or max(1, len(data))
    for start in range(0, len(data), step):
        items = framer.feed(data[start : start + step])
        found += [item.number if isinstance(item, FrameError) else item for item in items]
    return found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"Content-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"content-length:2\n\n{}", [b"{}"]),
        (b"CONTENT-LENGTH:  2 \r\n\r\n{}", [b"{}"]),
        (b"Content-Length : 2\r\n\r\n{}", [b"{}"]),
        (b"A: b\r\nContent-Length: 2\r\nC: d:e\r\n\r\n{}", [b"{}"]),
        (b"\r\n\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", [b"", b"{}"]),
        (b"Content-Length: 2\r\n\r\n{}" * 3, [b"{}"] * 3),
        (b"Content-Length: 3\r\n\r\n\r\n\n" + frame(b"1"), [b"\r\n\n", b"1"]),
        (b"Content-Length: 5\r\n\r\n{}", []),
        (b"", []),
        # What can't be taken is told once, and the next message gets through.
        (b"A: b\r\n\r\n" + frame(b"1"), [-32700, b"1"]),
        (b"Content-Length: two\r\n\r\n" + frame(b"1"), [-32700, b"1"]),
        (b"Content-Length: -2\r\n\r\n" + frame(b"1"), [-32700, b"1"]),
        (b"Content-Length: " + b"9" * 100 + b"\r\n\r\n" + frame(b"1"), [-32700, b"1"]),
        (b'{"jsonrpc":"2.0"}' + frame(b"1"), [b"1"]),
        (b'{"a":"content-length: 7"}' + frame(b"1"), [b"1"]),
        (b"x" * 500 + frame(b"1"), [-32700, b"1"]),
        (b"x" * 500 + b"\n\n" + frame(b"1") + frame(b"2"), [-32700, b"1", b"2"]),
        (b"A: b\r\n" * 100 + b"\r\n" + frame(b"1"), [-32700, b"1"]),
        (b"Content-Length: 1001\r\n\r\n" + b"x" * 1001 + frame(b"1"), [-32600, b"1"]),
        (b"Content-Length: 99999999999\r\n\r\n" + frame(b"1"), [-32600, b"1"]),
        (b"Content-Length: 99999999999\r\n\r\n{}" + frame(b"1"), [-32600, b"1"]),
        (frame(b"x" * 1000) + frame(b"1"), [b"x" * 1000, b"1"]),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_framing(data: bytes, expected: list[object], size: int | None) -> None:
    assert feed(data, size) == expected


@given(
    bodies=st.lists(st.binary(max_size=50), max_size=5),
    junk=st.sampled_from([b"", b"\r\n", b"x: y\r\n\r\n", b"{}\r\n\r\n"]),
    size=st.integers(1, 60),
)
def test_the_cut_makes_no_difference(bodies: list[bytes], junk: bytes, size: int) -> None:
    data = junk.join([b"", *map(frame, bodies)])
    whole = feed(data)
    assert [item for item in whole if isinstance(item, bytes)] == bodies
    assert feed(data, size) == whole


@given(st.binary(max_size=300), st.integers(1, 40))
def test_no_bytes_raise(data: bytes, size: int) -> None:
    feed(data, size)


def test_what_is_over_the_cap_is_not_kept() -> None:
    framer = Framer(max_body=CAP)
    feed(b"Content-Length: 999999999\r\n\r\n", framer=framer)
    for _ in range(100):
        assert framer.feed(b"x" * 10_000) == []
    assert len(framer._buffer) < 10_000
