"""What the host asks of editors that declared it, as it is on the wire: `agent/ask` and others."""

from pydantic import JsonValue

from agent_host.lsp.wire_base import Heard, Text, Told
from agent_host.lsp.wire_delta import OptionWire


class AskPartWire(Told):
    """A piece of an edit that can be accepted without the others; `diff` is its own, unified."""

    id: str
    title: str
    uri: str
    diff: str


class AskParams(Told):
    """A question in full; `detail` is Markdown, `diff` unified and of all `parts` together.

    `title` tells all that fits in one line; `wish` only what `detail` and `diff` don't, for where
    these stand below it. `parts`: files, or places of one file, that the person may choose from.
    """

    session_id: str
    run_id: str
    call_id: str
    title: str
    wish: str | None = None
    detail: str
    diff: str | None = None
    parts: list[AskPartWire] | None = None
    options: list[OptionWire]
    allows_reason: bool


class AskAnswer(Heard):
    """No `optionId`: the person did not choose, which denies.

    `accepted`: the ids of the parts that the option holds for, the others are refused; all of
    them if left out.
    """

    option_id: str | None = None
    reason: Text | None = None
    accepted: list[str] | None = None


class SaveParams(Told):
    uris: list[str]


class SaveAnswer(Heard):
    saved: list[str]


class DiagnosticsParams(Told):
    uri: str


class DiagnosticsAnswer(Heard):
    """The LSP Diagnostics that the editor shows for that document, whoever made them."""

    diagnostics: list[dict[str, JsonValue]]
