"""What a vendor's server is told to answer, the same words for every vendor."""

from dataclasses import dataclass
from typing import Any, Literal

Place = Literal["nothing", "thinking", "text", "half_call", "call", "end"]
"""How much of an answer has gone out: its head, thinking, text, half a call, a call, all."""


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments that are a text are sent as they are, JSON or not."""

    name: str
    arguments: Any


@dataclass(frozen=True)
class Tokens:
    """All input, with what came from and went into the cache; all output, with the thinking."""

    input: int = 100
    output: int = 20
    cached: int = 60
    written: int = 0
    reasoning: int = 5


@dataclass(frozen=True)
class Turn:
    """One answer. With `status` it is an error; `cut` and `hang` say after what it stops."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    tokens: Tokens = Tokens()
    finish: Literal["stop", "length", "refused"] = "stop"
    status: int | None = None
    message: str = "as the test wants it"
    retry_after: float | str | None = None
    cut: Place | None = None
    cleanly: bool = False
    """The cut looks like the regular end of the body, as proxies make it."""
    hang: Place | None = None
    raw: tuple[str, ...] = ()
    """Events that are sent as they are in place of the answer; the stream then ends."""
    error_in_stream: bool = False
    """After the text comes an error event in place of the rest."""
    page: tuple[str, str] | None = None
    """Content type and text of a body that is sent in place of a stream, or of an error's body."""
    piece: int | None = None
    """The stream is sent in pieces of so many bytes, whatever they cut."""
    zipped: bool = False
    """With `piece`: the stream is compressed."""
    cut_bytes: int | None = None
    """After so many bytes the connection is closed."""
    date: str | None = None
    """With `retry_after` as a date: the header `date` of the answer."""
